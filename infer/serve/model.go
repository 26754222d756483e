package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"l2mt/data"
	"l2mt/data/table"
	"l2mt/model/saved"
)

// model is a saved model, as it is in its directory now.
type model struct {
	name, dir string
	fit       atomic.Pointer[saved.Fit]
	stamp     string // of the files that were read last
}

func newModel(given string) (*model, error) {
	name, dir, pair := strings.Cut(given, "=")
	m := &model{name: name, dir: dir}
	if !pair {
		m.dir = given
		path, err := filepath.Abs(given)
		if err != nil {
			return nil, err
		}
		m.name = filepath.Base(path)
	}
	if m.name == "" || strings.Contains(m.name, "/") {
		return nil, data.Invalid("--model=%s: the name must not be empty or have a slash", given)
	}
	return m, m.load()
}

// load reads the model if its files are others than before. Files that are being replaced do not
// suit each other, and have changed again at the next look.
func (m *model) load() error {
	stamp := ""
	for _, name := range []string{saved.File, saved.WeightsFile} {
		info, err := os.Stat(filepath.Join(m.dir, name))
		if err == nil {
			stamp += fmt.Sprint(info.ModTime().UnixNano(), info.Size(), " ")
		}
	}
	if stamp == m.stamp && stamp != "" {
		return nil
	}
	m.stamp = stamp
	fit, err := saved.Load(m.dir)
	if err != nil {
		return err
	}
	fit.Beside = nil // measures labels, which requests have none of
	fit.Report = nil
	m.fit.Store(fit)
	return nil
}

// description describes the questions to a model and its answers.
type description struct {
	Name    string         `json:"name"`
	Model   string         `json:"model"`
	Kind    data.Kind      `json:"kind"`
	Header  []string       `json:"header"` // the names of the values of an instance
	Columns []table.Column `json:"columns"`
	Task    string         `json:"task,omitempty"` // the column that names the task of a row
	Tasks   []saved.Task   `json:"tasks"`
	Classes []string       `json:"classes,omitempty"`
	Highest float64        `json:"highest_interval,omitempty"`
}

func (m *model) describe() description {
	fit := m.fit.Load()
	d := description{
		Name: m.name, Model: fit.Model, Kind: fit.Kind,
		Header: header(fit), Columns: fit.Recipe.Columns,
		Task: fit.Recipe.Task, Tasks: fit.Tasks, Classes: fit.Classes,
	}
	held := len(fit.Residuals)
	if held > 0 {
		d.Highest = 1 - 1/float64(held+1)
	}
	return d
}

// header names the columns that a model takes, with the task before them.
func header(fit *saved.Fit) (names []string) {
	if fit.Recipe.Task != "" {
		names = append(names, fit.Recipe.Task)
	}
	for _, c := range fit.Recipe.Columns {
		names = append(names, c.Name)
	}
	return slices.Clip(names)
}
