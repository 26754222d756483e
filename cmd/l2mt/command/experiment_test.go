package command

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"

	"l2mt/data"
	"l2mt/data/digits"
	"l2mt/infer/compare"
)

func TestShippedExperimentsAreSoundAndSayWhatTheyAre(t *testing.T) {
	want := []string{"casestudy", "curve", "fig2", "fig3-hidden", "fig3-k", "fig3-lambda", "fig3-q", "fig3-s", "finetune", "functions"}
	if got := experimentNames(); !slices.Equal(got, want) {
		t.Fatalf("the shipped experiments are %q, want %q", got, want)
	}
	d, err := digits.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range want {
		x, err := readExperiment(name) // checks the settings of every point
		if err != nil {
			t.Error(err)
			continue
		}
		if x.About == "" || x.Title == name {
			t.Errorf("%s has no about or no title", name)
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
			if _, _, err := data.SampleProblems(d, r.sample.config()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if r.training.First > r.sample.Train {
				t.Errorf("%s: the first %d of %d problems", name, r.training.First, r.sample.Train)
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
	x, err := readExperiment(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSweep(&env{Context: t.Context(), quiet: true}, x, &sweepCmd{Store: "store", Workers: 1})
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
		{"[training]\npreset = \"default\"\n[problems]\ntrain = 100\nmin_tasks = 4\n[experience]\nexplore = 8", [5]bool{true, true, true, true, true}},
		{"[compare]\nmodels = [\"snr2\"]", [5]bool{true, true, true, true, true}},
		{"[compare]\npoints = 3", [5]bool{true, true, true, false, true}},
		{"[training]\nhidden = 7", [5]bool{true, true, false, true, false}},
		{"[training]\nfirst = 7", [5]bool{true, true, false, true, false}},
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

// Distances between points of a half plane beyond the mirror image are
// distances in the plane, so scaling must bring them back.
func TestScalingKeepsDistancesOfThePlane(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, 0))
	e := make([][]float32, 12)
	for i := range e {
		// Far from the origin in one direction: no mirror image is nearer.
		e[i] = []float32{float32(10 + r.NormFloat64()), float32(r.NormFloat64()), 0}
		if i%2 == 1 { // a flipped task is the same
			e[i] = []float32{-e[i][0], -e[i][1], 0}
		}
	}
	at, kept, err := scaled(e)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(kept-1) > 1e-6 {
		t.Errorf("the plane keeps %v of itself", kept)
	}
	for i := range e {
		for j := range e {
			sign := float64(1 - 2*((i+j)%2))
			want := math.Hypot(float64(e[i][0])-sign*float64(e[j][0]), float64(e[i][1])-sign*float64(e[j][1]))
			if got := math.Hypot(at[i].X-at[j].X, at[i].Y-at[j].Y); math.Abs(got-want) > 1e-5 {
				t.Errorf("seed %d: points %d and %d are %v apart, want %v", seed, i, j, got, want)
			}
		}
	}
}

// However many names there are at one place, those that are written do not cover
// each other, and the first one always is.
func TestNamesAreClearOfEachOther(t *testing.T) {
	names := placed{across: 600, up: 500}
	for i := range 30 {
		names.add(fmt.Sprintf("task %d", i), plotter.XY{X: 0.5, Y: 0.5}, 9)
	}
	if n := len(names.labels); n < 2 || n > 10 || names.labels[0].Labels[0] != "task 0" {
		t.Fatalf("%d names are written, the first is %s", n, names.labels[0].Labels[0])
	}
	for i, a := range names.labels {
		for _, b := range names.labels[:i] {
			if apart := math.Abs(float64(a.Offset.Y - b.Offset.Y)); apart < 9 {
				t.Errorf("%s and %s, of 9 points, are %v points apart", a.Labels[0], b.Labels[0], apart)
			}
		}
	}
}

// Neighbours differ in colour.
func TestNeighboursDifferInColour(t *testing.T) {
	var points plotter.XYs
	for i := range 2 * len(palette) {
		points = append(points, plotter.XY{X: float64(100 * (i % 2)), Y: float64(i / 2)}) // two heaps, by turns
	}
	colour := apart(points)
	for i := range points {
		for j := range i {
			if i%2 == j%2 && colour[i] == colour[j] {
				t.Errorf("points %v and %v of one heap have colour %d", points[i], points[j], colour[i])
			}
		}
	}
}

// The summary over seeds against its definition.
func TestRowsAreMeansOverSeeds(t *testing.T) {
	r := &sweepResult{Rows: []sweepRow{{Model: "a", runs: []compare.Row{{Relative: 0.8, Error: 1, Seconds: 1}, {Relative: 1, Error: 2, Seconds: 3}, {Relative: 1.2, Error: 6, Seconds: 5}}}}}
	r.finish()
	row := r.Rows[0]
	if math.Abs(float64(row.Relative)-1) > 1e-12 || math.Abs(float64(row.Deviation)-0.2/math.Sqrt(3)) > 1e-12 || row.Error != 3 || row.Seconds != 3 || row.Seeds != 3 {
		t.Errorf("%+v", row)
	}
}

func TestTicksAreEnoughAndTellApart(t *testing.T) {
	const seed = 3
	r := data.Stream(seed, "ticks")
	for range 200 {
		lo := 10 * r.NormFloat64()
		hi := lo + math.Pow(10, 6*r.Float64()-4)
		ticks := plainTicks{}.Ticks(lo, hi)
		if len(ticks) < 4 || len(ticks) > 10 {
			t.Errorf("seed %d: between %v and %v there are %d ticks", seed, lo, hi, len(ticks))
		}
		for i, tick := range ticks {
			v, err := strconv.ParseFloat(tick.Label, 64)
			if err != nil || math.Abs(v-tick.Value) > 1e-9*math.Abs(v) || v < lo || v > hi || math.Signbit(v) && v == 0 || len(tick.Label) > 10 {
				t.Errorf("seed %d: between %v and %v there is a tick %q at %v", seed, lo, hi, tick.Label, tick.Value)
			}
			if i > 0 && tick.Label == ticks[i-1].Label {
				t.Errorf("seed %d: between %v and %v there are two ticks %q", seed, lo, hi, tick.Label)
			}
		}
	}
}
