package multitask

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/data/safetensors"
	"l2mt/data/table"
	spelling "l2mt/model/settings" // settings are a function here
)

// Saved is a fitted model with all that predictions take. It is kept in a
// directory of two files: model.json, and weights.safetensors with W (d x m) and
// b (m) for the features as they are in the user's table.
type Saved struct {
	// Model and Params are what was fitted, Kind what the tasks predict.
	Model  string    `json:"model"`
	Params Params    `json:"params"`
	Kind   data.Kind `json:"kind"`
	// Tasks are the columns of W.
	Tasks []SavedTask `json:"tasks"`
	// Features names the rows of W.
	Features []string `json:"features"`
	// Recipe makes features of a table's rows.
	Recipe table.Recipe `json:"recipe"`
	// Scale is the standardisation that the fit was under, if it was its last
	// step. W and B have it in them, so that predictions do without.
	Scale *data.Step `json:"scale,omitempty"`
	// Temperature divides scores before they become probabilities;
	// classification only.
	Temperature float64 `json:"temperature,omitempty"`
	// Versions are those of the program and of what it is made of.
	Versions map[string]string `json:"versions,omitempty"`
	// Omega is the covariance of the tasks, with trace 1.
	Omega *mat.SymDense `json:"-"`
	// W is d x m, B has m entries.
	W *mat.Dense `json:"-"`
	B []float64  `json:"-"`
}

// SavedTask is a task of a saved model.
type SavedTask struct {
	Name string `json:"name"`
	// Negative and Positive are its classes.
	Negative string `json:"negative,omitempty"`
	Positive string `json:"positive,omitempty"`
	// Rows is how many labelled rows it was fitted on.
	Rows int `json:"rows"`
	// StandardError is the root mean squared error of predictions for rows that
	// were held out; regression only, 0 if unknown.
	StandardError float64 `json:"standard_error,omitempty"`
}

// The files of a saved model.
const (
	SavedFile        = "model.json"
	SavedWeightsFile = "weights.safetensors"

	savedSchema = 1
	savedKey    = "model.json's sha256"
)

// ErrSaved marks a directory that holds no sound saved model.
var ErrSaved = errors.New("not a saved model")

// NewSaved returns a fit on a problem whose rows the recipe makes.
func NewSaved(r *Result, problem *data.ProblemData, recipe table.Recipe) (*Saved, error) {
	d, m := r.W.Dims()
	if m != len(problem.Tasks) || d != problem.Cols() {
		return nil, fmt.Errorf("multitask: save: %w: the fit has %d features and %d tasks, the problem %d and %d", ErrInvalidData, d, m, problem.Cols(), len(problem.Tasks))
	}
	s := &Saved{
		Model: r.Model, Params: r.Params, Kind: problem.Kind(), Recipe: recipe,
		Omega: normalised(r.Omega), W: mat.DenseCopyOf(r.W), B: slices.Clone(r.B),
	}
	if s.Kind == data.Classification {
		s.Temperature = 1
	}
	for _, t := range problem.Tasks {
		s.Tasks = append(s.Tasks, SavedTask{Name: t.Name, Negative: t.Negative, Positive: t.Positive, Rows: len(t.TrainSet.Y)})
	}
	if last := len(recipe.Steps) - 1; last >= 0 && recipe.Steps[last].Kind == data.StepStandardise {
		s.Scale, s.Recipe.Steps = &recipe.Steps[last], recipe.Steps[:last:last]
		s.unscale()
	}
	s.Features = s.Recipe.Features()
	return s, s.validate()
}

// unscale gives W and b for the features before standardising:
//
//	w'(x - mean)/deviation + b = (w/deviation)'x + b - (w/deviation)'mean
func (s *Saved) unscale() {
	for j, deviation := range s.Scale.Deviation {
		w := s.W.RawRowView(j)
		for i := range w {
			if deviation == 0 {
				w[i] = 0
				continue
			}
			w[i] /= deviation
			s.B[i] -= w[i] * s.Scale.Mean[j]
		}
	}
}

// savedFile is model.json.
type savedFile struct {
	Schema int `json:"schema"`
	*Saved
	Omega [][]float64 `json:"omega"`
}

