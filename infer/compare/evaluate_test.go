package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/infer"
	"l2mt/infer/solve"
	"l2mt/infer/solve/solvetest"
	"l2mt/model"
	"l2mt/model/multitask"
)

// quick are options with models that take milliseconds.
func quick(t testing.TB) EvaluateOptions {
	t.Helper()
	o := EvaluateOptions{Refit: true, Tune: multitask.TuneOptions{Points: 2, Lambda1: []float64{0.01, 0.1, 1}}}
	for _, name := range []string{"mtrl", STL, "snr2"} {
		m, err := multitask.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		o.Models = append(o.Models, m)
	}
	o.Labelled = o.Models[2:]
	return o
}

func twoProblems() []*data.ProblemData {
	return []*data.ProblemData{solvetest.Problem(1, "a", data.Classification, 3), solvetest.Problem(2, "b", data.Classification, 2)}
}

// evaluate returns the outcomes without their times, which differ.
func evaluate(t testing.TB, n *solve.Finder, problems []*data.ProblemData, o EvaluateOptions) []Outcome {
	t.Helper()
	outcomes, err := Evaluate(t.Context(), n, problems, o)
	if err != nil {
		t.Fatal(err)
	}
	return timeless(outcomes)
}

func timeless(outcomes []Outcome) []Outcome {
	outcomes = slices.Clone(outcomes)
	for i := range outcomes {
		outcomes[i].Seconds = 0
	}
	return outcomes
}

func same(t *testing.T, what string, got, want []Outcome) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: %s", what, d)
	}
}

