package command

import (
	"cmp"
	"fmt"
	"io"

	"l2mt/infer/compare"
	"l2mt/infer/solve"
	"l2mt/model/pretrained"
)

// networkReport is what the network says of a problem, and what held-out rows say to that.
type networkReport struct {
	Name string `json:"name"`
	// Expected is the error that it expects of its covariance, over STL's.
	Expected compare.Float `json:"expected_relative_error"`
	// Taken says that its covariance is part of the one fitted with.
	Taken bool `json:"taken"`
}

func (r *fitReport) networkReport(b *solve.Bench, choice *solve.Choice) (*networkReport, error) {
	said, err := b.Said()
	if err != nil {
		return nil, err
	}
	return &networkReport{Name: cmp.Or(r.network, pretrained.Name), Expected: compare.Float(said.Estimated), Taken: choice.Network > 0}, nil
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
}
