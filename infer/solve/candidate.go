package solve

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/model/multitask"
)

// Candidate is one way to fit the tasks of a problem: how it sees the features, and where
// its covariance comes from. The zero value is single-task learning.
type Candidate struct {
	View
	Mixture
	// Drawn is how many rows a task's intercept is drawn by to the common one
	// (multitask.Drawn): 0 leaves it to the task, multitask.OneIntercept is one for all.
	Drawn float64 `json:"drawn,omitempty"`
	// Balanced weighs rows so that the classes of a task count the same.
	Balanced bool `json:"balanced,omitempty"`
	// Model takes the place of the mixture: a registered model, or multitask.Given.
	Model multitask.Model `json:"-"`
}

// View is how a candidate sees the features.
type View struct {
	// Bent is how columns bend: data.StepCurves, or a kernel of all, data.StepGauss or
	// data.StepLaplace of the Width. Empty leaves them straight.
	Bent  string  `json:"bent,omitempty"`
	Width float64 `json:"width,omitempty"`
	// Ridge is that of the tasks' common metric (data.Metric); 0 leaves the features as
	// they are.
	Ridge float64 `json:"ridge,omitempty"`
}

// Mixture is a covariance,
//
//	Network Omega_n + Pooled 11'/m + the rest I/m
//
// with Omega_n what the network says.
type Mixture struct {
	Network float64 `json:"network,omitempty"`
	Pooled  float64 `json:"pooled,omitempty"`
	// Weights gives 0.6 of the covariance to W'W / tr(W'W) of the weights that are fitted
	// with the mixture. From many rows these say more of how the tasks relate than the
	// network, which has few numbers for a pair of tasks, and from few rows next to nothing.
	Weights bool `json:"weights,omitempty"`
}

// inWeights is the share of the weights' own covariance.
const inWeights = 0.6

// weighed is a candidate with the covariance of the weights that are fitted with it.
func (c Candidate) weighed() Candidate {
	c.Weights = true
	return c
}

// Name is what a candidate is called in files and flags.
func (c Candidate) Name() string {
	name, _ := c.words()
	return name
}

// Title says what a candidate is.
func (c Candidate) Title() string {
	_, title := c.words()
	return title
}

// words are the name and the title: the covariance, of which shares are in percent, the view,
// and the intercepts.
func (c Candidate) words() (name, title string) {
	add := func(is bool, between, word, what string) {
		if is && name != "" {
			name, title = name+"-", title+between
		}
		if is {
			name, title = name+word, title+what
		}
	}
	share := func(share float64, word, whole, part string) {
		p := math.Round(1e6*share) / 1e4
		add(p == 100, " + ", word, whole)
		add(p != 100 && p != 0, " + ", fmt.Sprintf("%s%g", word, p), fmt.Sprintf(part, p))
	}
	if c.Model != nil {
		name, title = c.Model.Info().Name, c.Model.Info().Title
	} else {
		share(c.Network, "network", "the network's covariance", "%g %% of the network's covariance")
		share(c.Pooled, "pooled", "pooled", "pooled by %g %%")
		add(name == "", "", "stl", "STL")
		add(c.Weights, " + ", "weights", "weights")
	}
	one := c.Drawn >= multitask.OneIntercept
	add(c.Bent == data.StepCurves, ", ", c.bend(), "a curve for every column")
	add(c.kernel(), ", ", c.bend(), fmt.Sprintf("%s kernel of width %g", c.Bent, c.Width))
	add(c.Ridge > 0, ", ", fmt.Sprintf("metric%g", c.Ridge), fmt.Sprintf("common metric of ridge %g", c.Ridge))
	add(one, ", ", "one-intercept", "one intercept")
	add(c.Drawn > 0 && !one, ", ", fmt.Sprintf("drawn%g", c.Drawn), fmt.Sprintf("intercepts drawn together by %g rows", c.Drawn))
	add(c.Balanced, ", ", "balanced", "classes that count the same")
	return name, title
}

// ParseCandidate returns the candidate of a name, false where it is of none.
func ParseCandidate(name string) (c Candidate, ok bool) {
	for part := range strings.SplitSeq(name, "-") {
		at := strings.IndexAny(part+"0", "0123456789.")
		number, err := strconv.ParseFloat(part[at:], 64)
		share := number / 100
		if part[at:] == "" {
			share = 1
		} else if err != nil {
			return c, false
		}
		switch what := part[:at]; what {
		case "network":
			c.Network = share
		case "pooled":
			c.Pooled = share
		case "weights":
			c.Weights = true
		case data.StepCurves, data.StepGauss, data.StepLaplace:
			c.Bent, c.Width = what, number
		case "metric":
			c.Ridge = number
		case "one":
			c.Drawn = multitask.OneIntercept
		case "drawn":
			c.Drawn = number
		case "balanced":
			c.Balanced = true
		}
	}
	return c, c.Name() == name // so that nothing is passed over
}

// omega mixes the covariance of the tasks, with what the network says and with weights where
// there are any. A task that borrows has the mean row of it, and no variance of its own.
func (x Mixture) omega(borrows []bool, network *mat.SymDense, weights *multitask.Result) *mat.SymDense {
	m := len(borrows)
	out := mat.NewSymDense(m, nil)
	others := 0.0
	for _, b := range borrows {
		if !b {
			others++
		}
	}
	for i := range m {
		for j := i; j < m; j++ {
			v, own := x.Pooled, 1-x.Network-x.Pooled
			if borrows[i] || borrows[j] {
				v += own / others
			} else if i == j {
				v += own
			}
			out.SetSym(i, j, v/float64(m))
		}
	}
	add := func(share float64, omega *mat.SymDense) {
		var part mat.SymDense
		part.ScaleSym(share, omega)
		out.AddSym(out, &part)
	}
	if x.Network > 0 {
		add(x.Network, network)
	}
	if x.Weights {
		var products mat.SymDense
		products.SymOuterK(1, weights.W.T())
		if share := inWeights / mat.Trace(&products); share <= math.MaxFloat64 { // else the weights are 0
			out.ScaleSym(1-inWeights, out)
			add(share, &products)
		}
	}
	return out
}

// kernel says that the view is one of all columns together.
func (v View) kernel() bool { return v.Bent == data.StepGauss || v.Bent == data.StepLaplace }

// seen is a problem in a view.
type seen struct {
	*data.ProblemData
	step   *data.Step // nil where columns are straight
	metric *data.Metric
}

// of brings what rows are trained on into the view.
func (v View) of(p part) (s seen, err error) {
	s.ProblemData = p.ProblemData
	switch {
	case v == View{Ridge: 1}:
		return p.moved(), nil
	case v.kernel():
		s.step, s.ProblemData, s.metric, err = data.FitKernel(v.Bent, v.Width, p.ProblemData)
		return s, err
	case v.Bent != "":
		step := data.FitCurves(p.ProblemData)
		s.step = &step
		s.ProblemData, err = step.Problem(p.ProblemData)
	}
	if err != nil {
		return s, err
	}
	switch {
	case v.Ridge > 0 && s.step == nil:
		s.metric = p.scatter().Metric(v.Ridge)
	case v.Ridge > 0:
		s.metric = data.NewMetric(s.ProblemData, v.Ridge)
	}
	s.ProblemData = s.metric.Problem(s.ProblemData)
	return s, nil
}