// Every method has its outcomes, in order, and each is what the packages give
// when they are called directly.
func TestOutcomesAreThoseOfTheModels(t *testing.T) {
	n, problems, o := network(t), twoProblems(), quick(t)
	o.Joint = []*data.ProblemData{solvetest.Problem(3, "c", data.Classification, 3)}
	outcomes := evaluate(t, n, problems, o)
	var names []string
	for _, x := range outcomes[:len(outcomes)/2] {
		names = append(names, x.Model+"/"+string(x.Variant))
	}
	if want := []string{"stl/", "stl/labelled", "mtrl/", "mtrl/refit", "mtrl/joint", "snr2/", "snr2/labelled", "snr2/refit", "snr2/joint", "l2mt/", "l2mt/alone", "l2mt/without", "l2mt/euclidean", "l2mt/metric", "l2mt/paper"}; !slices.Equal(names, want) {
		t.Fatalf("outcomes %v, want %v", names, want)
	}
	p := problems[1]
	find := func(model string, v Variant) Outcome {
		return outcomes[slices.IndexFunc(outcomes, func(x Outcome) bool { return x.Problem == p.Name && x.Model == model && x.Variant == v })]
	}
	m, err := multitask.Lookup("snr2")
	if err != nil {
		t.Fatal(err)
	}
	tuned, err := multitask.Tune(t.Context(), m, p, o.Tune)
	if err != nil {
		t.Fatal(err)
	}
	all, first, err := multitask.Join(p, o.Joint[0])
	if err != nil {
		t.Fatal(err)
	}
	joint, err := multitask.Tune(t.Context(), m, all, o.Tune)
	if err != nil {
		t.Fatal(err)
	}
	share, err := multitask.Report(joint.Result.Share(first[0], len(p.Tasks)), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	onAll := o.Tune
	if onAll.Evidence, err = multitask.Labelled(p, multitask.EvidenceOptions{}); err != nil {
		t.Fatal(err)
	}
	labelled, err := multitask.Tune(t.Context(), m, p, onAll)
	if err != nil {
		t.Fatal(err)
	}
	again, err := multitask.Refit(t.Context(), tuned.Omega, p, onAll)
	if err != nil {
		t.Fatal(err)
	}
	plain, without := fitted(t, n, p, solve.FitOptions{Tune: o.Tune}), fitted(t, n, p, solve.FitOptions{Without: true, Tune: o.Tune})
	euclidean, metric := fitted(t, n, p, solve.FitOptions{Euclidean: true, Tune: o.Tune}), fitted(t, n, p, solve.FitOptions{Without: true, Steps: -1, Tune: o.Tune})
	found, err := n.Omega(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	paper, err := multitask.Refit(t.Context(), found.Omega, p, o.Tune)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		outcome Outcome
		want    *multitask.Tuned
	}{
		{find("snr2", Plain), tuned}, {find("snr2", Labelled), labelled}, {find("snr2", Refitted), again}, {find("snr2", Joint), share},
		{find(L2MT, Plain), plain.Tuned}, {find(L2MT, Alone), plain.Start.Tuned},
		{find(L2MT, Without), without.Tuned}, {find(L2MT, Paper), paper},
		{find(L2MT, Euclidean), euclidean.Tuned}, {find(L2MT, Metric), metric.Tuned},
	} {
		if !cmp.Equal(c.outcome.Params, c.want.Params) || !slices.Equal(c.outcome.Test.Task, c.want.Test.Task) || !slices.Equal(c.outcome.Validation.Task, c.want.Validation.Task) {
			t.Errorf("%s %s: %+v, want the errors %v and %v", c.outcome.Model, c.outcome.Variant, c.outcome, c.want.Validation, c.want.Test)
		}
		if got, want := c.outcome.Omega, Entries(c.want.Omega); !cmp.Equal(got, want) {
			t.Errorf("%s %s: Omega %v, want %v", c.outcome.Model, c.outcome.Variant, got, want)
		}
	}
	for v, want := range map[Variant]int{Plain: plain.Step, Alone: 0, Without: without.Step} {
		if got := find(L2MT, v).Step; got != want {
			t.Errorf("L2MT %s: step %d, want %d", v, got, want)
		}
	}
}

// A network with directions has two more variants: without them, and with them alone. The
// controls that have nothing of experience do not see them.
func TestOutcomesWithDirections(t *testing.T) {
	of := solvetest.Network(t, 1, nil)
	of.Directions = &model.Directions{M: mat.NewDense(solvetest.Features, 1, []float64{3, 1, 0, -1, 2})}
	n, err := solve.NewFinder(of)
	if err != nil {
		t.Fatal(err)
	}
	p, o := twoProblems()[1], quick(t)
	outcomes, plain := evaluate(t, n, []*data.ProblemData{p}, o), evaluate(t, network(t), []*data.ProblemData{p}, o)
	find := func(among []Outcome, v Variant) Outcome {
		return among[slices.IndexFunc(among, func(x Outcome) bool { return x.Model == L2MT && x.Variant == v })]
	}
	for v, f := range map[Variant]*multitask.Tuned{
		Plain:      fitted(t, n, p, solve.FitOptions{Tune: o.Tune}).Tuned,
		Undirected: fitted(t, n, p, solve.FitOptions{Undirected: true, Tune: o.Tune}).Tuned,
		Directed:   fitted(t, n, p, solve.FitOptions{Without: true, Steps: -1, Tune: o.Tune}).Tuned,
		Euclidean:  fitted(t, n, p, solve.FitOptions{Euclidean: true, Tune: o.Tune}).Tuned,
	} {
		if x := find(outcomes, v); !slices.Equal(x.Test.Task, f.Test.Task) || !cmp.Equal(x.Params, f.Params) || !cmp.Equal(x.Omega, Entries(f.Omega)) {
			t.Errorf("L2MT %s: %+v, want %+v", v, x, f)
		}
	}
	for _, v := range []Variant{Without, Metric, Paper} {
		same(t, "without directions, "+string(v), []Outcome{find(outcomes, v)}, []Outcome{find(plain, v)})
	}
	if x, y := find(outcomes, Directed), find(outcomes, Metric); slices.Equal(x.Test.Task, y.Test.Task) && slices.Equal(x.Validation.Task, y.Validation.Task) {
		t.Error("directions change nothing")
	}
}

func TestOutcomesDoNotDependOnWorkers(t *testing.T) {
	n, o := network(t), quick(t)
	want := evaluate(t, n, twoProblems(), o)
	o.Workers = 5
	same(t, "five workers", evaluate(t, n, twoProblems(), o), want)
}

// Nothing that anybody chooses depends on test rows.
func TestEvaluationDoesNotLeak(t *testing.T) {
	n, o := network(t), quick(t)
	o.Joint = []*data.ProblemData{solvetest.Problem(3, "c", data.Classification, 3)}
	clean := evaluate(t, n, twoProblems(), o)
	var others []*data.ProblemData
	for _, p := range twoProblems() {
		others = append(others, solvetest.Poisoned(p))
	}
	o.Joint = []*data.ProblemData{solvetest.Poisoned(o.Joint[0])}
	dirty := evaluate(t, n, others, o)
	for i := range clean {
		if clean[i].Test.Mean == dirty[i].Test.Mean {
			t.Errorf("%s %s: the poison does not act", clean[i].Model, clean[i].Variant)
		}
		clean[i].Test, dirty[i].Test = multitask.Errors{}, multitask.Errors{}
	}
	same(t, "other test rows", dirty, clean)
}

// stopper cancels after some advances.
type stopper struct {
	left   atomic.Int32
	cancel func()
}

func (s *stopper) Start(string, int) {}
func (s *stopper) Finish()           {}
func (s *stopper) Advance(int, string) {
	if s.left.Add(-1) == 0 {
		s.cancel()
	}
}

// counter counts the advances.
type counter struct {
	stopper
	total, done atomic.Int32
}

func (c *counter) Start(_ string, total int) { c.total.Store(int32(total)) }
func (c *counter) Advance(n int, _ string)   { c.done.Add(int32(n)) }

func journal(t *testing.T, path string) *Journal {
	t.Helper()
	j, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.log.Close() })
	return j
}

