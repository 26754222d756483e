// Command learned measures what experience is worth on test problems, for learned.py:
//
//	go run ./testdata/learned PROBLEMS MOST TRAINED [START [TRAINING]]
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
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/data/view"
	"l2mt/infer/report"
	"l2mt/infer/solve"
	"l2mt/model"
	"l2mt/model/multitask"
	"l2mt/model/pretrained"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 4 || len(os.Args) > 6 {
		log.Fatal("usage: go run ./testdata/learned PROBLEMS MOST TRAINED [START [TRAINING]]")
	}
	problems := must(experience.OpenProblems(os.Args[1], "", false))
	most := must(strconv.Atoi(os.Args[2]))
	trained := load(os.Args[3])
	finder := solve.NewFinder(trained)
	networks := map[string]*model.Network{}
	if len(os.Args) > 4 {
		networks["start"] = load(os.Args[4])
	}
	var old []data.TaskData
	if len(os.Args) > 5 {
		old = oldTasks(must(experience.OpenProblems(os.Args[5], "", false)))
	}
	if trained.Sigma != nil {
		control(trained, networks)
	}
	controls := map[string]*solve.Finder{}
	for name, network := range networks {
		controls[name] = solve.NewFinder(network)
	}
	for i := range min(most, problems.Len()) {
		p := must(problems.Problem(i))
		errors := measure(finder, p, i < controlled)
		for name, f := range controls {
			if name != "start" && i >= controlled {
				continue
			}
			fitted := must(solve.Fit(context.Background(), f, p, solve.Options{Workers: 2}))
			errors[name] = fitted.Test.Mean
		}
		if i < inTables && old != nil {
			inTable(errors, finder, p, old)
		}
		must(0, json.NewEncoder(os.Stdout).Encode(errors))
	}
}

const (
	// controlled is how many problems have all controls, and inTables how many have old tasks in
	// their table.
	controlled = 10
	inTables   = 4
	// mostOld bounds the old tasks.
	mostOld = 20
)

// oldTasks are the first tasks of training problems, all of their rows labelled.
func oldTasks(problems *experience.Problems) (old []data.TaskData) {
	for i := range problems.Len() {
		for _, t := range must(problems.Problem(i)).Tasks {
			sets := []data.Samples{t.TrainSet, t.ValidationSet, t.TestSet}
			var rows []data.Matrix
			t.TrainSet = data.Samples{}
			for _, set := range sets {
				rows = append(rows, set.X)
				t.TrainSet.Y = append(t.TrainSet.Y, set.Y...)
			}
			t.TrainSet.X = data.Stack(rows)
			t.ValidationSet = data.Samples{X: t.TrainSet.X.Take(nil)}
			task := *t.Task
			task.Name = fmt.Sprintf("old %d %s", i, t.Name)
			t.Task = &task
			old = append(old, t)
			if len(old) == mostOld {
				return old
			}
		}
	}
	return old
}

// inTable adds the error of L2MT without the network where old tasks are in the table, its seconds,
// and the seconds of L2MT with the network instead.
func inTable(errors map[string]float64, f *solve.Finder, p *data.ProblemData, old []data.TaskData) {
	q := &data.ProblemData{Problem: p.Problem, Features: p.Features}
	q.Tasks = slices.Concat(p.Tasks, old)
	fit := func(f *solve.Finder, p *data.ProblemData) (test []float64, seconds float64) {
		begun := time.Now()
		fitted := must(solve.Fit(context.Background(), f, p, solve.Options{Workers: 2}))
		return fitted.Test.Task, time.Since(begun).Seconds()
	}
	test, seconds := fit(nil, q)
	errors["old tasks"] = stat.Mean(test[:len(p.Tasks)], nil)
	errors["seconds old"] = seconds
	_, errors["seconds"] = fit(f, p)
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// load reads a network, or the shipped one.
func load(dir string) *model.Network {
	if dir == "" {
		return must(pretrained.Load())
	}
	return must(model.Load(dir))
}

// control adds networks that know less of the rows of their experience: nothing, how they scatter
// alone, or in classes that are shuffled or all one.
func control(network *model.Network, networks map[string]*model.Network) {
	known := network.Sigma
	var rows []data.Matrix
	for _, t := range known.Classes {
		rows = append(rows, t.TrainSet.X)
	}
	stack := data.Stack(rows)
	order := data.Stream(1, "shuffled").Perm(stack.Rows())
	var shuffled []data.TaskData
	for _, x := range rows {
		class := model.ClassOf("", stack.Take(order[:x.Rows()]))
		shuffled = append(shuffled, class)
		order = order[x.Rows():]
	}
	taught := known.Taught
	taught.Far = 0 // no class is recognised
	bare := *network
	bare.Sigma = nil
	networks["no rows"] = &bare
	for name, classes := range map[string][]data.TaskData{
		"new classes": known.Classes,
		"one class":   {model.ClassOf("", stack)},
		"shuffled":    shuffled,
	} {
		n := *network
		n.Sigma = model.NewSigma(classes, taught)
		networks[name] = &n
	}
}

// measure has the test errors of methods on a problem, and the shares of tasks whose classes are
// recognised, rightly or not.
func measure(f *solve.Finder, p *data.ProblemData, controls bool) map[string]float64 {
	ctx := context.Background()
	b := must(solve.NewBench(f, p, solve.Options{Workers: 2}))
	errors := map[string]float64{}
	fit := func(name string, c *solve.Choice, err error) {
		errors[name] = must(b.Fit(ctx, must(c, err))).Test.Mean
	}
	only := func(name string, c solve.Candidate) {
		choice, err := b.Take(ctx, c)
		fit(name, choice, err)
	}
	weighed := func(name string, without solve.Parts) (recalled []string) {
		choice, err := b.Choose(ctx, without)
		fit(name, choice, err)
		return choice.Recalled
	}
	only("stl", solve.Candidate{})
	weighed("without", solve.Parts{NoNetwork: true})
	if controls {
		given := solve.Candidate{Ridge: b.First().Ridge}
		given.Model = must(multitask.Given(oracle(p, given.Ridge)))
		only("oracle", given)
	}
	recalled := weighed("l2mt", solve.Parts{})
	right := 0.0
	for _, t := range p.Tasks {
		words := fmt.Sprintf("task %q: the experience has its classes %q and %q", t.Name, t.Positive, t.Negative)
		if slices.ContainsFunc(recalled, func(s string) bool { return strings.HasPrefix(s, words) }) {
			right++
		}
	}
	errors["recognised"] = right / float64(len(p.Tasks))
	errors["falsely"] = (float64(len(recalled)) - right) / float64(len(p.Tasks))
	return errors
}

// oracle is how the weights of the tasks are related that are fitted to the test rows
// alone, each on its own, in their metric: cosines, and a tenth of I.
func oracle(p *data.ProblemData, ridge float64) *mat.SymDense {
	q := &data.ProblemData{Problem: p.Problem, Features: p.Features}
	for _, t := range p.Tasks {
		q.Tasks = append(q.Tasks, data.TaskData{Task: t.Task, TrainSet: t.TestSet})
	}
	if ridge > 0 {
		q = view.NewScatter(q).Metric(ridge).Problem(q)
	}
	ctx := context.Background()
	b := must(solve.NewBench(nil, q, solve.Options{Workers: 2}))
	stl := must(b.Take(ctx, solve.Candidate{}))
	var products mat.SymDense
	products.SymOuterK(1, must(b.Fit(ctx, stl)).W.T())
	cosines := report.Correlation(&products)
	for i := range cosines {
		cosines[i][i] += 0.1
	}
	return must(data.NewCovariance(cosines))
}
