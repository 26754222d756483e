package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/train"
)

// metricsFile is where a training run keeps its metrics.
const metricsFile = "metrics.jsonl"

// SaveMetrics keeps the metrics of a network beside it.
func SaveMetrics(dir string, metrics []train.Metrics) error {
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
		if (m.Found == nil) != (metrics[0].Found == nil) || (m.Found == nil) != (m.Tuple == nil) {
			return nil, fmt.Errorf("line %d: found and tuple must be in all lines, or in none", len(metrics))
		}
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
