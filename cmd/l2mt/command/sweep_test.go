package command

import (
	"slices"
	"testing"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data"
	"l2mt/data/digits"
)

func TestShippedExperimentsAreSoundAndSayWhatTheyAre(t *testing.T) {
	want := []string{"casestudy", "curve", "fig2", "fig3-hidden", "fig3-k", "fig3-lambda", "fig3-q", "fig3-s", "finetune", "functions"}
	if got := experimentNames(); !slices.Equal(got, want) {
		t.Fatalf("the shipped experiments are %q, want %q", got, want)
	}
	d := must(digits.Load())(t)
	for _, name := range want {
		x, err := readExperiment(name) // checks the settings of every point
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
		for _, r := range x.runs() {
			stages, err := x.stages(r, "run", "experience", 1)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if _, _, err := data.SampleProblems(d, stages.sample.config()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if stages.learn.First > stages.sample.Train {
				t.Errorf("%s: the first %d of %d problems", name, stages.learn.First, stages.sample.Train)
			}
		}
	}
}

func TestCaseStudyIsNotInTheTrainingProblems(t *testing.T) {
	d := must(digits.Load())(t)
	s := &caseStudy{Shared: "8", Classes: []string{"3", "5", "0"}}
	c := data.SampleConfig{Seed: 1, Train: 30, Test: 1}
	f, _, err := data.SampleProblems(d, c)
	if err != nil {
		t.Fatal(err)
	}
	p := must(s.problem(d, c))(t)
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
	if _, err := f.Bind(d); err != nil {
		t.Error(err)
	}
}

// Whatever the experiment, it is refused or all its runs can be set up.
func FuzzExperiment(f *testing.F) {
	for _, name := range experimentNames() {
		x, err := readExperiment(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(x.text)
	}
	for _, s := range []string{"", "seeds = [-1]", "[train]\nhelp = true", "[train]\n\"\" = 1", "[experience]\ndraws = [[1], {a = 2}]",
		"[vary]\nsetting = 'problems.train'\nvalues = [1, 1]", "[vary]\nsetting = 'train.rate'\nvalues = [nan, inf, 1979-05-27]",
		"[vary]\n[[vary.case]]\nname = 'a'\n[vary.case.train]\nseed = 2", "[case]\nshared = '1'", "[problems]\nmin_tasks = 9\nmin-tasks = 3", "[problems]\nhelp = true"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := parseExperiment("fuzz", text)
		if err != nil {
			return
		}
		for _, r := range x.runs() {
			if _, err := x.stages(r, "run", "experience", 1); err != nil {
				t.Errorf("an experiment that was accepted cannot be run: %v", err)
			}
		}
	})
}
