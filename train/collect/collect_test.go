package collect_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/experience"
	"l2mt/data/view"
	"l2mt/model/evidence"
	"l2mt/model/multitask"
	"l2mt/train/collect"
)

func TestEveryPlannedTupleIsRecordedOnce(t *testing.T) {
	problems, ref := sample(t, 3)
	dir := storeDir(t)
	heard := &reporter{advance: func(int) {}}
	c := open(t, dir, small, ref)
	s, err := c.Run(t.Context(), problems, collect.Options{Workers: 2, Progress: heard})
	datatest.Check(t, errors.Join(err, c.Close()))
	datatest.Equal(t, s, (collect.Summary{Made: 3 * smallTuples}), "summary")
	datatest.Holds(t, heard.total == 3*smallTuples && heard.done.Load() == 3*smallTuples,
		"progress of %d out of %d; want all of %d", heard.done.Load(), heard.total, 3*smallTuples)
	var want, got []string
	for _, p := range problems {
		for _, tuple := range []string{
			"stl 0", "mtrl 0", "mtrl 1", "snr2 0", "snr2 1",
			"explore/rank-one 0", "explore/rank-one 1", "explore/low-rank 0", "explore/wishart 0", "explore/ridge 0",
		} {
			want = append(want, p.Name+" "+tuple)
		}
	}
	drawn := map[string]string{}
	for _, r := range load(t, dir) {
		tuple := fmt.Sprintf("%s %s %d", r.Problem, r.Source, r.Draw)
		got = append(got, tuple)
		what := fmt.Sprint(r.Source, r.Hyper) // problems of unit rows have one grid of Lambda1
		switch {
		case r.Source == experience.STL || r.Source == "explore/rank-one":
			continue // they may be alike
		case r.Hyper == nil:
			what = fmt.Sprint(r.Omega)
		}
		twin, ok := drawn[what]
		datatest.Holds(t, !ok, "%s and %s draw the same", twin, tuple)
		drawn[what] = tuple
	}
	slices.Sort(want)
	slices.Sort(got)
	datatest.Equal(t, got, want, "values")

	again := run(t, dir, small, problems, ref, 2)
	datatest.Equal(t, again, (collect.Summary{Had: 3 * smallTuples}), "the second run")
}

