// Command families compares L2MT with the truth, on generated problems of which the
// covariance of the tasks is known:
//
//	go run ./testdata/families [PROBLEMS [ROWS [FEATURES]]]
//
// For every family of generated.Families it draws problems (by default 200, of 4
// to 8 tasks of 20 rows and 60 features) and prints the mean test error of L2MT, with
// the pretrained network and nothing else, over those of the true covariance and of
// single-task learning. All have the same rows, and Lambda1 by the same evidence.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/infer/compare"
	"l2mt/infer/solve"
	"l2mt/model/multitask"
	"l2mt/model/pretrained"
	"l2mt/testdata/families/generated"
)

// The methods, by column.
const (
	l2mt = iota
	alone
	without
	oracle
	stl
	methods
)

func main() {
	log.SetFlags(0)
	size := []int{200, 20, 60}
	for i, a := range os.Args[1:] {
		n, err := strconv.Atoi(a)
		if err != nil || i >= len(size) || n < 2 {
			log.Fatal("usage: go run ./testdata/families [PROBLEMS [ROWS [FEATURES]]]")
		}
		size[i] = n
	}
	n, err := pretrained.Load()
	if err != nil {
		log.Fatal(err)
	}
	finder, err := solve.NewFinder(n)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("| family | STL, error | true covariance | L2MT | network alone | without the network | L2MT over true | p, over STL |\n|---|--:|--:|--:|--:|--:|--:|--:|")
	c := generated.Config{Problems: size[0] * len(generated.Families()), MinTasks: 4, MaxTasks: 8, Rows: size[1], TestRows: 500, Features: size[2], Seed: 100}
	for _, c.Kind = range []data.Kind{data.Classification, data.Regression} {
		for _, c.Words = range []bool{false, true} {
			if err := rows(finder, c); err != nil {
				log.Fatal(err)
			}
		}
	}
}

// rows prints the comparison on problems of all families, a row for each.
func rows(finder *solve.Finder, c generated.Config) error {
	problems, truth, err := generated.Problems(c)
	if err != nil {
		return err
	}
	families := generated.Families()
	var errors [methods][][]float64 // by family and problem
	for k := range errors {
		errors[k] = make([][]float64, len(families))
		for f := range families {
			errors[k][f] = make([]float64, c.Problems/len(families))
		}
	}
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, p := range problems {
		group.Go(func() error {
			of, err := measure(ctx, finder, p, truth[i])
			for k, e := range of {
				errors[k][i%len(families)][i/len(families)] = e
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	look := map[bool]string{false: "dense", true: "words"}[c.Words]
	for i, f := range families {
		mean := func(k int) float64 { return stat.Mean(errors[k][i], nil) }
		difference := slices.Clone(errors[l2mt][i])
		floats.Sub(difference, errors[stl][i])
		fmt.Printf("| %s, %s, %s | %.4f | %.3f | %.3f | %.3f | %.3f | %.3f | %.2g |\n", f.Name, c.Kind, look, mean(stl), mean(oracle)/mean(stl),
			mean(l2mt)/mean(stl), mean(alone)/mean(stl), mean(without)/mean(stl), mean(l2mt)/mean(oracle), compare.Wilcoxon(difference))
	}
	return nil
}

// measure fits one problem by all methods and returns their test errors.
func measure(ctx context.Context, finder *solve.Finder, p *data.ProblemData, omega *mat.SymDense) (errors [methods]float64, err error) {
	b, err := solve.NewBench(finder, p, solve.Options{})
	if err != nil {
		return errors, err
	}
	chosen, err := b.Choose(ctx, solve.Parts{})
	if err != nil {
		return errors, err
	}
	control, err := b.Choose(ctx, solve.Parts{NoNetwork: true})
	if err != nil {
		return errors, err
	}
	given, err := multitask.Given(omega)
	if err != nil {
		return errors, err
	}
	for k, c := range map[int]solve.Candidate{l2mt: chosen.Candidate, without: control.Candidate, alone: b.First(solve.Parts{}), oracle: {Model: given}, stl: {}} {
		judged, err := b.Judge(ctx, c)
		if err != nil {
			return errors, err
		}
		t, err := b.Fit(ctx, judged)
		if err != nil {
			return errors, err
		}
		errors[k] = t.Test.Mean
	}
	return errors, nil
}
