package compare

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/files"
	"l2mt/infer"
	"l2mt/infer/solve"
	"l2mt/infer/solve/solvetest"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
)

// quick are options with models that take milliseconds.
func quick(t testing.TB) EvaluateOptions {
	t.Helper()
	o := EvaluateOptions{}
	for _, name := range []string{"mtrl", STL, "snr2"} {
		o.Models = append(o.Models, datatest.Must(multitask.Lookup(name))(t))
	}
	o.Labelled = o.Models[2:]
	return o
}

func twoProblems() []*data.ProblemData {
	return []*data.ProblemData{solvetest.Problem(1, "a", data.Classification, 3), solvetest.Problem(2, "b", data.Classification, 2)}
}

// easy are two problems that take little time.
func easy() []*data.ProblemData {
	p := twoProblems()
	return []*data.ProblemData{apart(p[0]), apart(p[1])}
}

func evaluate(t testing.TB, n *solve.Finder, problems []*data.ProblemData, o EvaluateOptions) []Outcome {
	t.Helper()
	return datatest.Must(Evaluate(t.Context(), named(n), problems, o))(t)
}

// Every method has its outcomes, in order, and each is what the packages give
// when they are called directly.
func TestOutcomesAreThoseOfTheModels(t *testing.T) {
	datatest.Long(t)
	n, p, o := asking(t), twoProblems()[1], quick(t)
	outcomes := evaluate(t, n, []*data.ProblemData{p}, o)
	var names []string
	for _, x := range outcomes {
		names = append(names, x.Model+"/"+string(x.Variant))
	}
	datatest.Equal(t, names, []string{"stl/", "stl/labelled", "mtrl/", "mtrl/refit", "snr2/", "snr2/labelled", "snr2/refit", "l2mt/", "l2mt/alone", "l2mt/without", "l2mt/paper"}, "outcomes")
	m := datatest.Must(multitask.Lookup("snr2"))(t)
	split := func(p *data.ProblemData) evidence.Evidence { return datatest.Must(evidence.NewSplit(p))(t) }
	tuned := datatest.Must(evidence.Tune(t.Context(), evidence.Of(m), split(p), p, evidence.Options{}))(t)
	onAll := datatest.Must(evidence.Labelled(p))(t)
	labelled := datatest.Must(evidence.Tune(t.Context(), evidence.Of(m), onAll, p, evidence.Options{}))(t)
	again := datatest.Must(evidence.Refit(t.Context(), tuned.Omega, onAll, p))(t)
	found := datatest.Must(n.Omega(p))(t)
	paper := datatest.Must(evidence.Refit(t.Context(), found, split(p), p))(t)
	for name, want := range map[string]*evidence.Tuned{
		"snr2/": tuned, "snr2/labelled": labelled, "snr2/refit": again, "l2mt/paper": paper,
		"l2mt/": chosen(t, n, p, solve.Parts{}), "l2mt/without": chosen(t, n, p, solve.Parts{NoNetwork: true}),
		"l2mt/alone": candidate(t, n, p, solve.Candidate{Ridge: 1, Mixture: solve.Mixture{Network: 1}}),
	} {
		got := outcomes[slices.Index(names, name)]
		datatest.Holds(t, slices.Equal(got.Test.Task, want.Test.Task) && cmp.Equal(got.Validation, want.Validation) && cmp.Equal(got.Omega, Entries(want.Omega)),
			"%s: %+v, want the errors %v and %v, Omega %v", name, got, want.Validation, want.Test, want.Omega)
	}
}

// named is a list of the network, if there is one.
func named(n *solve.Finder) []Network {
	if n == nil {
		return nil
	}
	return []Network{{"n", n}}
}

// chosen is the fit with what a bench of its own chooses, and candidate that with one.
func chosen(t *testing.T, n *solve.Finder, p *data.ProblemData, without solve.Parts) *evidence.Tuned {
	t.Helper()
	b := datatest.Must(solve.NewBench(n, p, solve.Options{}))(t)
	return datatest.Must(b.Fit(t.Context(), datatest.Must(b.Choose(t.Context(), without))(t)))(t).Tuned
}

func candidate(t *testing.T, n *solve.Finder, p *data.ProblemData, c solve.Candidate) *evidence.Tuned {
	t.Helper()
	b := datatest.Must(solve.NewBench(n, p, solve.Options{}))(t)
	return datatest.Must(b.Fit(t.Context(), datatest.Must(b.Take(t.Context(), c))(t)))(t).Tuned
}

