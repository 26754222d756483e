package model

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"l2mt/data"
	"l2mt/data/view"
	"l2mt/layers"
)

// Payload is a multitask problem as the graphs take it: the training rows of
// all its tasks stacked, with their label graph and readout weights, and the
// statistics that the body asks for. It never changes, so any number of graphs
// may use one, at the same time too.
type Payload struct {
	tasks      int
	shape      string        // the rows of the tasks, where the body looks at them
	batch      *layers.Batch // nil where the body does not look at rows
	statistics []Rows        // in the body's order
	config     Config        // of the networks that it was prepared for
}

// addStatistics adds some rows of the statistics to the inputs of a graph.
func (p *Payload) addStatistics(inputs map[string][]float64, rows []int) (err error) {
	for i, s := range bodies[p.config.Body].Statistics {
		inputs[statisticName(s)], err = s.values(p.statistics[i], rows)
		if err != nil {
			return err
		}
	}
	return nil
}

// regressionClasses is the number of classes that the targets of a regression
// task are binned into for its label graph, between the quartiles.
const regressionClasses = 4

// labelGraph is the label graph of a task's training rows, with k neighbours or as
// many as there are.
func labelGraph(t data.TaskData, k int) (*data.LabelGraph, error) {
	y := t.TrainSet.Y
	class := make([]int32, len(y))
	for i, v := range y { // -1 and +1, or the number of the class
		class[i] = int32(max(v, 0))
	}
	if t.Kind == data.Regression {
		class = data.QuantileClasses(y, regressionClasses)
	}
	return data.NewLabelGraph(t.TrainSet.X, class, min(k, len(y)-1))
}

// Prepare makes the payload of a problem for networks of a configuration. It
// looks at training rows only; a network without weights for features sees them in
// their metric.
func Prepare(c Config, p *data.ProblemData) (*Payload, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	if c.FeatureFree() {
		p = view.InMetric(p.TrainingOnly())
	}
	return PrepareSeen(c, p)
}

// PrepareSeen is Prepare of a valid problem that is in its metric already, if the network sees it
// there.
func PrepareSeen(c Config, p *data.ProblemData) (*Payload, error) {
	payload := &Payload{
		tasks:  len(p.Tasks),
		config: c,
	}
	if !c.FeatureFree() {
		tasks, err := stacked(c, p)
		if err != nil {
			return nil, err
		}
		payload.batch, err = layers.NewBatch(c.DType, c.Norm, tasks)
		if err != nil {
			return nil, fmt.Errorf("problem %q: %w", p.Name, err)
		}
		payload.shape = payload.batch.Shape()
	}
	for _, s := range bodies[c.Body].Statistics {
		rows, err := s.Compute(p)
		if err != nil {
			return nil, fmt.Errorf("problem %q: statistic %q: %w",
				p.Name, s.Name, err)
		}
		payload.statistics = append(payload.statistics, rows)
	}
	return payload, nil
}

// stacked are the tasks of a problem as the operations on rows take them.
func stacked(c Config, p *data.ProblemData) ([]layers.Task, error) {
	d := p.Cols()
	if d != c.Features {
		return nil, ErrMismatch.Errorf("problem %q: it has %d features, but the network %d",
			p.Name, d, c.Features)
	}
	names := NamesOf(p)
	if c.Names != "" && names != c.Names {
		return nil, ErrMismatch.Errorf("problem %q: its features are %s, but the network's are %s; they must be the same, in the same order",
			p.Name, cmp.Or(names, "without names"), c.Names)
	}
	k := p.Several()
	if k > 0 && c.Readout != "mean" {
		return nil, ErrMismatch.Errorf("problem %q: it has %d classes, but the readout %q tells only two apart; take the body \"pairwise\", or the readout \"mean\", which looks at no classes",
			p.Name, k, c.Readout)
	}
	graph := bodies[c.Body].Graph
	tasks := make([]layers.Task, len(p.Tasks))
	for j, t := range p.Tasks {
		var err error
		tasks[j].X = layers.PointsOf(t.TrainSet.X)
		tasks[j].Weights, err = readouts[c.Readout](t.Kind, t.TrainSet.Y)
		if err == nil && graph != nil && graph(c) {
			tasks[j].Graph, err = labelGraph(t, c.Neighbours)
		}
		if err != nil {
			return nil, fmt.Errorf("problem %q, task %q: %w",
				p.Name, t.Name, err)
		}
	}
	return tasks, nil
}

// NamesOf says in short which features a problem has, in which order: the first names
// and a checksum of all. It is empty if they have no names.
func NamesOf(p *data.ProblemData) string {
	if len(p.Features) == 0 {
		return ""
	}
	sum := sha256.New()
	var first []string
	for _, name := range p.Features {
		fmt.Fprintf(sum, "%d %s", len(name), name)
		if len(first) < 3 {
			first = append(first, strconv.Quote(name))
		}
	}
	return fmt.Sprintf("%s, ... (%.12x)",
		strings.Join(first, ", "), sum.Sum(nil))
}
