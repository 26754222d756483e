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
	// Directed says that W is expected along the directions of the training tasks too.
	Directed bool `json:"directed,omitempty"`
}

// Mixture is a covariance,
//
//	Network Omega_n + Pooled 11'/m + Weights W'W / tr(W'W) + the rest I/m
//
// with Omega_n what the network says, and W the weights that are fitted with the same
// mixture without Weights. From many rows these say more of how the tasks relate than
// the network, which has few numbers for a pair of tasks, and from few rows next to
// nothing.
type Mixture struct {
	Network float64 `json:"network,omitempty"`
	Pooled  float64 `json:"pooled,omitempty"`
	Weights float64 `json:"weights,omitempty"`
}

// inWeights is the share of the weights' own covariance, where they have one.
const inWeights = 0.6

// weighed is a candidate with the covariance of the weights that are fitted with it.
func (c Candidate) weighed() Candidate {
	c.Network, c.Pooled, c.Weights = (1-inWeights)*c.Network, (1-inWeights)*c.Pooled, inWeights
	return c
}

// unweighed is what weighed was made of.
func (c Candidate) unweighed() Candidate {
	rest := 1 - c.Weights
	c.Network, c.Pooled, c.Weights = c.Network/rest, c.Pooled/rest, 0
	return c
}

// seen is a candidate with another view of the features.
func (c Candidate) seen(v View) Candidate {
	c.View = v
	return c
}

// Name is what a candidate is called in files and flags.
func (c Candidate) Name() string {
	name, _ := c.named()
	if c.Bent != "" {
		name += "-" + c.bend()
	}
	if c.Ridge > 0 {
		name += fmt.Sprintf("-metric%g", c.Ridge)
	}
	if c.Directed {
		name += "-directed"
	}
	switch {
	case c.Drawn >= multitask.OneIntercept:
		name += "-" + oneIntercept
	case c.Drawn > 0:
		name += fmt.Sprintf("-drawn%g", c.Drawn)
	}
	if c.Balanced {
		name += "-balanced"
	}
	return name
}

// ParseCandidate returns the candidate of a name, false where it is of none.
func ParseCandidate(name string) (c Candidate, ok bool) {
	for _, part := range strings.Split(strings.Replace(name, "-"+oneIntercept, "", 1), "-") {
		at := strings.IndexAny(part+"0", "0123456789.")
		number, err := strconv.ParseFloat(part[at:], 64)
		share := number / 100
		if given := part[at:] != ""; !given {
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
			if c.Weights = share; share == 1 {
				c.Weights = inWeights
			}
		case data.StepCurves, data.StepGauss, data.StepLaplace:
			c.Bent, c.Width = what, number
		case "metric":
			c.Ridge = number
		case "directed":
			c.Directed = true
		case "drawn":
			c.Drawn = number
		case "balanced":
			c.Balanced = true
		}
	}
	if strings.Contains(name, "-"+oneIntercept) {
		c.Drawn = multitask.OneIntercept
	}
	c.Network, c.Pooled = (1-c.Weights)*c.Network, (1-c.Weights)*c.Pooled
	return c, c.Name() == name // so that nothing is passed over
}

const oneIntercept = "one-intercept"

// Title says what a candidate is.
func (c Candidate) Title() string {
	title := c.Covariance()
	switch c.Bent {
	case "":
	case data.StepCurves:
		title += ", a curve for every column"
	default:
		title += fmt.Sprintf(", %s kernel of width %g", c.Bent, c.Width)
	}
	if c.Ridge > 0 {
		title += fmt.Sprintf(", common metric of ridge %g", c.Ridge)
	}
	if c.Directed {
		title += ", directions of the training tasks"
	}
	switch {
	case c.Drawn >= multitask.OneIntercept:
		title += ", one intercept"
	case c.Drawn > 0:
		title += fmt.Sprintf(", intercepts drawn together by %g rows", c.Drawn)
	}
	if c.Balanced {
		title += ", classes that count the same"
	}
	return title
}

// Covariance says where that of a candidate comes from.
func (c Candidate) Covariance() string {
	_, title := c.named()
	return title
}

// named are the name and the title of the covariance: its parts without the weights, in
// percent, and these.
func (c Candidate) named() (name, title string) {
	if c.Model != nil {
		return c.Model.Info().Name, c.Model.Info().Title
	}
	percent := func(share float64) float64 { return math.Round(1e6*share) / 1e4 }
	var names, titles []string
	add := func(share float64, name, whole, part string) {
		switch p := percent(share); {
		case p == 100:
			names, titles = append(names, name), append(titles, whole)
		case p != 0:
			names, titles = append(names, fmt.Sprintf("%s%g", name, p)), append(titles, fmt.Sprintf(part, p))
		}
	}
	base := c.unweighed()
	add(base.Network, "network", "the network's covariance", "%g %% of the network's covariance")
	add(base.Pooled, "pooled", "pooled", "pooled by %g %%")
	if names == nil {
		names, titles = []string{"stl"}, []string{"STL"}
	}
	if c.Weights == inWeights {
		names, titles = append(names, "weights"), append(titles, "weights")
	} else {
		add(c.Weights, "weights", "weights", "%g %% of weights")
	}
	return strings.Join(names, "-"), strings.Join(titles, " + ")
}

// omega mixes a covariance of m tasks from what the network says and from weights.
func (x Mixture) omega(m int, said *mat.SymDense, weights *multitask.Result) *mat.SymDense {
	out, rest := mat.NewSymDense(m, nil), 1-x.Network-x.Pooled
	add := func(share float64, omega *mat.SymDense) {
		var part mat.SymDense
		part.ScaleSym(share, omega)
		out.AddSym(out, &part)
	}
	if x.Weights > 0 {
		var products mat.SymDense
		products.SymOuterK(1, weights.W.T())
		if share := x.Weights / mat.Trace(&products); share <= math.MaxFloat64 { // else the weights are 0
			add(share, &products)
			rest -= x.Weights
		}
	}
	if x.Network > 0 {
		add(x.Network, said)
	}
	for i := range m {
		for j := i; j < m; j++ {
			v := x.Pooled
			if i == j {
				v += rest
			}
			out.SetSym(i, j, out.At(i, j)+v/float64(m))
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

// of brings a problem into the view. The metric of ridge 1 for straight columns and
// the distances of all rows are at hand.
func (v View) of(p *data.ProblemData, first func() *data.Metric, near func() *data.Distances, directions *mat.Dense) (s seen, err error) {
	s.ProblemData = p
	switch {
	case v.kernel():
		s.step, s.ProblemData, s.metric, err = near().Kernel(v.Bent, v.Width, p)
	case v.Bent != "":
		step := data.FitCurves(p)
		s.step = &step
		s.ProblemData, err = step.Problem(p)
	}
	if err != nil {
		return s, err
	}
	switch {
	case v.Ridge == 1 && s.step == nil:
		s.metric = first()
	case v.Ridge > 0:
		s.metric = data.NewMetric(s.ProblemData, v.Ridge)
	}
	if v.Directed {
		s.metric = s.metric.Along(p, directions)
	}
	s.ProblemData = s.metric.Problem(s.ProblemData)
	return s, nil
}
