package train

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/view"
	"l2mt/infer/solve"
	"l2mt/model"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// Experience teaches how rows scatter about the mean of their class, S0. Problems of new classes
// are solved with rows X A, A A' = (S0 + tau I)^-1, beside the rows as they are.

// MetricKey is the name, in a network's provenance, of the metric that the experience has taught.
const MetricKey = "metric"

const (
	// heldProblems is how many problems are drawn of each part of the classes.
	heldProblems = 5
	// manyClasses is the number of classes from which there are three parts, and not two.
	manyClasses = 9
	// fewestClasses is the number of classes below which no metric is learned.
	fewestClasses = 4
	// mostAsked bounds the rows of each class that such a problem predicts.
	mostAsked = 60
	// fewestDeviations is how far below the mean of the distances of strange classes a class is
	// known at most.
	fewestDeviations = 3
	// mostKept is how many numbers of the experience's rows a network keeps.
	mostKept = 1 << 21
)

// known are the rows of the experience, each once.
type known struct {
	*data.ProblemData        // a task for every class
	names             string // of the columns
	labelled          int    // labelled rows of a class in a problem
}

// newKnown gathers the rows. It is nil where rows have no classes, or problems are of several
// datasets.
func newKnown(n *model.Network, source Source) (*known, error) {
	k := &known{ProblemData: &data.ProblemData{Problem: &data.Problem{Name: "experience"}}}
	taken := map[int]bool{} // rows of the dataset
	rows := map[string][]data.Matrix{}
	labelled := 0
	sides := 0
	width := 0
	dataset := ""
	for i := range source.Len() {
		e, err := source.Example(i)
		if err != nil {
			return nil, err
		}
		p, err := n.Features(e.Problem)
		if err != nil {
			return nil, err
		}
		dataset = cmp.Or(dataset, e.Dataset)
		if p.Kind() == data.Regression || dataset != e.Dataset {
			return nil, nil
		}
		k.names = model.NamesOf(p)
		width = p.Cols()
		for _, t := range p.Tasks {
			count := len(t.TrainSet.Y) + len(t.ValidationSet.Y)
			labelled += count
			sides += max(2, p.Several())
			index := slices.Concat(t.Train, t.Validation, t.Test)
			if len(index) != count+len(t.TestSet.Y) {
				return nil, nil // they are no rows of a dataset
			}
			for _, set := range []data.Samples{t.TrainSet, t.ValidationSet, t.TestSet} {
				for j, y := range set.Y {
					if taken[index[j]] {
						continue
					}
					taken[index[j]] = true
					name := className(p, t, y)
					rows[name] = append(rows[name], set.X.Take([]int{j}))
				}
				index = index[len(set.Y):]
			}
		}
	}
	every := (len(taken)*width + mostKept - 1) / mostKept
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		class := rows[name]
		kept := class[:0]
		for i := 0; i < len(class); i += every {
			kept = append(kept, class[i])
		}
		if len(kept) > 1 { // one half is labelled
			k.Tasks = append(k.Tasks, model.ClassOf(name, data.Stack(kept)))
		}
	}
	k.labelled = max(1, labelled/max(1, sides))
	return k, nil
}

// className is the class of a label.
func className(p *data.ProblemData, t data.TaskData, y float64) string {
	switch {
	case p.Several() > 0:
		return p.Classes[int(y)]
	case y > 0:
		return t.Positive
	}
	return t.Negative
}

// learnSigma gives the network the metric of S0 with the ridge that predicts classes best which
// are left out of S0.
func (t *trainer) learnSigma(ctx context.Context, source Source) error {
	if t.config.Start == FromPreset {
		return nil // the paper knows none
	}
	if t.options.Out != "" {
		ended, err := model.Load(t.options.Out)
		if err == nil && ended.Sigma != nil { // only a run that has ended keeps one
			t.takeSigma(ended.Sigma, ended.Provenance[MetricKey])
			return nil
		}
	}
	k, err := newKnown(t.network, source)
	if err != nil || k == nil || len(k.Tasks) < fewestClasses {
		return err
	}
	ridges := []float64{10, 1, 0.1, 0.01}
	errs := make([]float64, len(ridges))
	order := data.Stream(t.config.Seed, "classes left out").Perm(len(k.Tasks))
	parts := 2
	if len(order) >= manyClasses {
		parts = 3
	}
	report := t.options.Progress
	report.Start("how classes scatter", parts*heldProblems)
	defer report.Finish()
	split := func(part int) (inner, outer []data.TaskData) {
		for i, c := range order {
			if i%parts == part {
				inner = append(inner, k.Tasks[c])
			} else {
				outer = append(outer, k.Tasks[c])
			}
		}
		return inner, outer
	}
	for part := range parts {
		inner, outer := split(part)
		scatter := view.ScatterOf(k.with(outer))
		for number := range heldProblems {
			r := data.Stream(t.config.Seed, "problem of classes left out", uint64(part), uint64(number))
			p := k.draw(r, inner)
			for i, ridge := range ridges {
				e, err := judged(ctx, scatter.Metric(ridge).Problem(p))
				if err != nil {
					return err
				}
				errs[i] += e
			}
			report.Advance(1, p.Name)
		}
	}
	best := slices.Index(errs, slices.Min(errs))
	taught := model.Taught{Ridge: ridges[best], Few: k.labelled, Columns: k.names}
	var known, strange []float64
	for part := range parts {
		inner, outer := split(part)
		near, far := k.distances(taught, inner, outer)
		known = append(known, near...)
		strange = append(strange, far...)
	}
	if len(known) > 1 && len(strange) > 1 {
		near, nearSpread := stat.MeanStdDev(known, nil)
		far, farSpread := stat.MeanStdDev(strange, nil)
		apart := max(fewestDeviations, (far-near)/(nearSpread+farSpread))
		taught.Far = math.Exp(far - apart*farSpread)
	}
	if s := model.NewSigma(k.ProblemData, taught); s != nil {
		t.takeSigma(s, fmt.Sprintf("how rows of %d classes scatter, ridge %g", len(k.Tasks), taught.Ridge))
	}
	return nil
}