// Save writes the model to a directory, which is made if need be.
func (s *Saved) Save(dir string) error {
	if err := s.validate(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("multitask: save: %w", err)
	}
	file := savedFile{Schema: savedSchema, Saved: s}
	for i := range s.B {
		file.Omega = append(file.Omega, mat.Row(nil, i, s.Omega))
	}
	b, err := json.Marshal(file)
	if err != nil {
		return fmt.Errorf("multitask: save to %s: %w", dir, err)
	}
	d, m := s.W.Dims()
	tensors := []safetensors.Tensor{
		{Name: "W", DType: safetensors.F64, Shape: []int{d, m}, Value: mat.DenseCopyOf(s.W).RawMatrix().Data},
		{Name: "b", DType: safetensors.F64, Shape: []int{m}, Value: s.B},
	}
	// Either file alone may be of another fit if writing ends between the two;
	// then Load sees it.
	if err := safetensors.Write(filepath.Join(dir, SavedWeightsFile), tensors, map[string]string{savedKey: sum(b)}); err != nil {
		return fmt.Errorf("multitask: save: %w", err)
	}
	if err := files.WriteFile(filepath.Join(dir, SavedFile), b); err != nil {
		return fmt.Errorf("multitask: save: %w", err)
	}
	return nil
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// Load reads a model that Save wrote, and checks that its files are whole and
// belong together.
func Load(dir string) (*Saved, error) {
	path := filepath.Join(dir, SavedFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("multitask: load: %w: %w; give the directory that a fit was saved to", ErrSaved, err)
	}
	s, err := parseSaved(b)
	if err != nil {
		return nil, fmt.Errorf("multitask: %s: %w", path, err)
	}
	path = filepath.Join(dir, SavedWeightsFile)
	tensors, metadata, err := safetensors.Read(path)
	if err != nil {
		return nil, fmt.Errorf("multitask: load: %w: %w", ErrSaved, err)
	}
	if metadata[savedKey] != sum(b) {
		return nil, fmt.Errorf("multitask: %s: %w: its weights are of another fit than %s, or one of the two was changed; fit again", dir, ErrSaved, SavedFile)
	}
	if err := s.weights(tensors); err != nil {
		return nil, fmt.Errorf("multitask: %s: %w", path, err)
	}
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return s, nil
}

// parseSaved reads model.json.
func parseSaved(b []byte) (*Saved, error) {
	file := savedFile{Saved: &Saved{}}
	if err := files.DecodeSchema(b, savedSchema, &file); errors.Is(err, files.ErrSchema) {
		return nil, fmt.Errorf("%w: %w; take the program that wrote it, or a newer one", ErrSaved, err)
	} else if err != nil {
		return nil, fmt.Errorf("%w: it is damaged: %w", ErrSaved, err)
	}
	s, err := file.Saved, error(nil)
	if s.Omega, err = data.NewCovariance(file.Omega); err != nil {
		return nil, fmt.Errorf("%w: omega: %w", ErrSaved, err)
	}
	return s, nil
}

// weights takes W and b from their file.
func (s *Saved) weights(tensors []safetensors.Tensor) error {
	for _, want := range []struct {
		name  string
		shape []int
	}{{"W", []int{len(s.Features), len(s.Tasks)}}, {"b", []int{len(s.Tasks)}}} {
		i := slices.IndexFunc(tensors, func(t safetensors.Tensor) bool { return t.Name == want.name })
		if i < 0 || !slices.Equal(tensors[i].Shape, want.shape) {
			return fmt.Errorf("%w: there is no tensor %q of shape %v", ErrSaved, want.name, want.shape)
		}
		if slices.Contains(want.shape, 0) {
			return fmt.Errorf("%w: there are %d features and %d tasks", ErrSaved, len(s.Features), len(s.Tasks))
		}
		if want.name == "b" {
			s.B = tensors[i].Value
		} else {
			s.W = mat.NewDense(want.shape[0], want.shape[1], tensors[i].Value)
		}
	}
	return nil
}

// validate checks that the parts fit together.
func (s *Saved) validate() error {
	fault := func(format string, args ...any) error {
		return fmt.Errorf("multitask: saved model: %w: "+format, append([]any{ErrSaved}, args...)...)
	}
	if err := s.Recipe.Validate(); err != nil {
		return fault("%w", err)
	}
	d, m := s.W.Dims()
	classes := s.Kind == data.Classification
	switch {
	case s.Kind != data.Regression && !classes:
		return fault("the kind is %q; it must be %s or %s", s.Kind, data.Classification, data.Regression)
	case len(s.Tasks) != m || len(s.B) != m || s.Omega.SymmetricDim() != m:
		return fault("%d tasks, %d biases, a covariance of %d, and W of %d x %d", len(s.Tasks), len(s.B), s.Omega.SymmetricDim(), d, m)
	case len(s.Features) != d || s.Recipe.Width() != d:
		return fault("%d features; the recipe makes %d, and W is %d x %d", len(s.Features), s.Recipe.Width(), d, m)
	case classes != (s.Temperature > 0):
		return fault("the temperature is %v; it must be positive for classes, and absent else", s.Temperature)
	case !allFinite(s.W.RawMatrix().Data) || !allFinite(s.B) || !allFinite(s.Omega.RawSymmetric().Data):
		return fault("numbers that are not finite")
	case s.Scale != nil && s.Scale.Cols != d:
		return fault("the scale is of %d features; there are %d", s.Scale.Cols, d)
	}
	if s.Scale != nil {
		if err := s.Scale.Validate(); err != nil {
			return fault("%w", err)
		}
	}
	seen := map[string]bool{}
	for _, t := range s.Tasks {
		if seen[t.Name] {
			return fault("two tasks are called %q", t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

func allFinite(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// ErrUnknownTask marks a task that a saved model does not have.
var ErrUnknownTask = errors.New("unknown task")

// Average stands for a task that the model does not have: its W and b are the
// means of those of all tasks.
const Average = -1

// Task returns the number of a task.
func (s *Saved) Task(name string) (int, error) {
	for i, t := range s.Tasks {
		if t.Name == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("multitask: %w: %q; the model has %s", ErrUnknownTask, name, s.near(name))
}

// near lists the names of the few tasks that are spelt most like a name.
func (s *Saved) near(name string) string {
	const few = 5
	var all []string
	for _, t := range s.Tasks {
		all = append(all, t.Name)
	}
	if len(all) <= few {
		return strings.Join(all, ", ")
	}
	slices.SortStableFunc(all, func(a, b string) int { return spelling.Distance(a, name) - spelling.Distance(b, name) })
	return fmt.Sprintf("%s, ... (%d in all)", strings.Join(all[:few], ", "), len(all))
}

// Weights returns W and b of a task, or those of the Average.
func (s *Saved) Weights(task int) (w []float64, b float64) {
	if task != Average {
		return mat.Col(nil, task, s.W), s.B[task]
	}
	d, m := s.W.Dims()
	w = make([]float64, d)
	for i := range m {
		for j := range d {
			w[j] += s.W.At(j, i) / float64(m)
		}
		b += s.B[i] / float64(m)
	}
	return w, b
}

// Predict returns the predictions of a task for rows of the recipe's features:
// values for a regression, and for classes scores, which are positive for the
// positive class.
func (s *Saved) Predict(task string, x data.Matrix) ([]float64, error) {
	i, err := s.Task(task)
	if err != nil {
		return nil, err
	}
	if x, err = s.Prepare(x); err != nil {
		return nil, err
	}
	w, b := s.Weights(i)
	return Scores(x, w, b), nil
}

// Prepare applies the recipe's steps to rows of its features. What it returns is
// to be multiplied by W.
func (s *Saved) Prepare(x data.Matrix) (data.Matrix, error) {
	if d := s.Recipe.Width(); x.Cols() != d {
		return nil, fmt.Errorf("multitask: predict: %w: the rows have %d features; the model takes %d", data.ErrMismatch, x.Cols(), d)
	}
	for _, step := range s.Recipe.Steps {
		var err error
		if x, err = step.Apply(x); err != nil {
			return nil, fmt.Errorf("multitask: predict: %w", err)
		}
	}
	return x, nil
}

// Scores returns X w + b.
func Scores(x data.Matrix, w []float64, b float64) []float64 {
	f := make([]float64, x.Rows())
	x.Mul(f, w, 1)
	for j := range f {
		f[j] += b
	}
	return f
}

// Probability is that of the positive class at a score.
func (s *Saved) Probability(score float64) float64 { return 1 / (1 + math.Exp(-score/s.Temperature)) }