// Several networks are each what they are alone, share what asks no network, and are
// compared with each other.
func TestSeveralNetworks(t *testing.T) {
	datatest.Long(t)
	a, b, o := asking(t), solve.NewFinder(solvetest.Network(t, 2, nil)), quick(t)
	o.Models, o.Labelled = o.Models[1:2], nil
	both := datatest.Must(Evaluate(t.Context(), []Network{{"a", a}, {"b", b}}, twoProblems(), o))(t)
	of := func(network string, all []Outcome) []Outcome {
		return slices.DeleteFunc(slices.Clone(all), func(x Outcome) bool { return x.Network != network || x.Model != L2MT })
	}
	onlyA, onlyB := datatest.Must(Evaluate(t.Context(), []Network{{"a", a}}, twoProblems(), o))(t), datatest.Must(Evaluate(t.Context(), []Network{{"b", b}}, twoProblems(), o))(t)
	datatest.Equal(t, of("a", both), of("a", onlyA), "a")
	datatest.Equal(t, of("b", both), of("b", onlyB), "b")
	datatest.Equal(t, of("", both), of("", onlyB), "what asks none")
	table := summarise(t, both)
	l2mt := func(network string) Row {
		return table.Rows[slices.IndexFunc(table.Rows, func(r Row) bool { return r.Network == network && r.Variant == Plain })]
	}
	datatest.Equal(t, []string{l2mt("a").Title, row(t, table, L2MT, Without).Title}, []string{"L2MT (a)", "L2MT without the network"}, "titles")
	stl := row(t, table, STL, Labelled)
	want := []Pair{{"L2MT (a)", "L2MT (b)", Against(l2mt("a").Test, l2mt("b").Test, stl.Error)}}
	d := cmp.Diff(want, table.Pairs)
	datatest.Holds(t, d == "" && want[0].Difference != 0, "pairs: %s, or the networks are one", d)
}

// Nothing that anybody chooses depends on test rows.
func TestEvaluationDoesNotLeak(t *testing.T) {
	datatest.Long(t)
	n, o := asking(t), quick(t)
	p := twoProblems()[0]
	clean := evaluate(t, n, []*data.ProblemData{p}, o)
	dirty := evaluate(t, n, []*data.ProblemData{solvetest.Poisoned(p)}, o)
	for i := range clean {
		datatest.Holds(t, clean[i].Test.Mean != dirty[i].Test.Mean,
			"%s %s: the poison does not act", clean[i].Model, clean[i].Variant)
		clean[i].Test, dirty[i].Test = evidence.Errors{}, evidence.Errors{}
	}
	datatest.Equal(t, dirty, clean, "other test rows")
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
	j := datatest.Must(OpenJournal(path))(t)
	t.Cleanup(func() { j.log.Close() })
	return j
}

func closed(t *testing.T, j *Journal) {
	t.Helper()
	datatest.Check(t, j.Close())
}

// An evaluation that is interrupted goes on where it was, and comes to the same
// outcomes as one that is not.
func TestInterruptedEvaluationGoesOn(t *testing.T) {
	datatest.Long(t)
	n, o := asking(t), quick(t)
	want := evaluate(t, n, easy(), o)
	for stop := int32(1); stop <= 7; stop += 6 {
		path := filepath.Join(t.TempDir(), "outcomes.jsonl")
		ctx, cancel := context.WithCancel(t.Context())
		s := &stopper{cancel: cancel}
		s.left.Store(stop)
		o.Journal, o.Progress, o.Workers = journal(t, path), s, 1
		if _, err := Evaluate(ctx, named(n), easy(), o); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped after %d fits: %v, want context.Canceled", stop, err)
		}
		kept := o.Journal.Len()
		closed(t, o.Journal)
		datatest.Need(t, kept != 0 && kept != len(want), "stopped after %d fits: %d outcomes are kept", stop, kept)
		c := &counter{}
		o.Journal, o.Progress, o.Workers = journal(t, path), c, 2
		datatest.Holds(t, o.Journal.Len() == kept && !o.Journal.Torn,
			"stopped after %d fits: %d outcomes come back of %d, torn %v", stop, o.Journal.Len(), kept, o.Journal.Torn)
		datatest.Equal(t, evaluate(t, n, easy(), o), want, "interrupted")
		closed(t, o.Journal)
		if total, done := c.total.Load(), c.done.Load(); total != 8-stop || done != total {
			t.Errorf("stopped after %d of 8 fits: then %d were announced and %d made", stop, total, done)
		}
		o.Journal, o.Progress = nil, nil
	}
	// More models, and more variants, can be added to a journal.
	few := o
	few.Models, few.Labelled, few.Journal = o.Models[:1], nil, journal(t, filepath.Join(t.TempDir(), "outcomes.jsonl"))
	evaluate(t, n, easy(), few)
	o.Journal = few.Journal
	datatest.Equal(t, evaluate(t, n, easy(), o), want, "grown")
}