// distances are the logarithms of distances from the nearest of the outer classes, of other rows of
// these classes and of rows of the inner classes.
func (k *known) distances(
	t model.Taught, inner, outer []data.TaskData,
) (known, strange []float64) {
	var fresh []data.Matrix
	var learned []data.TaskData
	for _, class := range outer {
		rows := some(class, min(k.labelled, class.TrainSet.X.Rows()/2))
		fresh = append(fresh, rows[0])
		learned = append(learned, model.ClassOf(class.Name, data.Stack(rows[1:])))
	}
	s := model.NewSigma(k.with(learned), t)
	if s == nil {
		return nil, nil
	}
	for _, x := range fresh {
		_, d := s.Nearest(x)
		known = append(known, math.Log(d))
	}
	for _, class := range inner {
		for _, x := range some(class, k.labelled) {
			_, d := s.Nearest(x)
			strange = append(strange, math.Log(d))
		}
	}
	return known, strange
}

// some has the rows of a class in parts of a size or more, each from its first to its last.
func some(class data.TaskData, size int) (parts []data.Matrix) {
	x := class.TrainSet.X
	count := max(1, x.Rows()/size)
	for part := range count {
		var rows []int
		for i := part; i < x.Rows(); i += count {
			rows = append(rows, i)
		}
		parts = append(parts, x.Take(rows))
	}
	return parts
}

// takeSigma gives the network a metric, and the words that say where it comes from.
func (t *trainer) takeSigma(sigma *model.Sigma, words string) {
	t.network.Sigma = sigma
	provenance := map[string]string{MetricKey: words}
	maps.Copy(provenance, t.network.Provenance)
	t.network.Provenance = provenance
}

// with has other classes.
func (k *known) with(classes []data.TaskData) *data.ProblemData {
	return &data.ProblemData{Problem: k.Problem, Tasks: classes}
}

// draw makes a problem of pairs of classes, with as few labelled rows as the problems of the
// experience have.
func (k *known) draw(r *rand.Rand, classes []data.TaskData) *data.ProblemData {
	p := &data.ProblemData{Problem: &data.Problem{Name: "classes left out"}}
	var pairs [][]data.TaskData
	for i, a := range classes {
		for _, b := range classes[:i] {
			pairs = append(pairs, []data.TaskData{a, b})
		}
	}
	tasks := 4 + r.IntN(5)
	for _, i := range r.Perm(len(pairs))[:min(tasks, len(pairs))] {
		t := data.TaskData{Task: &data.Task{Name: fmt.Sprint(i), Kind: data.Classification}}
		t.Positive = pairs[i][0].Name
		t.Negative = pairs[i][1].Name
		for side, class := range pairs[i] {
			order := r.Perm(class.TrainSet.X.Rows())
			labelled := min(k.labelled, len(order)/2)
			drawn := min(labelled+mostAsked, len(order))
			join(&t.TrainSet, class, order[:labelled], side)
			join(&t.TestSet, class, order[labelled:drawn], side)
		}
		p.Tasks = append(p.Tasks, t)
	}
	return p
}

// join adds rows of a class.
func join(s *data.Samples, class data.TaskData, rows []int, side int) {
	x := class.TrainSet.X.Take(rows)
	if s.X != nil {
		x = data.Stack([]data.Matrix{x, s.X})
	}
	s.X = x
	y := slices.Repeat([]float64{float64(1 - 2*side)}, len(rows))
	s.Y = append(y, s.Y...)
}

// judged is the error on test rows in the tasks' common metric.
func judged(ctx context.Context, p *data.ProblemData) (float64, error) {
	o := solve.Options{Workers: runtime.GOMAXPROCS(0)}
	rows, err := multitask.Training(p)
	if err != nil {
		return 0, err
	}
	for i, lambda1 := range evidence.LambdaGrid(rows) {
		if i%2 == 0 { // enough to tell ridges apart
			o.Lambda1 = append(o.Lambda1, lambda1)
		}
	}
	b, err := solve.NewBench(nil, p, o)
	if err != nil {
		return 0, err
	}
	c, err := b.Best(ctx, []solve.Candidate{{Ridge: 1, Drawn: solve.Drawn}})
	if err != nil {
		return 0, err
	}
	f, err := b.Fit(ctx, c)
	if err != nil {
		return 0, err
	}
	return f.Test.Mean, nil
}
