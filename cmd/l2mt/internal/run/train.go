package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data"
	"l2mt/data/files"
	"l2mt/data/progress"
	"l2mt/infer/solve"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/train"
)

// Training is one network to be trained.
type Training struct {
	// Out is the directory of the network.
	Out string
	// Experience and HeadName are named in what is kept with it.
	Experience, HeadName string
	Head                 layers.Head
	Config               train.Config
	// From is the network to begin with, FromName what was given for it; nil begins
	// anew.
	From     *model.Network
	FromName string
	// Resume insists that there is a run to go on with.
	Resume   bool
	Progress progress.Reporter
	Remark   Remark
}

// Trained is what a training run came to.
type Trained struct {
	Dir   string        `json:"dir"`
	Seed  uint64        `json:"seed"`
	Epoch int           `json:"best_epoch"`
	Best  train.Metrics `json:"best"`
	// Directions is the number of those that the training tasks teach of the features.
	Directions int      `json:"directions"`
	Warnings   []string `json:"warnings,omitempty"`
}

// Train trains a network, and keeps beside it what it used, its metrics, their
// picture and where the problems of the experience lie.
func Train(ctx context.Context, t Training, examples train.Source) (Trained, error) {
	if t.Resume {
		if _, err := os.Stat(filepath.Join(t.Out, train.StateFile)); err != nil {
			return Trained{}, fmt.Errorf("--resume: there is no run to go on with: %w", err)
		}
	}
	keep := func(done []train.Metrics) error {
		for _, w := range done[len(done)-1].Warnings {
			t.Remark("warning: %s", w)
		}
		return saveMetrics(t.Out, done)
	}
	used := struct {
		Experience string       `json:"experience"`
		Head       string       `json:"head,omitempty"`
		From       string       `json:"from,omitempty"`
		Training   train.Config `json:"training"`
		Versions   Versions     `json:"versions"`
	}{Experience: t.Experience, From: t.FromName, Training: t.Config, Versions: CurrentVersions()}
	provenance := map[string]string{"experience": t.Experience, "seed": fmt.Sprint(t.Config.Seed), "l2mt": used.Versions.L2MT}
	if t.Head != nil {
		used.Head, provenance["head"] = HeadName(t.HeadName), HeadName(t.HeadName)
	}
	if t.From != nil {
		provenance["from"] = t.FromName
	}
	report, err := train.Run(ctx, t.Config, examples, train.Options{
		Head: t.Head, From: t.From, Out: t.Out, Progress: t.Progress, Epoch: keep, Provenance: provenance,
	})
	if err != nil {
		return Trained{}, err
	}
	curves, err := plot.Training(report.Metrics)
	return Trained{Dir: t.Out, Seed: t.Config.Seed, Epoch: report.Best, Best: report.Metrics[report.Best], Directions: report.Network.Directions.Count(), Warnings: report.Warnings}, errors.Join(
		SaveJSON(filepath.Join(t.Out, UsedFile), used),
		saveMetrics(t.Out, report.Metrics),
		plot.Save(filepath.Join(t.Out, "training.png"), curves, err),
		saveAtlas(t.Out, report.Network, examples))
}

// OpenExperiences opens experience in several directories, all of which count for
// the same.
func OpenExperiences(dirs []string, dataset string, head layers.Head, remark Remark) (train.Source, error) {
	var all []train.Source
	for _, dir := range dirs {
		e, err := OpenExperience(dir, dataset, head, remark)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return train.Join(all...), nil
}

// OpenExperience opens experience to train on, for a network behind a head or nil.
func OpenExperience(dir, dataset string, head layers.Head, remark Remark) (train.Source, error) {
	examples, err := train.Open(dir, train.OpenOptions{Dataset: dataset, Head: head})
	if err != nil {
		return nil, err
	}
	if head != nil && !examples.ThroughHead {
		remark("warning: the tuples of %s were made on the features as they are in the dataset, not on those of the head: l2mt collect --head makes such", dir)
	}
	return examples, nil
}

// atlasSize bounds the problems of an atlas, all of which are compared with each
// other.
const atlasSize = 1000

// saveAtlas keeps the embeddings of problems from all over the experience
// beside the network that they are of.
func saveAtlas(dir string, of *model.Network, examples train.Source) error {
	if of.Config.Embeds() != model.PerTask { // an atlas takes embeddings of tasks
		return saveSeen(dir, examples)
	}
	network, err := solve.NewFinder(of)
	if err != nil {
		return err
	}
	n := examples.Len()
	size := min(n, atlasSize)
	atlas, err := solve.NewAtlas(network, func(yield func(*data.ProblemData, error) bool) {
		for i := range size {
			x, err := examples.Example(i * n / size)
			if (err != nil || len(x.Tuples) > 0) && !yield(x.Problem, err) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return atlas.Save(dir)
}

// saveSeen keeps what the problems of the experience were like beside a network that
// embeds pairs of tasks.
func saveSeen(dir string, examples train.Source) error {
	seen := &model.Seen{}
	for i := range examples.Len() {
		x, err := examples.Example(i)
		if err == nil && len(x.Tuples) > 0 {
			err = seen.Add(x.Problem.TrainingOnly(), x.Dataset)
		}
		if err != nil {
			return err
		}
	}
	return seen.Save(dir)
}

// metricsFile is where a training run keeps its metrics.
const metricsFile = "metrics.jsonl"

func saveMetrics(dir string, metrics []train.Metrics) error {
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	for _, m := range metrics {
		if err := lines.Encode(m); err != nil {
			return err
		}
	}
	return files.WriteFile(filepath.Join(dir, metricsFile), text.Bytes())
}

// LoadMetrics reads the metrics of the network in a directory.
func LoadMetrics(dir string) ([]train.Metrics, error) {
	path := filepath.Join(dir, metricsFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	metrics, err := ParseMetrics(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, data.ErrFormat, err)
	}
	return metrics, nil
}

// ParseMetrics reads the metrics of the start and of all epochs, which have the
// same parameters.
func ParseMetrics(raw []byte) (metrics []train.Metrics, err error) {
	for lines := json.NewDecoder(bytes.NewReader(raw)); ; {
		var m train.Metrics
		err := lines.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(metrics)+1, err)
		}
		metrics = append(metrics, m)
		for name, v := range metrics[0].Scalars {
			if len(m.Scalars[name]) != len(v) {
				return nil, fmt.Errorf("line %d: %d numbers of %s; the first line has %d", len(metrics), len(m.Scalars[name]), name, len(v))
			}
		}
	}
	if len(metrics) == 0 {
		return nil, errors.New("it is empty")
	}
	return metrics, nil
}
