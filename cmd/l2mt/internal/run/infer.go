package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data"
	"l2mt/data/progress"
	"l2mt/infer/compare"
	"l2mt/infer/solve"
	"l2mt/model"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// Inference is what the network makes of a problem, for print and for files.
type Inference struct {
	Problem string   `json:"problem"`
	Tasks   []string `json:"tasks"`
	// Found is the covariance as the network says, and Used the one that the
	// problem was solved with; nil if it was not.
	Found   *View             `json:"found"`
	Used    *View             `json:"used,omitempty"`
	Nearest []solve.Neighbour `json:"nearest"`
	Radius  compare.Float     `json:"radius"`
	Outside bool              `json:"outside"`
	// Unlike takes the place of Nearest where the network embeds pairs of tasks.
	Unlike *Unlike       `json:"unlike,omitempty"`
	Fit    *InferredFit  `json:"fit,omitempty"`
	Models []RankedModel `json:"models,omitempty"`
	// Network is a checksum of the network.
	Network string  `json:"network"`
	Seconds *Phases `json:"seconds,omitempty"`

	problem *data.ProblemData
	tuned   *solve.Fitted
	head    bool // makes the features that W is of
}

// View is a covariance with what the network says about it.
type View struct {
	Omega       [][]float64 `json:"omega"`
	Correlation [][]float64 `json:"correlation"`
	// Candidate says where it comes from.
	Candidate string `json:"candidate"`
	Title     string `json:"title"`
	// Expected is the relative error that the network expects.
	Expected compare.Float `json:"expected_relative_error"`
}

func newView(omega *mat.SymDense, c solve.Candidate, expected float64) *View {
	return &View{Omega: compare.Entries(omega), Correlation: Correlation(omega), Candidate: c.Name(), Title: c.Covariance(), Expected: compare.Float(expected)}
}

// InferredFit is the solution with the covariance found, beside single-task
// learning.
type InferredFit struct {
	// Rows is the number of rows fitted on, and HeldOutSTL the mean error of
	// single-task learning when they are left out in turn; that of the fit is in
	// Validation.
	Rows       int     `json:"rows"`
	HeldOutSTL float64 `json:"held_out_stl"`
	Lambda1    float64 `json:"lambda1"`
	// Candidate is what was chosen, and Candidates all that were tried.
	Candidate  solve.Candidate `json:"candidate"`
	Candidates []solve.Tried   `json:"candidates"`
	// Signal is how much of what tells classes apart lies there, beside what is usual of
	// training problems.
	Signal     compare.Float    `json:"signal_along_directions"`
	Status     multitask.Status `json:"status"`
	Validation evidence.Errors  `json:"validation"`
	Test       evidence.Errors  `json:"test"`
	STL        evidence.Errors  `json:"stl"`
	Relative   compare.Float    `json:"relative_error"`
}

// RankedModel is a model with the error that the network expects of its
// covariance.
type RankedModel struct {
	Model      string           `json:"model"`
	Title      string           `json:"title"`
	Expected   compare.Float    `json:"expected_relative_error"`
	Validation float64          `json:"validation"`
	Test       float64          `json:"test"`
	Relative   compare.Float    `json:"relative_error"`
	Params     multitask.Params `json:"params"`
}

// Phases says where the time went, in seconds.
type Phases struct {
	Reading   float64 `json:"reading"`
	Embedding float64 `json:"label_graph_and_embedding"`
	Solving   float64 `json:"eigendecomposition_and_scan"`
	Fitting   float64 `json:"fits"`
	Selecting float64 `json:"models"`
}

