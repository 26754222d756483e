package model

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"

	"l2mt/data"
	"l2mt/data/files"
)

// SeenFile is kept beside the weights of a network that embeds pairs of tasks.
const SeenFile = "seen.json"

// Seen is what the problems were like that a network was trained on which embeds
// pairs of tasks, to say in what a new one differs from them all.
type Seen struct {
	Problems int `json:"problems"`
	// Datasets are the names of those that the problems came from.
	Datasets []string `json:"datasets,omitempty"`
	// Labels are the kinds of labels, in the order in which they came.
	Labels []string `json:"labels"`
	// Ranges are those of the traits of these problems.
	Ranges []Range `json:"ranges"`
}

// Range is from the least to the largest value of a trait.
type Range struct {
	Trait string  `json:"trait"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// trait is a number that a body of pairs of tasks goes by, in units that people
// know.
type trait struct {
	name  string
	value float64
}

// traitsOf sums up what the network sees of the training rows of a problem.
func traitsOf(p *data.ProblemData) ([]trait, error) {
	p = data.InMetric(p.TrainingOnly()) // as Prepare
	r, err := relate(p)
	if err != nil {
		return nil, err
	}
	m, rows := float64(len(p.Tasks)), 0.0
	for _, t := range p.Tasks {
		rows += math.Log(float64(len(t.TrainSet.Y))) / m
	}
	signal := func(of *related) float64 { return 1 - floats.Sum(of.noise)/m }
	traits := []trait{
		{"tasks", m},
		{"rows a task", math.Exp(rows)},
		{"rows of the larger class for one of the smaller", math.Exp(2 * floats.Sum(r.balance) / m)},
		{"effective dimensions", r.dimension},
		{"rows for an effective dimension", float64(r.rows) / r.dimension},
		{"share of signal in what tasks say", signal(r.raw)},
		{"share of signal in what tasks say, whitened", signal(r.white)},
		{"likeness of tasks", r.raw.size()},
		{"likeness of tasks, whitened", r.white.size()},
	}
	for i := range traits {
		traits[i].value = rounded(traits[i].value)
	}
	return traits, nil
}

// rounded has four digits, which people can read and all machines agree on.
func rounded(v float64) float64 {
	if v == 0 {
		return 0
	}
	return scalar.Round(v, 3-int(math.Floor(math.Log10(math.Abs(v)))))
}

// labelsOf is the kind of a problem's labels.
func labelsOf(p *data.ProblemData) string {
	switch {
	case p.Kind() == data.Regression:
		return "regression"
	case p.Several() > 0:
		return "more than two classes"
	}
	return "two classes"
}

// Add counts a problem of training, of which the network has seen the training rows,
// and its dataset, if that has a name.
func (s *Seen) Add(p *data.ProblemData, dataset string) error {
	traits, err := traitsOf(p)
	if err != nil {
		return fmt.Errorf("model: problem %q: %w", p.Name, err)
	}
	if s.Ranges == nil {
		for _, t := range traits {
			s.Ranges = append(s.Ranges, Range{t.name, math.Inf(1), math.Inf(-1)})
		}
	}
	for i, t := range traits {
		s.Ranges[i].Low, s.Ranges[i].High = min(s.Ranges[i].Low, t.value), max(s.Ranges[i].High, t.value)
	}
	if labels := labelsOf(p); !slices.Contains(s.Labels, labels) {
		s.Labels = append(s.Labels, labels)
	}
	if dataset != "" && !slices.Contains(s.Datasets, dataset) {
		s.Datasets = append(s.Datasets, dataset)
	}
	s.Problems++
	return nil
}

// Strange is a trait of a problem that is beyond those of all problems of training.
type Strange struct {
	Range
	Value float64 `json:"value"`
}

// Unlike tells in what the training rows of a problem differ from those of all
// problems of training: a kind of labels that none had, or "", and the traits out of
// their range.
func (s *Seen) Unlike(p *data.ProblemData) (labels string, strange []Strange, err error) {
	traits, err := traitsOf(p)
	if err != nil {
		return "", nil, fmt.Errorf("model: problem %q: %w", p.Name, err)
	}
	for _, t := range traits {
		i := slices.IndexFunc(s.Ranges, func(r Range) bool { return r.Trait == t.name })
		if i >= 0 && (t.value < s.Ranges[i].Low || t.value > s.Ranges[i].High) {
			strange = append(strange, Strange{s.Ranges[i], t.value})
		}
	}
	if labels = labelsOf(p); slices.Contains(s.Labels, labels) {
		labels = ""
	}
	return labels, strange, nil
}

// Save writes it beside a network.
func (s *Seen) Save(dir string) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = files.WriteFile(filepath.Join(dir, SeenFile), append(raw, '\n'))
	}
	if err != nil {
		return fmt.Errorf("model: %s: %w", SeenFile, err)
	}
	return nil
}

// LoadSeen reads what is kept beside the network in a directory.
func LoadSeen(dir string) (*Seen, error) { return LoadSeenFS(os.DirFS(dir)) }

// LoadSeenFS is LoadSeen from a file system, such as one that a program embeds.
func LoadSeenFS(from fs.FS) (*Seen, error) {
	raw, err := fs.ReadFile(from, SeenFile)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	s := &Seen{}
	if err := files.DecodeJSON(raw, s); err != nil {
		return nil, fmt.Errorf("model: %s: %w: %w", SeenFile, data.ErrFormat, err)
	}
	return s, nil
}
