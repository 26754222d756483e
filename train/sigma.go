package train

import (
	"cmp"
	"context"
	"maps"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/view"
	"l2mt/infer/solve"
	"l2mt/model"
	"l2mt/model/multitask"
)

// Experience teaches how rows scatter about the mean of their class, S0. Problems of new classes
// are solved with rows X A, A A' = (S0 + tau I)^-1, beside the rows as they are.

const (
	// fewestClasses is the number of classes below which no metric is learned.
	fewestClasses = 4
	// fewestDeviations is how far below the mean of the distances of strange classes a class is
	// known at most.
	fewestDeviations = 3
	// mostKept is how many numbers of the experience's rows a network keeps.
	mostKept = 1 << 21
)

// known are the classes of the experience, a task a class, and what they teach.
type known struct {
	model.Taught
	classes []data.TaskData
	pairs   map[string]data.TaskData // labelled rows of tasks of two classes
}

// newKnown gathers the rows, each once. There are none where rows have no classes, or problems are
// of several datasets.
func newKnown(examples []Example) *known {
	k := &known{pairs: map[string]data.TaskData{}}
	taken := map[int]bool{} // rows of the dataset
	rows := map[string][]data.Matrix{}
	sides := 0
	dataset := ""
	for _, e := range examples {
		p := e.Problem
		dataset = cmp.Or(dataset, e.Dataset)
		if p.Kind() == data.Regression || dataset != e.Dataset ||
			p.Tasks[0].Train == nil {
			return k
		}
		k.Columns = model.NamesOf(p)
		labelled := p.Labelled().TrainingOnly()
		for i, t := range p.Tasks {
			count := len(labelled.Tasks[i].TrainSet.Y)
			k.Few += count
			sides += max(2, p.Several())
			index := slices.Concat(t.Train, t.Validation, t.Test)
			if len(index) != count+len(t.TestSet.Y) {
				return k // they are no rows of a dataset
			}
			k.pairs[t.Name] = labelled.Tasks[i]
			names := p.ClassesOf(t)
			for _, set := range []data.Samples{t.TrainSet,
				t.ValidationSet, t.TestSet} {
				for j, y := range set.Y {
					if taken[index[j]] {
						continue
					}
					taken[index[j]] = true
					name := names[multitask.LabelOf(y, p.Several())]
					rows[name] = append(rows[name], set.X.Take([]int{j}))
				}
				index = index[len(set.Y):]
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		every := 1 + (len(taken)*rows[name][0].Cols()-1)/mostKept
		var kept []data.Matrix
		for part := range slices.Chunk(rows[name], every) {
			kept = append(kept, part[0])
		}
		if len(kept) > 1 { // one half is labelled
			k.classes = append(k.classes,
				model.ClassOf(name, data.Stack(kept)))
		}
	}
	k.Few = max(1, k.Few/sides)
	return k
}

// learnSigma gives the network the metric of S0, with the ridge in which tasks of classes that are
// left out of S0 lose least.
func (t *trainer) learnSigma(ctx context.Context, examples []Example) error {
	if t.config.Start == FromPreset {
		return nil // the paper knows none
	}
	k := newKnown(examples)
	if len(k.classes) < fewestClasses {
		return nil
	}
	inner, outer := k.parts(t.config.Seed)
	ridges := []float64{1, 10, 0.1, 0.01}
	losses := make([]float64, len(ridges))
	report := t.options.Progress
	report.Start("how classes scatter", len(inner)*len(ridges))
	defer report.Finish()
	for part, classes := range inner {
		p := k.among(classes)
		if p.Tasks == nil {
			continue
		}
		scatter := view.ScatterOf(outer[part])
		for i, ridge := range ridges {
			held, err := heldOut(ctx, scatter.Metric(ridge).Problem(p))
			if err != nil {
				return err
			}
			losses[i] += held.Loss
			report.Advance(1, p.Name)
		}
	}
	k.Ridge = ridges[floats.MinIdx(losses)]
	k.Far = k.limit(inner, outer)
	t.network.Sigma = model.NewSigma(k.classes, k.Taught)
	return nil
}

// parts are the classes in two parts or three, each with all classes outside of it.
func (k *known) parts(seed uint64) (inner, outer [][]data.TaskData) {
	count := max(2, min(3, len(k.classes)/3))
	inner = make([][]data.TaskData, count)
	outer = make([][]data.TaskData, count)
	for i, c := range data.Stream(seed,
		"classes left out").Perm(len(k.classes)) {
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
func (k *known) limit(inner, outer [][]data.TaskData) float64 {
	var known, strange []float64 // logarithms of distances
	for part, classes := range outer {
		var fresh []data.Matrix
		var learned []data.TaskData
		for _, c := range classes {
			parts := split(c.TrainSet.X, k.Few)
			fresh = append(fresh, parts[0])
			learned = append(learned,
				model.ClassOf(c.Name, data.Stack(parts[1:])))
		}
		s := model.NewSigma(learned, k.Taught)
		distance := func(rows data.Matrix) float64 {
			_, d := s.Nearest(rows)
			return math.Log(d)
		}
		for _, rows := range fresh {
			known = append(known, distance(rows))
		}
		for _, c := range inner[part] {
			for _, rows := range split(c.TrainSet.X, k.Few) {
				strange = append(strange, distance(rows))
			}
		}
	}
	knownMean, knownSpread := stat.MeanStdDev(known, nil)
	strangeMean, strangeSpread := stat.MeanStdDev(strange, nil)
	deviations := (strangeMean - knownMean) / (knownSpread + strangeSpread)
	logLimit := strangeMean - max(fewestDeviations, deviations)*strangeSpread
	limit := math.Exp(logLimit)
	if limit < math.Inf(1) { // else a distance is 0, or unknown
		return limit
	}
	return 0
}

// split has rows in two parts or more, of a size or more where rows suffice. Each part goes from the
// first rows to the last.
func split(x data.Matrix, size int) (parts []data.Matrix) {
	count := max(2, x.Rows()/size)
	for part := range count {
		var rows []int
		for i := part; i < x.Rows(); i += count {
			rows = append(rows, i)
		}
		parts = append(parts, x.Take(rows))
	}
	return parts
}

// among is a problem of the experience's tasks that tell two of some classes apart.
func (k *known) among(classes []data.TaskData) *data.ProblemData {
	p := &data.ProblemData{Problem: &data.Problem{Name: "classes left out"}}
	names := map[string]bool{}
	for _, c := range classes {
		names[c.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(k.pairs)) {
		t := k.pairs[name]
		if names[t.Positive] && names[t.Negative] {
			p.Tasks = append(p.Tasks, t)
		}
	}
	return p
}

// heldOut judges the tasks' common metric by labelled rows that are held out.
func heldOut(ctx context.Context, p *data.ProblemData) (*solve.Judged, error) {
	b, err := solve.NewBench(nil, p,
		solve.Options{Workers: runtime.GOMAXPROCS(0)})
	if err != nil {
		return nil, err
	}
	return b.Judge(ctx, solve.Candidate{
		Ridge: 1,
		Drawn: solve.Drawn,
	})
}
