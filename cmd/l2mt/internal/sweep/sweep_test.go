package sweep

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/data/progress"
	"l2mt/infer/compare"
)

func TestShippedExperimentsAreSoundAndSayWhatTheyAre(t *testing.T) {
	want := []string{"casestudy", "curve", "fig2", "fig3-hidden", "fig3-k", "fig3-lambda", "fig3-q", "fig3-s", "finetune", "functions"}
	if got := Names(); !slices.Equal(got, want) {
		t.Fatalf("the shipped experiments are %q, want %q", got, want)
	}
	d, err := digits.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range want {
		x, err := Read(name) // checks the settings of every point
		if err != nil {
			t.Error(err)
			continue
		}
		if x.About == "" || x.Title == name || len(x.Title) > plot.LongestTitle {
			t.Errorf("%s has no about, or its title %q is none or too long", name, x.Title)
		}
		if x.Dataset != digits.Name {
			t.Errorf("%s is on %s, not on the digits", name, x.Dataset)
		}
		for _, at := range x.points() {
			r, err := x.setup(at, 1)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if _, _, err := data.SampleProblems(d, r.sampling); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if r.first > r.sampling.Train {
				t.Errorf("%s: the first %d of %d problems", name, r.first, r.sampling.Train)
			}
		}
	}
}

// planned is the plan of the only point of an experiment.
func planned(t *testing.T, text string) *plan {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.toml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	x, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSweep(x, Options{Store: "store", Workers: 1, Progress: progress.Silent(), Remark: unheard})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.setup(x.points()[0], x.Seeds[0])
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.plan(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFoldersAreNamedByWhatDeterminesThem(t *testing.T) {
	paths := func(p *plan) []string {
		return []string{p.problems.path, p.experience.path, p.network.path, p.baselines.path, p.evaluation.path}
	}
	base := paths(planned(t, ""))
	for _, c := range []struct {
		text string
		same [5]bool // problems, experience, network, baselines, evaluation
	}{
		{"title = \"another\"\n[compare]\nshow = [\"l2mt\"]", [5]bool{true, true, true, true, true}},
		{"[train]\npreset = \"default\"\n[problems]\ntrain = 100\nmin_tasks = 4\n[experience]\nexplore = 8", [5]bool{true, true, true, true, true}},
		{"[compare]\nmodels = [\"snr2\"]", [5]bool{true, true, true, true, true}},
		{"[compare]\npoints = 3", [5]bool{true, true, true, false, true}},
		{"[model]\nhidden = 7", [5]bool{true, true, false, true, false}},
		{"[train]\nfirst = 7", [5]bool{true, true, false, true, false}},
		{"[experience]\nexplore = 3", [5]bool{true, false, false, true, false}},
		{"[problems]\ntrain = 7", [5]bool{}},
		{"seeds = [2]", [5]bool{}},
		{"seeds = [2]\n[problems]\nseed = 1", [5]bool{true, false, false, true, false}},
		{"[case]\nshared = \"8\"\nclasses = [\"1\"]", [5]bool{}},
	} {
		for i, path := range paths(planned(t, c.text)) {
			if (path == base[i]) != c.same[i] {
				t.Errorf("with %q: %s, without: %s; the same: want %v", c.text, path, base[i], c.same[i])
			}
		}
	}
}

// Directions of rows that test problems share would know test rows, unless they are asked
// for in so many words.
func TestDirectionsTakeRowsOfTheirOwn(t *testing.T) {
	for text, want := range map[string]int{
		"":                                    -1,
		"[train]\npreset = \"pairwise\"":      -1,
		"[train]\ndirections = 7":             7,
		"[problems]\ndisjoint_classes = true": 50,
		"[problems]\ndisjoint_rows = true\ntrain_fraction = 0.1\nvalidation_fraction = 0.1": 50,
	} {
		x, err := parse("x", text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := x.setup(x.points()[0], 1)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := s.config(64); err != nil || c.Directions != want {
			t.Errorf("with %q there are %d directions at most (%v), want %d", text, c.Directions, err, want)
		}
	}
}

func TestModelsToCompareWithHaveMarksOfTheirOwn(t *testing.T) {
	a, b := planned(t, "[compare]\nmodels = [\"snr2\"]"), planned(t, "[compare]\nmodels = [\"snr2\", \"mtrl\"]")
	if a.baselines.mark == b.baselines.mark {
		t.Error("outcomes of one model pass for those of two")
	}
}

// The SHA-256 of {} is well known.
func TestHashIsThatOfTheJSON(t *testing.T) {
	if got := hashOf(struct{}{}); !strings.HasPrefix("44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", got) {
		t.Error(got)
	}
}

func TestCaseStudyIsNotInTheTrainingProblems(t *testing.T) {
	d, err := digits.Load()
	if err != nil {
		t.Fatal(err)
	}
	s := &caseStudy{Shared: "8", Classes: []string{"3", "5", "0"}}
	c := data.SampleConfig{Seed: 1, Train: 30, Test: 1}
	f, _, err := data.SampleProblems(d, c)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.problem(d, c)
	if err != nil {
		t.Fatal(err)
	}
	before := len(f.Problems)
	for _, q := range s.without(f.Problems) {
		for _, task := range q.Tasks {
			for _, ours := range p.Tasks {
				if pair := []string{task.Positive, task.Negative}; slices.Contains(pair, ours.Positive) && slices.Contains(pair, ours.Negative) {
					t.Errorf("%s has %s", q.Name, task.Name)
				}
			}
		}
	}
	if before != 30 {
		t.Errorf("%d problems were drawn", before)
	}
	f.Problems = []*data.Problem{p}
	if _, err := f.Bind(d, ".", nil); err != nil {
		t.Error(err)
	}
}

// The summary over seeds against its definition.
func TestRowsAreMeansOverSeeds(t *testing.T) {
	r := &Result{Rows: []Row{{Model: "a", runs: []compare.Row{{Relative: 0.8, Error: 1, Seconds: 1}, {Relative: 1, Error: 2, Seconds: 3}, {Relative: 1.2, Error: 6, Seconds: 5}}}}}
	r.finish()
	row := r.Rows[0]
	if math.Abs(float64(row.Relative)-1) > 1e-12 || math.Abs(float64(row.Deviation)-0.2/math.Sqrt(3)) > 1e-12 || row.Error != 3 || row.Seconds != 3 || row.Seeds != 3 {
		t.Errorf("%+v", row)
	}
}

// Whatever the experiment, it is refused or all its runs can be set up.
func FuzzExperiment(f *testing.F) {
	for _, name := range Names() {
		x, err := Read(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(x.text)
	}
	for _, s := range []string{"", "seeds = [-1]", "[training]\nhelp = true", "[training]\n\"\" = 1", "[experience]\ndraws = [[1], {a = 2}]",
		"[[vary]]\nsetting = 'problems.train'\nvalues = [1, 1]", "[[vary]]\nsetting = 'train.rate'\nvalues = [nan, inf, 1979-05-27]\nlog = true",
		"[[vary]]\n[[vary.case]]\nname = 'a'\n[vary.case.train]\nseed = 2", "[case]\nshared = '1'", "[problems]\nmin_tasks = 9\nmin-tasks = 3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := parse("fuzz", text)
		if err != nil {
			return
		}
		for _, at := range x.points() {
			for _, seed := range x.Seeds {
				if _, err := x.setup(at, seed); err != nil {
					t.Errorf("an experiment that was accepted cannot be set up: %v", err)
				}
			}
		}
	})
}
