package solve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"l2mt/data"
	"l2mt/data/view"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// Parts switch parts of Choose off. The zero value has all of them.
type Parts struct {
	// NoNetwork is the control without a network.
	NoNetwork bool
	// View is the view to take, one of Views; empty leaves the choice to the rows.
	View string
}

// Weighed is a candidate with its weight in a Choice.
type Weighed struct {
	Candidate
	Called string  `json:"name"`
	Titled string  `json:"title"`
	Loss   float64 `json:"loss"` // of rows held out
	Weight float64 `json:"weight"`

	judged *Judged
}

// Choice is a weighed sum of candidates, which predicts rows that folds held out best.
type Choice struct {
	// HeldOut has the predictions of the rows held out. The rows of other folds weigh each fold.
	*evidence.HeldOut
	// Weighed are the candidates.
	Weighed []Weighed

	// LeftOut is how many candidates there was no time for.
	LeftOut int
	// Recalled says which tasks are of classes that the experience has.
	Recalled []string

	known []*multitask.Result // of recognised tasks, nil of others
}

// Candidates are the ways to fit a problem that Choose weighs. An older model's knowledge is the
// first. The structures of the mixed model are among them, except where rows are sparse, and for
// classes with many columns, where the evidence trusts fits that are chance. There, and for few
// tasks of classes (the network has learned from such problems), candidates are problem (1) in the
// common metric: with the network's covariance, with half of it, and without.
func (b *Bench) Candidates(without Parts) (candidates []Candidate) {
	if without.View != "" {
		return b.structures(without.View)
	}
	if b.options.After != nil {
		candidates = []Candidate{{Structure: Structure{View: After}}}
	}
	if !b.wide() {
		candidates = append(candidates, b.structures("")...)
	}
	if b.wide() || !b.regression() && len(b.rows.Tasks) <= fewTasks {
		candidates = append(candidates, b.metrics(without)...)
	}
	return candidates
}

func (b *Bench) structures(view string) (candidates []Candidate) {
	for _, s := range []Structure{
		{Curves, Shared}, {Kernel, Shared}, {Straight, Shared},
		{Curves, Alone}, {Kernel, Alone}, {Curves, Pooled}, {View: Level},
	} {
		if view != "" && s.View != Level {
			s.View = view
		}
		if s == (Structure{Kernel, Alone}) &&
			!b.rows.OwnUnits && len(b.rows.Tasks) > fewTasks {
			continue // a kernel of the few rows of a task
		}
		if s.View == Straight && view == "" && b.rows.Cols() > mostCurved {
			continue // curves are straight
		}
		c := (Candidate{Structure: s})
		if !slices.Contains(candidates, c) {
			candidates = append(candidates, c)
		}
	}
	return candidates
}

func (b *Bench) metrics(without Parts) (candidates []Candidate) {
	mixtures := []Mixture{{}, {Pooled: 0.8}}
	if b.finder != nil && !without.NoNetwork && !b.regression() {
		mixtures = []Mixture{{Network: 1}, {Network: 0.5}, {}}
	}
	ridges := []float64{0}
	if view.HasMetric(b.rows) {
		ridges = []float64{0.1, 1, 3}
	}
	learned := b.hasLearned() && !without.NoNetwork
	for _, ridge := range ridges {
		for _, x := range mixtures {
			c := Candidate{
				Mixture: x,
				Ridge:   ridge,
				Drawn:   Drawn,
				Learned: learned,
			}
			candidates = append(candidates, c)
			if c.Learned && (ridge == 1 || len(ridges) == 1) {
				c.Learned = false // where the rows overrule the experience
				candidates = append(candidates, c)
			}
		}
	}
	return candidates
}

const (
	// Drawn is the prior of intercepts, in rows.
	Drawn = 10
	// fewRows is how many rows for each column the variances of classes take.
	fewRows = 5
	// fewTasks is the number of tasks up to which a network has a say.
	fewTasks = 16
)

// wide says that the evidence of the mixed model is not to be believed.
func (b *Bench) wide() bool {
	rows := 0
	for _, t := range b.rows.Tasks {
		if data.IsSparse(t.TrainSet.X) {
			return true
		}
		rows += len(t.TrainSet.Y)
	}
	return !b.regression() && rows < fewRows*b.rows.Cols()
}

// First is the candidate of experience alone: the covariance of the network, in the common metric.
func (b *Bench) First() Candidate {
	var c Candidate
	if b.finder != nil {
		c.Network = 1
	}
	if view.HasMetric(b.rows) {
		c.Ridge = 1
	}
	return c
}

// Choose weighs the candidates of a problem by rows held out.
func (b *Bench) Choose(ctx context.Context, without Parts) (*Choice, error) {
	candidates := b.Candidates(without)
	c, err := b.weigh(ctx, candidates)
	if err != nil {
		return nil, err
	}
	c.LeftOut = len(candidates) - len(c.Weighed)
	if without == (Parts{}) {
		err = b.recognise(c)
	}
	return c, err
}

// Take is the choice of one candidate.
func (b *Bench) Take(ctx context.Context, c Candidate) (*Choice, error) {
	judged, err := b.judgeEach(ctx, []Candidate{c})
	if err != nil {
		return nil, err
	}
	return best(judged), nil
}

// best is the choice of the candidate of the least loss, of equals the first.
func best(judged []*Judged) *Choice {
	best := 0
	for k, j := range judged {
		if j.Loss < judged[best].Loss {
			best = k
		}
	}
	return oneOf(judged, best)
}

// oneOf is the choice of one candidate alone.
func oneOf(judged []*Judged, k int) *Choice {
	weights := make([]float64, len(judged))
	weights[k] = 1
	return newChoice(judged, weights, judged[k].HeldOut)
}

