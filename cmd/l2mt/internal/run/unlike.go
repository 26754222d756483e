package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"l2mt/data"
	"l2mt/model"
	"l2mt/model/pretrained"
)

// LoadSeen reads what the problems were like that a network was trained on which
// embeds pairs of tasks.
func LoadSeen(dir string) (*model.Seen, error) {
	if dir == "" || dir == PretrainedNetwork {
		return pretrained.Seen()
	}
	return model.LoadSeen(dir)
}

// Unlike is how a problem differs from all that such a network was trained on.
type Unlike struct {
	// Problems are those of training. None has such Labels, unless empty, or a trait
	// like the Strange ones.
	Problems int             `json:"training_problems"`
	Labels   string          `json:"strange_labels,omitempty"`
	Strange  []model.Strange `json:"strange,omitempty"`
}

// NewUnlike compares the training rows of a problem.
func NewUnlike(seen *model.Seen, p *data.ProblemData) (*Unlike, error) {
	labels, strange, err := seen.Unlike(p)
	return &Unlike{seen.Problems, labels, strange}, err
}

// String says it in a line.
func (u *Unlike) String() string {
	words := u.words()
	if words == nil {
		return fmt.Sprintf("this problem is like the %d that the network was trained on", u.Problems)
	}
	return fmt.Sprintf("the %d problems that the network was trained on were not like this one: %s", u.Problems, strings.Join(words, ", "))
}

// mostStrange bounds the traits that are printed; JSON has all.
const mostStrange = 3

// words name what is strange, the furthest first.
func (u *Unlike) words() (words []string) {
	if u.Labels != "" {
		words = append(words, u.Labels)
	}
	beyond := func(s model.Strange) float64 { return max(s.Value/s.High, s.Low/s.Value) }
	furthest := slices.SortedStableFunc(slices.Values(u.Strange), func(a, b model.Strange) int { return cmp.Compare(beyond(b), beyond(a)) })
	for _, s := range furthest[:min(len(furthest), mostStrange)] {
		words = append(words, fmt.Sprintf("%s %.4g (there %.4g to %.4g)", s.Trait, s.Value, s.Low, s.High))
	}
	if more := len(furthest) - mostStrange; more > 0 {
		words = append(words, fmt.Sprintf("and %d more (--json)", more))
	}
	return words
}