// The records must not depend on how the work was divided.
func TestSameTuplesForAnyDivisionOfTheWork(t *testing.T) {
	problems, ref := sample(t, 3)
	whole := storeDir(t)
	run(t, whole, small, problems, ref, 1)
	want := merged(t, whole)

	for _, workers := range []int{2, 7} {
		dir := storeDir(t)
		run(t, dir, small, problems, ref, workers)
		datatest.Equal(t, merged(t, dir), want, "%d workers", workers)
	}
	for _, n := range []int{2, 4} { // one more than there are problems
		var parts []string
		together := storeDir(t)
		for i := range n {
			c := small
			c.Shard, c.Shards = i, n
			dir := storeDir(t)
			run(t, dir, c, problems, ref, 2)
			run(t, together, c, problems, ref, 2)
			parts = append(parts, dir)
		}
		data.Stream(uint64(n), "order").Shuffle(n, func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		datatest.Equal(t, merged(t, parts...), want, "%d shards in stores of their own", n)
		datatest.Equal(t, merged(t, together), want, "%d shards in one store", n)
	}
}

func TestTuplesInMemoryAreTheSameForAnyWorkers(t *testing.T) {
	problems, _ := sample(t, 1)
	one, err1 := collect.Tuples(t.Context(), problems, small, collect.Options{Workers: 1})
	three, err3 := collect.Tuples(t.Context(), problems, small, collect.Options{Workers: 3})
	if err := errors.Join(err1, err3); err != nil || !reflect.DeepEqual(one, three) || len(one[0]) != smallTuples {
		t.Errorf("by one worker %v, by three %v (%v)", one, three, err)
	}
}

// Interrupted runs finish what is at hand, lose nothing, and go on without
// repeating anything; shards of the rest may be divided anew.
func TestInterruptedAndResumed(t *testing.T) {
	problems, ref := sample(t, 3)
	whole := storeDir(t)
	run(t, whole, small, problems, ref, 2)
	want := merged(t, whole)

	dir := storeDir(t)
	total := 0
	for round := 0; total < 3*smallTuples; round++ {
		ctx, cancel := context.WithCancel(t.Context())
		stop := &reporter{advance: func(done int) {
			if done == 1+round%4 {
				cancel()
			}
		}}
		workers := 1 + round%3
		c := open(t, dir, small, ref)
		s, err := c.Run(ctx, problems, collect.Options{Workers: workers, Progress: stop})
		cancel()
		datatest.Check(t, c.Close())
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		datatest.Equal(t, s.Had, total, "round %d: tuples it had", round)
		// Beside those asked for, those at hand, and one that was just being taken.
		most := 1 + round%4 + workers
		datatest.Holds(t, s.Made != 0 && s.Made <= most, "round %d: made %d tuples, want 1..%d", round, s.Made, most)
		total += s.Made
		records := len(load(t, dir))
		datatest.Need(t, records == total, "round %d: %d records, want %d", round, records, total)
		datatest.Holds(t, s.Made >= stop.total || err != nil,
			"round %d: no error, though %d tuples of %d were made", round, s.Made, stop.total)
	}
	datatest.Equal(t, merged(t, dir), want, "values")
}

// An interruption ends the run with its error also where the store has the last problems whole.
func TestInterruptedBeforeProblemsThatAreDone(t *testing.T) {
	problems, ref := sample(t, 3)
	dir := storeDir(t)
	run(t, dir, small, problems[2:], ref, 2)
	ctx, cancel := context.WithCancel(t.Context())
	c := open(t, dir, small, ref)
	s, err := c.Run(ctx, problems, collect.Options{Workers: 1, Progress: &reporter{advance: func(int) { cancel() }}})
	datatest.Holds(t, errors.Is(err, context.Canceled) && s.Had == smallTuples && s.Made != 0 && s.Made <= 2,
		"%+v, %v", s, err)
	datatest.Check(t, c.Close())
}

// What grows with the tuples is what the writer knows of each of them: its id. With
// L2MT_LONG in the environment there are 10,000 tuples. There is one worker: what another holds
// while it is at work comes and goes, up to half a megabyte.
func TestMemoryStaysFlatOverManyTuples(t *testing.T) {
	datatest.Long(t)
	n := 25
	if os.Getenv("L2MT_LONG") != "" {
		n = 1000
	}
	problems, ref := sample(t, n)
	type use struct {
		heap       uint64
		goroutines int
	}
	var uses []use // after every tenth of the tuples
	watch := &reporter{advance: func(done int) {
		if done%n != 0 {
			return
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		uses = append(uses, use{m.HeapAlloc, runtime.NumGoroutine()})
	}}
	c := open(t, storeDir(t), small, ref)
	_, err := c.Run(t.Context(), problems, collect.Options{Workers: 1, Progress: watch})
	datatest.Check(t, errors.Join(err, c.Close()))
	first, last := uses[1], uses[len(uses)-2] // the worker is at work
	t.Logf("from tuple %d to tuple %d: %d kB and %d goroutines, %d kB and %d goroutines", 2*n, 9*n, first.heap>>10, first.goroutines, last.heap>>10, last.goroutines)
	if room := uint64(128<<10 + 7*n*256); last.heap > first.heap+room {
		t.Errorf("the heap grows from %d to %d bytes over %d tuples", first.heap, last.heap, 7*n)
	}
	if last.goroutines > first.goroutines+2 { // a tuple's own may be at work
		t.Errorf("%d goroutines become %d", first.goroutines, last.goroutines)
	}
}

// A run that is stopped while tuples wait for single-task learning must end.
func TestNoTupleWaitsForever(t *testing.T) {
	problems, ref := sample(t, 2)
	c := collect.Config{Models: []string{}, Explore: 3, Measured: collect.OfRefit}
	for round := range 30 {
		dir := filepath.Join(t.TempDir(), "store")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(round)*200*time.Microsecond, cancel)
		collector := open(t, dir, c, ref)
		_, err := collector.Run(ctx, problems, collect.Options{Workers: 8})
		cancel()
		datatest.Check(t, errors.Join(collector.Close()))
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
}

func TestStoreThatFailsEndsTheRun(t *testing.T) {
	problems, ref := sample(t, 3)
	c := open(t, storeDir(t), small, ref)
	datatest.Check(t, c.Close())
	s, err := c.Run(t.Context(), problems, collect.Options{Workers: 3})
	datatest.Holds(t, errors.Is(err, os.ErrClosed) && s.Made == 0, "%+v, %v", s, err)
}

// A store grows by what is asked for beyond what it has.
func TestLargerCollectionAddsWhatIsNew(t *testing.T) {
	datatest.Long(t)
	problems, ref := sample(t, 2)
	dir := storeDir(t)
	run(t, dir, collect.Config{Models: []string{"mtrl"}, Draws: 1, Measured: collect.OfRefit, Seed: 3}, problems[:1], ref, 1)
	s := run(t, dir, small, problems, ref, 1)
	datatest.Equal(t, s, (collect.Summary{Made: 2*smallTuples - 2, Had: 2}), "summary")
	whole := storeDir(t)
	run(t, whole, small, problems, ref, 1)
	datatest.Equal(t, merged(t, dir), merged(t, whole), "values")
}

func TestUnusableProblemsAreFoundBeforeTheFirstFit(t *testing.T) {
	problems, ref := sample(t, 4)
	spoil := func(i int, change func(*data.TaskData)) {
		tasks := slices.Clone(problems[i].Tasks)
		change(&tasks[1])
		problems[i] = &data.ProblemData{Problem: problems[i].Problem, Tasks: tasks}
	}
	spoil(1, func(t *data.TaskData) { t.ValidationSet = data.Samples{} })
	spoil(2, func(t *data.TaskData) { t.TestSet = data.Samples{} })
	problems = append(problems, problems[0])
	dir := storeDir(t)
	c := open(t, dir, small, ref)
	defer c.Close()
	s, err := c.Run(t.Context(), problems, collect.Options{})
	datatest.Need(t, err != nil && s.Made == 0 && len(load(t, dir)) == 0,
		"%+v, %v", s, err)
	for _, says := range []string{
		fmt.Sprintf("problem %q: task %q, field \"validation\": ", problems[1].Name, problems[1].Tasks[1].Name),
		fmt.Sprintf("problem %q: task %q, field \"test\": ", problems[2].Name, problems[2].Tasks[1].Name),
		fmt.Sprintf("problems %q and %[1]q are the same", problems[0].Name),
	} {
		datatest.Says(t, err, nil, says)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		c    collect.Config
		says string
	}{
		{collect.Config{Measured: collect.OfModel, Models: []string{"nonsense"}}, `model "nonsense"`},
		{collect.Config{Measured: collect.OfModel, Models: []string{"mtrl", "MTRL"}}, `model "mtrl" is named twice`},
		{collect.Config{Measured: "gold"}, `o is of "gold"`},
	} {
		datatest.Says(t, c.c.Validate(), collect.ErrConfig, c.says)
	}
	problems, _ := sample(t, 1)
	tuples, err := collect.Tuples(t.Context(), problems, collect.Config{Draws: 1, Measured: collect.OfRefit}, collect.Options{})
	datatest.Holds(t, err == nil && len(tuples[0]) == 10,
		"%d tuples by default, %v; want one of each of the paper's ten models", len(tuples[0]), err)
}

// Errors are those of fits on all labelled rows.
func TestFitsOnAllLabelledRows(t *testing.T) {
	datatest.Long(t)
	problems, ref := sample(t, 2)
	byName := map[string]*data.ProblemData{}
	for _, p := range problems {
		byName[p.Name] = p.Labelled()
	}
	c := collect.Config{Models: []string{"stl"}, Explore: 2, Near: 3, Measured: collect.OfLabelled, Seed: 4}
	dir := storeDir(t)
	s := run(t, dir, c, problems, ref, 2)
	datatest.Holds(t, s == (collect.Summary{Made: 2 * 6}), "%+v", s)
	near := map[float64]bool{}
	for _, r := range load(t, dir) {
		p := byName[r.Problem]
		if strings.HasPrefix(r.Source, "near/") {
			near[r.Omega[0][1]] = true
		}
		p = view.InMetric(p) // fits on all labelled rows are
		train := datatest.Must(multitask.Training(p))(t)
		test := datatest.Must(evidence.NewSplit(p.Tested()))(t)
		omega := mat.NewSymDense(len(r.Omega), slices.Concat(r.Omega...))
		fit := datatest.Must(multitask.FitFixed(t.Context(), omega, train, r.Result.Lambda1, multitask.Options{Tolerance: 1e-12}))(t)
		held := test.Measure(fit)
		datatest.Near(t, held.Error, r.Result.MeanTest(), 1e-3, "%s on %s: the error is recorded as", r.Source, r.Problem)
		if r.Source == experience.STL {
			var scores []data.Samples
			for _, k := range p.Tasks {
				scores = append(scores, k.TestSet)
			}
			e, err := evidence.Evaluate(fit, p.Kind(), scores, nil)
			datatest.Holds(t, err == nil && cmp.Diff(e.Task, r.Result.Test) == "",
				"single-task learning makes the errors %v, recorded are %v (%v)", e.Task, r.Result.Test, err)
		}
	}
	datatest.Holds(t, len(near) >= 5,
		"the 6 covariances near those made by hand have %d different entries (0, 1)", len(near))
}

// With all labelled rows trained on, problems without validation rows will do.
func TestLabelledNeedsNoValidationRows(t *testing.T) {
	problems, ref := sample(t, 1)
	for i := range problems[0].Tasks {
		k := &problems[0].Tasks[i]
		task := *k.Task
		task.Validation = nil
		k.Task, k.ValidationSet = &task, data.Samples{}
	}
	c := collect.Config{Models: []string{"stl"}, Explore: 1, Measured: collect.OfLabelled}
	s := run(t, storeDir(t), c, problems, ref, 1)
	datatest.Holds(t, s == (collect.Summary{Made: 2}), "%+v", s)
}