// Lines that are no outcomes, or that were edited, are refused by their number, and left as they are.
func TestJournalRefusesOtherLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "outcomes.jsonl")
	edited := strings.Replace(string(outcome), `"mean":`, `"mean":1`, 1)
	for text, says := range map[string]string{"{\"problem\":\"p\"}\n": "line 1: ", "no JSON\n": "line 1: ", string(outcome) + "half\n" + string(outcome): "line 2: ", edited: "checksum"} {
		datatest.Check(t, os.WriteFile(path, []byte(text), 0o644))
		datatest.Refused(OpenJournal(path))(t, infer.ErrInvalid, "line ", says)
		after := datatest.Must(os.ReadFile(path))(t)
		datatest.Equal(t, string(after), text, "the file")
	}
}

func TestEvaluateRefuses(t *testing.T) {
	n, o := asking(t), quick(t)
	other := o
	other.Models = o.Models[:1]
	datatest.Refused(Evaluate(t.Context(), named(n), twoProblems(), other))(t, infer.ErrInvalid, "snr2")
	twice := []*data.ProblemData{solvetest.Problem(1, "a", data.Classification, 2), solvetest.Problem(2, "a", data.Classification, 2)}
	datatest.Refused(Evaluate(t.Context(), named(n), twice, o))(t, infer.ErrInvalid)
	lacking := twoProblems()
	lacking[1].Tasks[0].ValidationSet = data.Samples{}
	datatest.Refused(Evaluate(t.Context(), named(n), lacking, o))(t, infer.ErrInvalid, `problem "b", task "b task 0"`)
}

// A fit that fails ends the evaluation and is named.
func TestFailureIsNamed(t *testing.T) {
	problems := twoProblems()
	narrow := datatest.Must(data.NewDense(12, 1, make([]float32, 12)))(t)
	problems[0].Tasks[1].ValidationSet.X = narrow
	datatest.Refused(Evaluate(t.Context(), nil, problems, quick(t)))(t, nil, `stl on problem "a"`)
}

// outcome is a line of a journal.
var outcome = files.Seal([]byte(`{"problem":"p","model":"stl","omega":[[1]],"validation":{"task":[0],"mean":0},"test":{"task":[0],"mean":0}}`))

// Whatever the file, it is refused and left alone, or opened up to its last
// whole line.
func FuzzJournal(f *testing.F) {
	f.Add(outcome)
	f.Add(slices.Concat(outcome, outcome[:len(outcome)/2]))
	f.Add(files.Seal([]byte(`{"problem":"p","model":"l2mt"}`)))
	f.Add([]byte("\n"))
	f.Add([]byte("null\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(t.TempDir(), "outcomes.jsonl")
		datatest.Check(t, os.WriteFile(path, raw, 0o644))
		j, err := OpenJournal(path)
		want := raw
		if err == nil {
			want = raw[:bytes.LastIndexByte(raw, '\n')+1]
			datatest.Equal(t, j.Torn, len(want) < len(raw), "torn")
			closed(t, j)
		}
		got, _ := os.ReadFile(path)
		datatest.Holds(t, bytes.Equal(got, want), "%q is now %q (%v)", raw, got, err)
	})
}

func asking(t testing.TB) *solve.Finder {
	t.Helper()
	return solve.NewFinder(solvetest.Network(t, 1, nil))
}

// apart moves the labelled rows of the classes of a problem apart, so that hardly one is
// misclassified. What is chosen for it takes a tenth of the time.
func apart(p *data.ProblemData) *data.ProblemData {
	for _, t := range p.Tasks {
		for _, s := range []data.Samples{t.TrainSet, t.ValidationSet} {
			for j, y := range s.Y {
				row := s.X.Row(j).Value
				for k := range row {
					row[k] += float32(2 * y)
				}
			}
		}
	}
	return p
}
