package solve

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"l2mt/model/multitask"
)

// Candidate is one way to fit the tasks of a problem: a structure of the mixed model or, without
// a view, problem (1) with a covariance. The zero value is single-task learning.
type Candidate struct {
	Structure
	Mixture
	// Learned takes the rows in the metric that the network's experience has taught.
	Learned bool `json:"learned,omitempty"`
	// Ridge is the ridge of the tasks' common metric (view.Metric); 0 leaves the features as
	// they are.
	Ridge float64 `json:"ridge,omitempty"`
	// Drawn is how many rows a task's intercept is drawn by to the common one
	// (multitask.Drawn): 0 leaves it to the task, multitask.OneIntercept is one for all.
	Drawn float64 `json:"drawn,omitempty"`
	// Balanced weighs rows so that the classes of a task count the same.
	Balanced bool `json:"balanced,omitempty"`
	// Model takes the place of the mixture: a registered model, or multitask.Given.
	Model multitask.Model `json:"-"`
}

// Mixture is a covariance,
//
//	Network Omega_n + Pooled 11'/m + the rest I/m
//
// with Omega_n the covariance of the network.
type Mixture struct {
	Network float64 `json:"network,omitempty"`
	Pooled  float64 `json:"pooled,omitempty"`
}

// Name names a candidate in files and flags.
func (c Candidate) Name() string {
	name, _ := c.words()
	return name
}

// Title describes a candidate to people.
func (c Candidate) Title() string {
	_, title := c.words()
	return title
}

// words are the name and the title: the covariance with shares in percent, the view,
// and the intercepts.
func (c Candidate) words() (name, title string) {
	if c.View != "" {
		return c.Structure.Name(), c.Structure.Title()
	}
	add := func(holds bool, between, word, phrase string) {
		if !holds {
			return
		}
		if name != "" {
			name += "-"
			title += between
		}
		name += word
		title += phrase
	}
	share := func(share float64, word, whole, part string) {
		p := math.Round(1e6*share) / 1e4
		add(p == 100, " + ", word, whole)
		add(p != 100 && p != 0, " + ",
			fmt.Sprint(word, p), fmt.Sprintf(part, p))
	}
	if c.Model != nil {
		name = c.Model.Info().Name
		title = c.Model.Info().Title
	} else {
		share(c.Network, "network", "the network's covariance", "%g %% of the network's covariance")
		share(c.Pooled, "pooled", "one model for all", "by %g %% one model for all")
		add(name == "", "", "stl", "every task on its own")
	}
	add(c.Learned, ", ", "learned", "columns as experience weighs them")
	add(c.Ridge > 0, ", ", fmt.Sprint("metric", c.Ridge),
		fmt.Sprintf("columns weighed by how rows scatter (%g)", c.Ridge))
	add(c.Drawn > 0, ", ",
		fmt.Sprint("drawn", c.Drawn),
		fmt.Sprintf("intercepts that lean on %g rows of the others", c.Drawn))
	add(c.Balanced, ", ", "balanced", "classes that count the same")
	return name, title
}

// ParseCandidate returns the candidate of a name, and false where there is none.
func ParseCandidate(name string) (c Candidate, ok bool) {
	for _, s := range Structures() {
		if s.Name() == name {
			return Candidate{Structure: s}, true
		}
	}
	for part := range strings.SplitSeq(name, "-") {
		digit := strings.IndexAny(part+"0", "0123456789.")
		number, _ := strconv.ParseFloat(part[digit:], 64) // of nonsense nothing comes below
		share := number / 100
		if part[digit:] == "" {
			share = 1
		}
		switch part[:digit] {
		case "network":
			c.Network = share
		case "pooled":
			c.Pooled = share
		case "learned":
			c.Learned = true
		case "metric":
			c.Ridge = number
		case "drawn":
			c.Drawn = number
		case "balanced":
			c.Balanced = true
		}
	}
	return c, c.Name() == name
}

// omega mixes the covariance of the tasks, with the network's covariance where there is one. A task
// that borrows has its mean row, and no variance of its own.
func (x Mixture) omega(borrows []bool, network *mat.SymDense) *mat.SymDense {
	m := len(borrows)
	out := mat.NewSymDense(m, nil)
	rest := 0.0
	for _, b := range borrows {
		if !b {
			rest++
		}
	}
	for i := range m {
		for j := i; j < m; j++ {
			v := x.Pooled
			share := 1 - x.Network - x.Pooled
			if borrows[i] || borrows[j] {
				v += share / rest
			} else if i == j {
				v += share
			}
			out.SetSym(i, j, v/float64(m))
		}
	}
	if x.Network > 0 {
		var part mat.SymDense
		part.ScaleSym(x.Network, network)
		out.AddSym(out, &part)
	}
	return out
}