// weigh finds the weights of candidates. Where no rows can be held out it is the first.
func (b *Bench) weigh(ctx context.Context, candidates []Candidate) (*Choice, error) {
	judged, err := b.timely(ctx, candidates)
	if err != nil {
		return nil, err
	}
	if b.options.Times != nil { // rows of one future err together, and tell no weights
		return best(judged), nil
	}
	if len(b.folds) == 0 {
		return oneOf(judged, 0), nil
	}
	var parts []*evidence.HeldOut
	for _, j := range judged {
		parts = append(parts, j.HeldOut)
	}
	held, err := b.predicted(b.blended(parts))
	if err != nil {
		return nil, err
	}
	c := newChoice(judged, newBlend(b, parts, -1).weigh(), held)
	surest := c.surest()
	if surest != nil {
		held.Variance = surest.Variance
	}
	return c, nil
}

// timely judges candidates while there is time, first the levels of tasks and straight columns, if
// these are among them. The first is judged in any case.
func (b *Bench) timely(ctx context.Context, candidates []Candidate) ([]*Judged, error) {
	if b.options.Until.IsZero() {
		return b.judgeEach(ctx, candidates)
	}
	order := candidates
	for _, view := range []string{Straight, Level} {
		c := Candidate{Structure: Structure{View: view}}
		if slices.Contains(candidates, c) {
			order = slices.Insert(slices.Clone(order), 0, c)
		}
	}
	if _, err := b.judgeEach(ctx, order[:1]); err != nil {
		return nil, err
	}
	tried := map[string]bool{}
	for _, c := range order {
		_, err := b.Judge(ctx, c)
		if ctx.Err() == nil && b.CutOff(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		tried[c.Name()] = true
	}
	late := func(c Candidate) bool {
		return !tried[c.Name()]
	}
	return b.judgeEach(ctx,
		slices.DeleteFunc(slices.Clone(candidates), late))
}

func newChoice(judged []*Judged, weights []float64, held *evidence.HeldOut) *Choice {
	c := &Choice{HeldOut: held}
	for k, j := range judged {
		c.Weighed = append(c.Weighed,
			Weighed{j.Candidate, j.Name(), j.Title(), j.Loss, weights[k], j})
	}
	return c
}

// First is the candidate of the largest weight.
func (c *Choice) First() *Judged {
	byWeight := func(a, b Weighed) int {
		return cmp.Compare(a.Weight, b.Weight)
	}
	return slices.MaxFunc(c.Weighed, byWeight).judged
}

// surest is the structure of the largest weight, or nil.
func (c *Choice) surest() (surest *Judged) {
	largest := 0.0
	for _, w := range c.fitted() {
		if w.View != "" && w.Weight >= largest {
			largest = w.Weight
			surest = w.judged
		}
	}
	return surest
}

// lowest is the weight of a candidate below which it is left out.
const lowest = 1e-3

// fitted are the candidates that count.
func (c *Choice) fitted() (fitted []Weighed) {
	first := c.First()
	for _, w := range c.Weighed {
		if w.Weight > lowest || w.judged == first {
			fitted = append(fitted, w)
		}
	}
	return fitted
}

// Name joins the names of the candidates that count, the largest weight first.
func (c *Choice) Name() string {
	return strings.Join(c.words((*Judged).Name), "+")
}

// mostTitled bounds the candidates that a title names.
const mostTitled = 2

// Title describes the choice to people.
func (c *Choice) Title() string {
	words := c.words((*Judged).Title)
	title := strings.Join(words[:min(len(words), mostTitled)], " + ")
	rest := len(words) - mostTitled
	if rest > 0 {
		title += fmt.Sprintf(" + %d more", rest)
	}
	return title
}

func (c *Choice) words(word func(*Judged) string) []string {
	first := c.First()
	words := []string{word(first)}
	for _, w := range c.fitted() {
		if w.judged != first {
			words = append(words, word(w.judged))
		}
	}
	return words
}

// Rivals are the two models that a user would try instead: every task on its own, and one model for
// all. They see columns by curves if the choice does.
func (b *Bench) Rivals(c *Choice) (single, pooled Candidate) {
	if b.wide() {
		return Candidate{}, Candidate{
			Mixture: Mixture{Pooled: 1},
			Drawn:   Drawn,
		}
	}
	view := Straight
	for _, j := range c.Weighed {
		if j.View == Curves || j.View == Kernel && view == Straight {
			view = j.View
		}
	}
	return Candidate{Structure: Structure{view,
		Alone}}, Candidate{Structure: Structure{view, Pooled}}
}

// Held judges a candidate by the rows held out, on the scale of the target.
func (b *Bench) Held(ctx context.Context, c Candidate) (*evidence.HeldOut, error) {
	if c.View == Level && b.wide() { // which structures are not fitted to
		level := *b
		level.judged = map[string]*Judged{}
		level.options.Lambda1 = []float64{noFeatures}
		level.options.Balanced = false
		b = &level
		c = Candidate{Drawn: Drawn}
	}
	j, err := b.Judge(ctx, c)
	if err != nil {
		return nil, err
	}
	return b.Told(j.HeldOut)
}

// noFeatures is a Lambda1 that leaves nothing of W.
const noFeatures = 1e12

// Shares says whether tasks share anything.
func (c *Choice) Shares() bool {
	return slices.ContainsFunc(c.fitted(), func(w Weighed) bool {
		if w.View == "" {
			return w.Model != nil || w.Mixture != (Mixture{})
		}
		return w.Sharing != Alone && w.View != Level
	})
}
