// Command learned measures what experience is worth on test problems, for learned.py:
//
//	go run ./testdata/learned PROBLEMS MOST TRAINED [START]
//
// It fits the first MOST problems of a file by single-task learning and by L2MT with and
// without its parts, with a trained network ("" is the shipped one) and with one that kept
// its start. A line of JSON a problem has
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
	"slices"
	"strconv"
	"strings"

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
	if err := run(os.Args[1], os.Args[2],
		os.Args[3:]); err != nil {
		log.Fatal(err)
	}
}

func run(path, most string, networks []string) error {
	var finders []*solve.Finder
	for _, dir := range networks {
		network, err := load(dir)
		if err != nil {
			return err
		}
		finder, err := solve.NewFinder(network)
		if err != nil {
			return err
		}
		finders = append(finders, finder)
	}
	n, err := strconv.Atoi(most)
	if err != nil {
		return err
	}
	problems, err := experience.OpenProblems(path, "", false)
	if err != nil {
		return err
	}
	controls, err := without(networks[0])
	if err != nil {
		return err
	}
	for i := range min(n, problems.Len()) {
		p, err := problems.Problem(i)
		if err != nil {
			return err
		}
		errors := map[string]float64{}
		for k, f := range finders {
			if err := measure(context.Background(), f, k > 0, p, errors); err != nil {
				return fmt.Errorf("problem %q: %w", p.Name, err)
			}
		}
		for name, f := range controls {
			fitted, err := solve.Fit(context.Background(), f, p, solve.Options{Workers: 2})
			if err != nil {
				return fmt.Errorf("problem %q: %w", p.Name, err)
			}
			errors[name] = fitted.Test.Mean
		}
		if err := json.NewEncoder(os.Stdout).Encode(errors); err != nil {
			return err
		}
	}
	return nil
}

// without are finders with networks that know less of the rows of their experience: how they
// scatter in classes that are shuffled or all one.
func without(dir string) (map[string]*solve.Finder, error) {
	network, err := load(dir)
	if err != nil || network.Sigma == nil {
		return nil, err
	}
	known := network.Sigma
	var rows []data.Matrix
	for _, t := range known.Classes.Tasks {
		rows = append(rows, t.TrainSet.X)
	}
	all := data.Stack(rows)
	order := data.Stream(1, "shuffled").Perm(all.Rows())
	shuffled := *known.Classes
	shuffled.Tasks = nil
	for _, x := range rows {
		class := model.ClassOf("", all.Take(order[:x.Rows()]))
		shuffled.Tasks = append(shuffled.Tasks, class)
		order = order[x.Rows():]
	}
	one := *known.Classes
	one.Tasks = []data.TaskData{model.ClassOf("", all)}
	taught := known.Taught
	taught.Far = 0 // no class is recognised
	finders := map[string]*solve.Finder{}
	for name, sigma := range map[string]*model.Sigma{
		"one class": model.NewSigma(&one, taught),
		"shuffled":  model.NewSigma(&shuffled, taught),
	} {
		n := *network
		n.Sigma = sigma
		if finders[name], err = solve.NewFinder(&n); err != nil {
			return nil, err
		}
	}
	return finders, nil
}

// load reads a network, or the shipped one.
func load(dir string) (*model.Network, error) {
	if dir == "" {
		return pretrained.Load()
	}
	return model.Load(dir)
}

// method is a way to choose what to fit.
type method struct {
	name   string
	choose func() (*solve.Choice, error)
}

// measure notes the test errors of methods with a network on a problem: of all, or of those
// alone that a network that kept its start is compared by.
func measure(ctx context.Context, f *solve.Finder, start bool,
	p *data.ProblemData, errors map[string]float64) error {
	b, err := solve.NewBench(f, p, solve.Options{Workers: 2})
	if err != nil {
		return err
	}
	weighed := func(without solve.Parts) func() (*solve.Choice, error) {
		return func() (*solve.Choice, error) { return b.Choose(ctx, without) }
	}
	only := func(c solve.Candidate) func() (*solve.Choice, error) {
		return func() (*solve.Choice, error) { return b.Best(ctx, []solve.Candidate{c}) }
	}
	methods := []method{{"start", weighed(solve.Parts{})}}
	if !start {
		ridge := b.First().Ridge
		omega, err := oracle(ctx, p, ridge)
		if err != nil {
			return err
		}
		given := solve.Candidate{Ridge: ridge}
		if given.Model, err = multitask.Given(omega); err != nil {
			return err
		}
		methods = []method{
			{"stl", only(solve.Candidate{})},
			{"oracle", only(given)},
			{"without", weighed(solve.Parts{NoNetwork: true})},
			{"no rows", weighed(solve.Parts{NoRows: true})},
			{"new classes", weighed(solve.Parts{NoClasses: true})},
			{"l2mt", weighed(solve.Parts{})},
		}
	}
	for _, m := range methods {
		choice, err := m.choose()
		if err != nil {
			return err
		}
		fitted, err := b.Fit(ctx, choice)
		if err != nil {
			return err
		}
		errors[m.name] = fitted.Test.Mean
		if m.name == "l2mt" {
			count(choice, p, errors)
		}
	}
	return nil
}

// count notes the shares of tasks whose classes are recognised, rightly or not.
func count(c *solve.Choice, p *data.ProblemData, shares map[string]float64) {
	right := 0
	for _, t := range p.Tasks {
		words := fmt.Sprintf("task %q: its classes are %q and %q", t.Name, t.Positive, t.Negative)
		if slices.ContainsFunc(c.Recalled, func(s string) bool { return strings.HasPrefix(s, words) }) {
			right++
		}
	}
	shares["recognised"] = float64(right) / float64(len(p.Tasks))
	shares["falsely"] = float64(len(c.Recalled)-right) / float64(len(p.Tasks))
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
	stl, err := b.Best(ctx, []solve.Candidate{{}})
	if err != nil {
		return nil, err
	}
	t, err := b.Fit(ctx, stl)
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
