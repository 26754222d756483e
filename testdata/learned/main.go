// Command learned measures what experience is worth on test problems, for learned.py:
//
//	go run ./testdata/learned PROBLEMS MOST TRAINED [START]
//
// It fits the first MOST problems of a file by single-task learning, plain and with
// class weights, and by L2MT with and without its parts, with a trained network (""
// is the shipped one) and with one that kept its start. A line of JSON a problem has
// the test error of each. The oracle is told how the tasks are related by their test
// rows: what a network could bring that finds this out.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/infer/solve"
	"l2mt/model"
	"l2mt/model/multitask"
	"l2mt/model/pretrained"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 4 || len(os.Args) > 5 {
		log.Fatal("usage: go run ./testdata/learned PROBLEMS MOST TRAINED [START]")
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		log.Fatal(err)
	}
}

func run(path, most string, networks []string) error {
	var finders []*solve.Finder
	for _, dir := range networks {
		f, err := finder(dir)
		if err != nil {
			return err
		}
		finders = append(finders, f)
	}
	n, err := strconv.Atoi(most)
	if err != nil {
		return err
	}
	problems, err := experience.OpenProblems(path, "", false)
	if err != nil {
		return err
	}
	for i := range min(n, problems.Len()) {
		p, err := problems.Problem(i)
		if err != nil {
			return err
		}
		errors, err := measure(context.Background(), finders, p)
		if err != nil {
			return fmt.Errorf("problem %q: %w", p.Name, err)
		}
		if err := json.NewEncoder(os.Stdout).Encode(errors); err != nil {
			return err
		}
	}
	return nil
}

func finder(dir string) (*solve.Finder, error) {
	load := pretrained.Load
	if dir != "" {
		load = func() (*model.Network, error) { return model.Load(dir) }
	}
	n, err := load()
	if err != nil {
		return nil, err
	}
	return solve.NewFinder(n)
}

// measure fits one problem by all methods and returns their test errors.
func measure(ctx context.Context, finders []*solve.Finder, p *data.ProblemData) (map[string]float64, error) {
	errors := map[string]float64{}
	for k, f := range finders {
		b, err := solve.NewBench(f, p, solve.Options{Workers: 2})
		if err != nil {
			return nil, err
		}
		judge := func(name string, c solve.Candidate) {
			if err != nil {
				return
			}
			var j *solve.Judged
			if j, err = b.Judge(ctx, c); err == nil {
				err = fit(ctx, b, j, errors, name)
			}
		}
		choose := func(name string, without solve.Parts) {
			if err != nil {
				return
			}
			var c *solve.Choice
			if c, err = b.Choose(ctx, without); err == nil {
				err = fit(ctx, b, c.Judged, errors, name)
			}
		}
		first := b.First(solve.Parts{})
		alone := solve.Candidate{View: first.View}
		if k > 0 {
			judge("start alone", first)
			choose("start", solve.Parts{})
			if err != nil {
				return nil, err
			}
			continue
		}
		omega, err2 := oracle(ctx, p, first.Ridge)
		if err2 != nil {
			return nil, err2
		}
		given := alone
		if given.Model, err = multitask.Given(omega); err != nil {
			return nil, err
		}
		judge("stl", solve.Candidate{})
		judge("stl weighted", solve.Candidate{Balanced: true})
		judge("metric", alone)
		judge("trained alone", first)
		judge("oracle", given)
		choose("without", solve.Parts{NoNetwork: true})
		choose("l2mt", solve.Parts{})
		if err != nil {
			return nil, err
		}
	}
	return errors, nil
}

// fit notes the test error of a candidate.
func fit(ctx context.Context, b *solve.Bench, j *solve.Judged, errors map[string]float64, name string) error {
	t, err := b.Fit(ctx, j)
	if err == nil {
		errors[name] = t.Test.Mean
	}
	return err
}

// oracle is how the weights of the tasks are related that are fitted to the test rows
// alone, each on its own, in their metric: cosines, and a tenth of I.
func oracle(ctx context.Context, p *data.ProblemData, ridge float64) (*mat.SymDense, error) {
	q := &data.ProblemData{Problem: p.Problem, Features: p.Features}
	for _, t := range p.Tasks {
		t.TrainSet, t.ValidationSet, t.TestSet = t.TestSet, data.Samples{}, data.Samples{}
		q.Tasks = append(q.Tasks, t)
	}
	if ridge > 0 {
		q = data.NewMetric(q, ridge).Problem(q)
	}
	b, err := solve.NewBench(nil, q, solve.Options{Workers: 2})
	if err != nil {
		return nil, err
	}
	j, err := b.Judge(ctx, solve.Candidate{})
	if err != nil {
		return nil, err
	}
	t, err := b.Fit(ctx, j)
	if err != nil {
		return nil, err
	}
	var omega mat.SymDense
	omega.SymOuterK(1, t.W.T())
	m := omega.SymmetricDim()
	length := make([]float64, m)
	for i := range m {
		length[i] = math.Sqrt(max(omega.At(i, i), math.SmallestNonzeroFloat64))
	}
	for i := range m {
		for j := range i {
			omega.SetSym(i, j, omega.At(i, j)/length[i]/length[j])
		}
		omega.SetSym(i, i, 1.1)
	}
	return &omega, nil
}
