package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/infer/solve"
	"l2mt/model"
	"l2mt/model/pretrained"
	"l2mt/train"
)

// Files that commands write into their directories.
const (
	usedFile = "run.json" // the inputs of a run
	// secondsFile has the time of a training, apart from the results, so that equal runs give
	// equal files.
	secondsFile = "seconds.json"
	metricsFile = "metrics.jsonl" // of a training run, beside its network: a line for every epoch
	sweepFile   = "sweep.json"
	sweepRuns   = "runs" // the folder of the runs of a sweep
	reportFile  = "report.html"
)

// saveJSON writes a value to a file, whole or not at all.
func saveJSON(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return files.WriteFile(path, append(raw, '\n'))
}

// loadJSON reads the file of saveJSON.
func loadJSON(path string, v any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return damaged(path)
	}
	return nil
}

// keepMetrics keeps the metrics of a run, a line for every epoch: at first the lines of all that
// are done, then each as it comes, for who follows the file.
func keepMetrics(dir string) func(done []train.Metrics) error {
	path := filepath.Join(dir, metricsFile)
	kept := 0
	return func(done []train.Metrics) error {
		var lines bytes.Buffer
		to := json.NewEncoder(&lines)
		for _, m := range done[kept:] {
			err := to.Encode(m)
			if err != nil {
				return err
			}
		}
		first := kept == 0
		kept = len(done)
		if first {
			return files.WriteFile(path, lines.Bytes())
		}
		log, err := files.OpenLog(path)
		if err != nil {
			return err
		}
		return errors.Join(log.Append(lines.Bytes()), log.Close())
	}
}

// loadMetrics reads the file of keepMetrics.
func loadMetrics(dir string) (metrics []train.Metrics, err error) {
	path := filepath.Join(dir, metricsFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for from := json.NewDecoder(bytes.NewReader(raw)); from.More(); {
		var m train.Metrics
		err := from.Decode(&m)
		if err != nil {
			return nil, damaged(path)
		}
		metrics = append(metrics, m)
	}
	if metrics == nil {
		return nil, damaged(path)
	}
	return metrics, nil
}

func damaged(path string) error {
	return data.Malformed("%s: it is damaged; remove it, and the command that wrote it makes it again", path)
}

// optional forgives that a file is not there.
func optional(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// pretrainedNetwork names the network in the program where a directory could stand;
// so does nothing at all.
const pretrainedNetwork = "pretrained"

// loadNetwork reads a network, ready to solve problems with.
func loadNetwork(dir string) (_ *solve.Finder, err error) {
	var n *model.Network
	if dir == "" || dir == pretrainedNetwork {
		n, err = pretrained.Load()
	} else {
		n, err = model.Load(dir)
	}
	if err != nil {
		return nil, err
	}
	return solve.NewFinder(n), nil
}