func closed(t *testing.T, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// An evaluation that is interrupted goes on where it was, and comes to the same
// outcomes as one that is not.
func TestInterruptedEvaluationGoesOn(t *testing.T) {
	n, o := network(t), quick(t)
	want := evaluate(t, n, twoProblems(), o)
	for stop := int32(1); stop <= 7; stop += 3 {
		path := filepath.Join(t.TempDir(), "outcomes.jsonl")
		ctx, cancel := context.WithCancel(t.Context())
		s := &stopper{cancel: cancel}
		s.left.Store(stop)
		o.Journal, o.Progress, o.Workers = journal(t, path), s, 1
		if _, err := Evaluate(ctx, n, twoProblems(), o); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped after %d fits: %v, want context.Canceled", stop, err)
		}
		kept := o.Journal.Len()
		closed(t, o.Journal)
		if kept == 0 || kept == len(want) {
			t.Fatalf("stopped after %d fits: %d outcomes are kept", stop, kept)
		}
		c := &counter{}
		o.Journal, o.Progress, o.Workers = journal(t, path), c, 2
		if o.Journal.Len() != kept || o.Journal.Torn() {
			t.Errorf("stopped after %d fits: %d outcomes come back of %d, torn %v", stop, o.Journal.Len(), kept, o.Journal.Torn())
		}
		same(t, "interrupted", evaluate(t, n, twoProblems(), o), want)
		closed(t, o.Journal)
		if total, done := c.total.Load(), c.done.Load(); total != 8-stop || done != total {
			t.Errorf("stopped after %d of 8 fits: then %d were announced and %d made", stop, total, done)
		}
		o.Journal, o.Progress = nil, nil
	}
}

func TestJournalRefusesOtherLines(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"{\"problem\":\"p\"}\n", "no JSON\n", "{\"problem\":\"p\",\"model\":\"m\"}\nhalf\n{\"problem\":\"p\",\"model\":\"n\"}\n"} {
		path := filepath.Join(dir, "outcomes.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := OpenJournal(path)
		if !errors.Is(err, infer.ErrInvalid) || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v", text, err)
		}
		if after, _ := os.ReadFile(path); string(after) != text {
			t.Errorf("%q is now %q", text, after)
		}
	}
}

// More models, and more variants, can be added to a journal.
func TestJournalGrows(t *testing.T) {
	n, o := network(t), quick(t)
	want := evaluate(t, n, twoProblems(), o)
	path := filepath.Join(t.TempDir(), "outcomes.jsonl")
	few := o
	few.Models, few.Refit, few.Labelled = o.Models[:1], false, nil
	few.Journal = journal(t, path)
	evaluate(t, n, twoProblems(), few)
	o.Journal = few.Journal
	same(t, "grown", evaluate(t, n, twoProblems(), o), want)
}