// Check finds what no inference writes and pictures rely on.
func (r *Inference) Check() error {
	if r.Found == nil {
		return errors.New("there is no covariance in \"found\"")
	}
	for _, c := range r.Correlations() {
		if err := c.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Correlations are the task correlations of the views, to be drawn.
func (r *Inference) Correlations() (all []plot.Correlation) {
	for _, v := range r.Views() {
		all = append(all, plot.Correlation{Title: v.Title, Tasks: r.Tasks, Correlation: v.Correlation})
	}
	return all
}

// InferOptions says what an inference is to come to.
type InferOptions struct {
	// Atlas tells how far a problem is from those of training, if not nil, and
	// Nearest how many of these are named.
	Atlas   *solve.Atlas
	Nearest int
	// Seen does it for a network that embeds pairs of tasks, if not nil.
	Seen *model.Seen
	// OmegaOnly stops at the covariance, Select ranks the paper's ten models too.
	OmegaOnly, Select bool
	Workers           int
	Progress          progress.Reporter
}

// Infer finds the covariance of a problem with a network, and solves it.
func Infer(ctx context.Context, network *solve.Finder, p *data.ProblemData, o InferOptions) (*Inference, error) {
	all, err := p.Labelled()
	if err != nil {
		return nil, err
	}
	embedding, err := network.Embed(all)
	if err != nil {
		return nil, err
	}
	r := &Inference{Problem: p.Name, problem: embedding.Problem(), head: network.Head() != "", Seconds: &Phases{Embedding: embedding.Seconds}}
	for _, t := range p.Tasks {
		r.Tasks = append(r.Tasks, t.Name)
	}
	if err := r.locate(o.Atlas, embedding, o.Nearest); err != nil {
		return nil, err
	}
	if o.Seen != nil {
		if r.Unlike, err = NewUnlike(o.Seen, embedding.Problem()); err != nil {
			return nil, err
		}
	}
	found, err := embedding.Omega(1)
	if err != nil {
		return nil, err
	}
	r.Seconds.Solving = found.Seconds
	r.Found = newView(found.Omega, solve.Candidate{Mixture: solve.Mixture{Network: 1}}, found.Estimated)
	if o.OmegaOnly {
		return r, nil
	}
	if err := r.fit(ctx, network, p, embedding, o); err != nil {
		return nil, err
	}
	if o.Select {
		if p, err = network.Features(p); err != nil {
			return nil, err
		}
		return r, r.rank(ctx, embedding, p, o)
	}
	return r, nil
}

// locate says where the problem is, and how far from those of training.
func (r *Inference) locate(atlas *solve.Atlas, embedding *solve.Embedding, k int) error {
	r.Radius = compare.Float(math.NaN())
	tasks, ok := embedding.Tasks()
	if atlas == nil || !ok {
		return nil
	}
	near, err := atlas.Nearest(tasks, max(k, 1))
	if err != nil {
		return err
	}
	r.Radius, r.Outside = compare.Float(atlas.Radius), len(near) > 0 && atlas.Outside(near[0].Distance)
	r.Nearest = near[:min(k, len(near))]
	return nil
}

// fit solves the problem, and by single-task learning too.
func (r *Inference) fit(ctx context.Context, network *solve.Finder, p *data.ProblemData, embedding *solve.Embedding, o InferOptions) error {
	begin := time.Now()
	b, err := solve.NewBench(network, p, solve.Options{Workers: o.Workers, Progress: o.Progress})
	if err != nil {
		return err
	}
	choice, err := b.Choose(ctx, solve.Parts{})
	if err != nil {
		return err
	}
	t, err := b.Fit(ctx, choice.Judged)
	if err != nil {
		return err
	}
	single, err := b.Judge(ctx, solve.Candidate{})
	if err != nil {
		return err
	}
	stl, err := b.Fit(ctx, single)
	if err != nil {
		return err
	}
	expected, err := embedding.Estimated(t.Omega)
	if err != nil {
		return err
	}
	r.Used, r.tuned = newView(t.Omega, choice.Candidate, expected), t
	r.Fit = &InferredFit{
		Rows: choice.Rows, HeldOutSTL: single.Error, Lambda1: t.Params.Lambda1, Candidate: choice.Candidate, Candidates: choice.Tried,
		Signal: compare.Float(b.Signal()), Status: t.Result.Status, Validation: t.Validation, Test: t.Test,
		STL: stl.Test, Relative: compare.Float(t.Test.Mean / stl.Test.Mean),
	}
	r.Seconds.Fitting = time.Since(begin).Seconds()
	return nil
}

// rank fits the ten models and asks the network which of their covariances
// suits the problem.
func (r *Inference) rank(ctx context.Context, embedding *solve.Embedding, p *data.ProblemData, o InferOptions) error {
	begin := time.Now()
	outcomes, err := compare.Evaluate(ctx, nil, []*data.ProblemData{p}, compare.EvaluateOptions{Workers: o.Workers, Progress: o.Progress})
	if err != nil {
		return err
	}
	for _, m := range outcomes {
		if m.Variant != compare.Plain {
			continue
		}
		omega, err := data.NewCovariance(m.Omega)
		if err != nil {
			return err
		}
		expected, err := embedding.Estimated(omega)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Model, err)
		}
		r.Models = append(r.Models, RankedModel{
			Model: m.Model, Title: MustModel(m.Model).Info().Title, Expected: compare.Float(expected),
			Validation: m.Validation.Mean, Test: m.Test.Mean, Relative: compare.Float(m.Test.Mean / r.Fit.STL.Mean), Params: m.Params,
		})
	}
	slices.SortStableFunc(r.Models, func(a, b RankedModel) int { return cmp.Compare(a.Expected, b.Expected) })
	r.Seconds.Selecting = time.Since(begin).Seconds()
	return nil
}
