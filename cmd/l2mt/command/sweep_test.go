package command

import (
	"slices"
	"strings"
	"testing"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/digits"
)

func unchanged(*experiment) error { return nil }

func TestShippedExperimentsAreSoundAndSayWhatTheyAre(t *testing.T) {
	datatest.Long(t)
	want := []string{"casestudy", "curve", "fig2", "fig3-hidden", "fig3-k", "fig3-lambda", "fig3-q", "fig3-s", "finetune", "functions"}
	if got := experimentNames(); !slices.Equal(got, want) {
		t.Fatalf("the shipped experiments are %q, want %q", got, want)
	}
	d := must(digits.Load())(t)
	for _, name := range want {
		x, err := readExperiment(name, unchanged) // checks the flags of every point
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.HasPrefix(x.text, "# ") || x.Title == name || len(x.Title) > plot.LongestTitle {
			t.Errorf("%s does not begin with what it is, or its title %q is none or too long", name, x.Title)
		}
		if x.Dataset != digits.Name {
			t.Errorf("%s is on %s, not on the digits", name, x.Dataset)
		}
		for _, r := range x.runs() {
			stages, err := x.stages(r, "run", "experience")
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

func TestTheTasksOfACaseAreNotInTheTrainingProblems(t *testing.T) {
	d := must(digits.Load())(t)
	c := &problemsSampleCmd{Case: []string{"8", "3", "5", "0"}, sampleFlags: sampleFlags{Train: 30, Test: 1, Seed: 1}}
	train, test, err := data.SampleProblems(d, c.config())
	if err != nil || len(train.Problems) != 30 {
		t.Fatalf("%d problems were drawn: %v", len(train.Problems), err)
	}
	if err := c.study(d, train, test); err != nil {
		t.Fatal(err)
	}
	for _, q := range train.Problems {
		for _, task := range q.Tasks {
			if slices.Contains(c.Case, task.Positive) && slices.Contains(c.Case, task.Negative) && (task.Positive == "8" || task.Negative == "8") {
				t.Errorf("%s has %s", q.Name, task.Name)
			}
		}
	}
	if p := test.Problems[0]; len(test.Problems) != 1 || len(p.Tasks) != 3 || p.Tasks[2].Name != "0 vs 8" {
		t.Errorf("the test problem has %d tasks", len(p.Tasks))
	}
	if _, err := test.Bind(d); err != nil {
		t.Error(err)
	}
}

// Whatever the experiment, it is refused or all its runs can be set up.
func FuzzExperiment(f *testing.F) {
	datatest.Long(f)
	for _, name := range experimentNames() {
		x, err := readExperiment(name, unchanged)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(x.text)
	}
	for _, s := range []string{"", "seeds = [-1]", "train = '--help'", "train = '--set'", "collect = '--draws x --draws 3'",
		"[vary]\nflag = 'problems --train='\nvalues = [1, 1]", "[vary]\nflag = 'train --set=train.rate='\nvalues = [nan, inf, 1979-05-27]",
		"[vary]\n[[vary.case]]\nname = 'a'\ntrain = '--seed=2'", "problems = '--case 1'", "problems = '--min-tasks 9 --min-tasks=3'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := parseExperiment("fuzz", text, unchanged)
		if err != nil {
			return
		}
		for _, r := range x.runs() {
			if _, err := x.stages(r, "run", "experience"); err != nil {
				t.Errorf("an experiment that was accepted cannot be run: %v", err)
			}
		}
	})
}