func TestEvaluateRefuses(t *testing.T) {
	n, o := network(t), quick(t)
	other := o
	other.Models = o.Models[:1]
	if _, err := Evaluate(t.Context(), n, twoProblems(), other); !errors.Is(err, infer.ErrInvalid) || !strings.Contains(err.Error(), "snr2") {
		t.Errorf("a labelled model that is not compared with: %v", err)
	}
	twice := []*data.ProblemData{solvetest.Problem(1, "a", data.Classification, 2), solvetest.Problem(2, "a", data.Classification, 2)}
	if _, err := Evaluate(t.Context(), n, twice, o); !errors.Is(err, infer.ErrInvalid) {
		t.Errorf("two problems of one name: %v", err)
	}
	lacking := twoProblems()
	lacking[1].Tasks[0].ValidationSet = data.Samples{}
	if _, err := Evaluate(t.Context(), n, lacking, o); !errors.Is(err, infer.ErrInvalid) || !strings.Contains(err.Error(), `problem "b", task "b task 0"`) {
		t.Errorf("no validation rows: %v", err)
	}
	o.Joint = lacking[1:]
	if _, err := Evaluate(t.Context(), n, twoProblems()[:1], o); !errors.Is(err, infer.ErrInvalid) {
		t.Errorf("no validation rows in the joint problems: %v", err)
	}
}

// A fit that fails ends the evaluation and is named.
func TestFailureIsNamed(t *testing.T) {
	o := quick(t)
	o.Tune.Lambda1 = []float64{-1}
	_, err := Evaluate(t.Context(), nil, twoProblems(), o)
	if err == nil || !strings.Contains(err.Error(), `stl on problem "a"`) {
		t.Errorf("%v", err)
	}
}

func TestFloatInJSON(t *testing.T) {
	for _, c := range []struct {
		value float64
		text  string
	}{{0.25, "0.25"}, {math.NaN(), "null"}, {math.Inf(1), `"+Inf"`}, {math.Inf(-1), `"-Inf"`}, {1e-300, "1e-300"}} {
		raw, err := json.Marshal(Float(c.value))
		if err != nil || string(raw) != c.text {
			t.Errorf("%v is written %s, %v", c.value, raw, err)
		}
		var back Float
		if err := json.Unmarshal(raw, &back); err != nil || math.Float64bits(float64(back)) != math.Float64bits(c.value) && !math.IsNaN(c.value) {
			t.Errorf("%s is read %v, %v", raw, back, err)
		}
		if math.IsNaN(c.value) && !math.IsNaN(float64(back)) {
			t.Errorf("null is read %v", back)
		}
	}
	if err := json.Unmarshal([]byte(`"much"`), new(Float)); err == nil {
		t.Error("a word is read as a number")
	}
}

// Whatever the file, it is refused and left alone, or opened up to its last
// whole line.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"problem":"p","model":"stl","params":{"lambda1":1},"omega":[[1]],"validation":{"task":[0],"mean":0},"test":{"task":[0],"mean":0},"seconds":1}` + "\n"))
	f.Add([]byte(`{"problem":"p","model":"l2mt","step":3}` + "\n" + `{"problem":"p"`))
	f.Add([]byte("\n"))
	f.Add([]byte("null\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(t.TempDir(), "outcomes.jsonl")
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		j, err := OpenJournal(path)
		want := raw
		if err == nil {
			want = raw[:bytes.LastIndexByte(raw, '\n')+1]
			if j.Torn() != (len(want) < len(raw)) {
				t.Errorf("torn %v", j.Torn())
			}
			closed(t, j)
		}
		if got, _ := os.ReadFile(path); !bytes.Equal(got, want) {
			t.Errorf("%q is now %q (%v)", raw, got, err)
		}
	})
}

// Every model has the features that a network's head makes.
func TestModelsHaveTheFeaturesOfTheHead(t *testing.T) {
	a, b := solvetest.Headed(t)
	with, err1 := solve.NewFinder(a)
	without, err2 := solve.NewFinder(b)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	problems := twoProblems()
	made, err := with.FeaturesOf(problems)
	if err != nil {
		t.Fatal(err)
	}
	o := quick(t)
	want := o
	o.Joint, want.Joint = problems[1:], made[1:]
	same(t, "outcomes", evaluate(t, with, problems[:1], o), evaluate(t, without, made[:1], want))
	raw := evaluate(t, nil, problems[:1], o)
	if slices.Equal(raw[0].Test.Task, evaluate(t, with, problems[:1], o)[0].Test.Task) {
		t.Error("single-task learning does not see the features of the head")
	}
}

func network(t testing.TB) *solve.Finder {
	t.Helper()
	n, err := solve.NewFinder(solvetest.Network(t, 1, nil))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func fitted(t *testing.T, n *solve.Finder, p *data.ProblemData, o solve.FitOptions) *solve.Fitted {
	t.Helper()
	f, err := n.Fit(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
