package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/infer/compare"
	"l2mt/infer/solve"
	"l2mt/model"
	"l2mt/model/pretrained"
)

// networkReport is what the network says of a problem, and what held-out rows say to that.
type networkReport struct {
	Name string `json:"name"`
	// Expected is the error that it expects of its covariance, over STL's.
	Expected compare.Float `json:"expected_relative_error"`
	// Taken says that its covariance is part of the one fitted with.
	Taken bool `json:"taken"`
	*Unlike
}

func (r *fitReport) networkReport(b *solve.Bench, choice *solve.Choice) (*networkReport, error) {
	said, err := b.Said()
	if err != nil {
		return nil, err
	}
	n := &networkReport{Name: cmp.Or(r.network, pretrained.Name), Expected: compare.Float(said.Estimated), Taken: choice.Network > 0}
	n.Unlike, err = newUnlike(r.network, r.table.Problem)
	return n, err
}

func (r *networkReport) write(w io.Writer) {
	expected := "had no sound expectation of its covariance"
	if r.Expected > 0 {
		expected = fmt.Sprintf("expected its covariance to make %.2f of STL's error", r.Expected)
	}
	taken := "another was chosen"
	if r.Taken {
		taken = "it was chosen"
	}
	network := "the network " + r.Name
	if r.Name == pretrained.Name {
		network = "the pretrained network"
	}
	fmt.Fprintf(w, "%s %s; %s\n", network, expected, taken)
	if r.Unlike != nil {
		fmt.Fprintln(w, r.Unlike)
	}
}

// Unlike is how a problem differs from all that such a network was trained on.
type Unlike struct {
	// Problems are those of training. None has such Labels, unless empty, or a trait
	// like the Strange ones.
	Problems int             `json:"training_problems"`
	Labels   string          `json:"strange_labels,omitempty"`
	Strange  []model.Strange `json:"strange,omitempty"`
}

// newUnlike compares the training rows of a problem with what a network was trained on, which
// may not be kept beside that.
func newUnlike(network string, p *data.ProblemData) (*Unlike, error) {
	seen, err := loadSeen(network)
	if err != nil {
		return nil, run.Optional(err)
	}
	labels, strange, err := seen.Unlike(p)
	return &Unlike{seen.Problems, labels, strange}, err
}

func loadSeen(network string) (*model.Seen, error) {
	if network == "" || network == run.PretrainedNetwork {
		return pretrained.Seen()
	}
	return model.LoadSeen(network)
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
