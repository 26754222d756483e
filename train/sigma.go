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

// known are the classes of the experience, and what they teach.
type known struct {
	model.Taught
	classes []class
}

// class has rows of one class, each once.
type class struct {
	name string
	rows []data.Matrix
}

// newKnown gathers the rows. There are none where rows have no classes, or problems are of several
// datasets.
func newKnown(n *model.Network, source Source) (*known, error) {
	k := &known{}
	taken := map[int]bool{} // rows of the dataset
	rows := map[string][]data.Matrix{}
	sides := 0
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
			return k, nil
		}
		k.Columns = model.NamesOf(p)
		for _, t := range p.Tasks {
			labelled := len(t.TrainSet.Y) + len(t.ValidationSet.Y)
			k.Few += labelled
			sides += max(2, p.Several())
			index := slices.Concat(t.Train, t.Validation, t.Test)
			if len(index) != labelled+len(t.TestSet.Y) {
				return k, nil // they are no rows of a dataset
			}
			names := p.ClassesOf(t)
			for _, set := range []data.Samples{t.TrainSet, t.ValidationSet, t.TestSet} {
				for j, y := range set.Y {
					if !taken[index[j]] {
						taken[index[j]] = true
						name := names[multitask.LabelOf(y, p.Several())]
						rows[name] = append(rows[name], set.X.Take([]int{j}))
					}
				}
				index = index[len(set.Y):]
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		every := 1 + (len(taken)*rows[name][0].Cols()-1)/mostKept
		c := class{name: name}
		for part := range slices.Chunk(rows[name], every) {
			c.rows = append(c.rows, part[0])
		}
		if len(c.rows) > 1 { // one half is labelled
			k.classes = append(k.classes, c)
		}
	}
	k.Few = max(1, k.Few/max(1, sides))
	return k, nil
}

// tasks are the rows of some classes, a task a class.
func tasks(classes []class) *data.ProblemData {
	p := &data.ProblemData{}
	for _, c := range classes {
		p.Tasks = append(p.Tasks, model.ClassOf(c.name, data.Stack(c.rows)))
	}
	return p
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
			t.network.Sigma = ended.Sigma
			return nil
		}
	}
	k, err := newKnown(t.network, source)
	if err != nil || len(k.classes) < fewestClasses {
		return err
	}
	inner, outer := k.parts(t.config.Seed)
	ridges := []float64{10, 1, 0.1, 0.01}
	errs := make([]float64, len(ridges))
	report := t.options.Progress
	report.Start("how classes scatter", len(inner)*heldProblems)
	defer report.Finish()
	for part, classes := range inner {
		scatter := view.ScatterOf(tasks(outer[part]))
		for number := range heldProblems {
			r := data.Stream(t.config.Seed, "problem of classes left out", uint64(part), uint64(number))
			p := k.draw(r, classes)
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
	k.Ridge = ridges[slices.Index(errs, slices.Min(errs))]
	k.Far = k.limit(inner, outer)
	t.network.Sigma = model.NewSigma(tasks(k.classes), k.Taught)
	return nil
}

// parts are the classes in parts, each with all classes outside of it.
func (k *known) parts(seed uint64) (inner, outer [][]class) {
	count := 2
	if len(k.classes) >= manyClasses {
		count = 3
	}
	inner = make([][]class, count)
	outer = make([][]class, count)
	for i, c := range data.Stream(seed, "classes left out").Perm(len(k.classes)) {
		for part := range count {
			side := outer
			if i%count == part {
				side = inner
			}
			side[part] = append(side[part], k.classes[c])
		}
	}
	return inner, outer
}

// limit is the distance from the nearest of the outer classes up to which rows are of that class,
// by how far other rows of these classes are, and rows of the inner classes. It is 0 where too few
// tell.
func (k *known) limit(inner, outer [][]class) float64 {
	var known, strange []float64 // logarithms of distances
	for part, classes := range outer {
		var fresh [][]data.Matrix
		var learned []class
		for _, c := range classes {
			parts := c.split(min(k.Few, len(c.rows)/2))
			fresh = append(fresh, parts[0])
			learned = append(learned, class{c.name, slices.Concat(parts[1:]...)})
		}
		s := model.NewSigma(tasks(learned), k.Taught)
		distance := func(rows []data.Matrix) float64 {
			_, d := s.Nearest(data.Stack(rows))
			return math.Log(d)
		}
		for _, rows := range fresh {
			known = append(known, distance(rows))
		}
		for _, c := range inner[part] {
			for _, rows := range c.split(k.Few) {
				strange = append(strange, distance(rows))
			}
		}
	}
	knownMean, knownSpread := stat.MeanStdDev(known, nil)
	strangeMean, strangeSpread := stat.MeanStdDev(strange, nil)
	deviations := (strangeMean - knownMean) / (knownSpread + strangeSpread)
	logLimit := strangeMean - max(fewestDeviations, deviations)*strangeSpread
	if limit := math.Exp(logLimit); limit < math.Inf(1) { // else a distance is 0, or unknown
		return limit
	}
	return 0
}

// split has the rows of a class in parts of a size or more, each from its first to its last.
func (c class) split(size int) [][]data.Matrix {
	parts := make([][]data.Matrix, max(1, len(c.rows)/size))
	for i, row := range c.rows {
		part := i % len(parts)
		parts[part] = append(parts[part], row)
	}
	return parts
}

// draw makes a problem of pairs of classes, with as few labelled rows as the problems of the
// experience have.
func (k *known) draw(r *rand.Rand, classes []class) *data.ProblemData {
	p := &data.ProblemData{Problem: &data.Problem{Name: "classes left out"}}
	var pairs [][]class
	for i, a := range classes {
		for _, b := range classes[:i] {
			pairs = append(pairs, []class{a, b})
		}
	}
	count := 4 + r.IntN(5)
	for _, i := range r.Perm(len(pairs))[:min(count, len(pairs))] {
		var x [2][]data.Matrix // to train on, and to predict
		var y [2][]float64
		for side, c := range pairs[i] {
			order := r.Perm(len(c.rows))
			labelled := min(k.Few, len(order)/2)
			for n, row := range order[:min(labelled+mostAsked, len(order))] {
				set := 0
				if n >= labelled {
					set = 1
					n -= labelled
				}
				x[set] = slices.Insert(x[set], n, c.rows[row])
				y[set] = slices.Insert(y[set], n, float64(1-2*side))
			}
		}
		task := data.Task{Name: fmt.Sprint(i), Kind: data.Classification}
		task.Positive = pairs[i][0].name
		task.Negative = pairs[i][1].name
		p.Tasks = append(p.Tasks, data.TaskData{Task: &task,
			TrainSet: data.Samples{X: data.Stack(x[0]), Y: y[0]},
			TestSet:  data.Samples{X: data.Stack(x[1]), Y: y[1]},
		})
	}
	return p
}

// judged is the error on test rows in the tasks' common metric.
func judged(ctx context.Context, p *data.ProblemData) (float64, error) {
	o := solve.Options{Workers: runtime.GOMAXPROCS(0)}
	rows, err := multitask.Training(p)
	if err != nil {
		return 0, err
	}
	for pair := range slices.Chunk(evidence.LambdaGrid(rows), 2) {
		o.Lambda1 = append(o.Lambda1, pair[0]) // enough to tell ridges apart
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
