package command

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"l2mt/cmd/l2mt/internal/run"
	"l2mt/data"
	"l2mt/infer/compare"
	"l2mt/model/multitask"
	"l2mt/model/pretrained"
)

// sharing is what learning the tasks together has brought on the rows that folds
// held out.
type sharing struct {
	// Loss is how much more the model loses there than STL, row by row.
	Loss          compare.Float `json:"loss_less_stl"`
	StandardError compare.Float `json:"standard_error"`
	// Sign is -1 where the model is better by more than noise explains, 1 where STL is.
	Sign int `json:"sign"`
}

func newSharing(best, stl *fitted, p *data.ProblemData) sharing {
	d := multitask.PairedLoss(best.CrossValidated, stl.CrossValidated, p)
	return sharing{compare.Float(d.Loss), compare.Float(d.StandardError), d.Sign()}
}

// networkReport is what the network says of a problem, and what held-out
// rows say to that.
type networkReport struct {
	Name string `json:"name"`
	// Expected is the error that it expects of its covariance, over STL's, and Held
	// the one on held-out rows.
	Expected compare.Float `json:"expected_relative_error"`
	Held     compare.Float `json:"held_out_relative_error"`
	// Taken says that its covariance is the one fitted with.
	Taken bool `json:"taken"`
	// Directed says that the fit is along the directions of its training tasks, and Signal
	// how much of the usual signal lies there.
	Directed bool          `json:"directed"`
	Signal   compare.Float `json:"signal_along_directions"`
	*run.Unlike
}

// networkReport is nil where the network was not asked.
func (f *tableFitter) networkReport(best *fitted) (*networkReport, error) {
	asked := f.done[modelL2MT]
	if asked == nil {
		return nil, nil
	}
	answer, err := asked.model.(*foundBy).ask(f.table.Problem)
	if err != nil {
		return nil, err
	}
	r := &networkReport{Name: cmp.Or(f.dir, pretrained.Name), Expected: compare.Float(answer.expected), Taken: strings.HasPrefix(best.name, modelL2MT), Directed: best.along != nil, Signal: compare.Float(math.NaN())}
	if f.along != nil {
		r.Signal = compare.Float(f.along.Signal)
	}
	r.Held = meanOf(asked.Scores).Error / meanOf(f.done[compare.STL].Scores).Error
	seen, err := run.LoadSeen(f.dir)
	if err != nil { // as networks that embed tasks have none
		return r, run.Optional(err)
	}
	r.Unlike, err = run.NewUnlike(seen, f.table.Problem)
	return r, err
}

// writeSharing says what to make of it.
func (r *tableReport) writeSharing(w io.Writer) {
	_, _, loss := units(r.Kind)
	s := r.Sharing
	switch {
	case r.Model == compare.STL && len(r.Models) > 2:
		fmt.Fprintln(w, "nothing is shared: single-task learning has the least loss on held-out rows")
	case r.Model == compare.STL:
	case math.IsNaN(float64(s.StandardError)):
		fmt.Fprintln(w, "too few rows were held out to tell whether sharing brought something")
	default:
		verdict, than := "sharing brought nothing that can be told from noise; single-task learning is as good", "lower"
		if s.Sign < 0 {
			verdict = "sharing pays"
		} else if s.Sign > 0 {
			verdict = "sharing does harm; single-task learning (--model stl) is better"
		}
		if s.Loss > 0 {
			than = "higher"
		}
		fmt.Fprintf(w, "%s: the %s of held-out rows is %.4f %s than with STL, standard error %.4f\n", verdict, loss, math.Abs(float64(s.Loss)), than, s.StandardError)
	}
	if r.Network != nil {
		r.Network.write(w)
	}
}

func (r *networkReport) write(w io.Writer) {
	expected := "had no sound expectation of its covariance"
	if r.Expected > 0 {
		expected = fmt.Sprintf("expected its covariance to make %.2f of STL's error", r.Expected)
	}
	held := "STL makes no error on held-out rows"
	if v := float64(r.Held); !math.IsNaN(v) && !math.IsInf(v, 0) {
		held = fmt.Sprintf("held-out rows say %.2f", v)
	}
	taken := "another was chosen"
	if r.Taken {
		taken = "it was chosen"
	}
	network := "the network " + r.Name
	if r.Name == pretrained.Name {
		network = "the pretrained network"
	}
	fmt.Fprintf(w, "%s %s; %s, and %s\n", network, expected, held, taken)
	if signal := float64(r.Signal); !math.IsNaN(signal) {
		directed := "which are left"
		if r.Directed {
			directed = "along which it is fitted"
		}
		fmt.Fprintf(w, "%.2f of the usual signal lies along the directions of its training tasks, %s\n", signal, directed)
	}
	if r.Unlike != nil {
		fmt.Fprintln(w, r.Unlike)
	}
}
