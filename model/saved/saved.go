// Package saved keeps fitted models, with all that predictions take, in directories.
package saved

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/fault"
	"l2mt/data/files"
	"l2mt/data/format"
	"l2mt/data/safetensors"
	"l2mt/data/table"
	"l2mt/data/view"
	"l2mt/model/multitask"
)

// Fit is a fitted model, with all parts that predictions take. It is kept in a directory of two
// files: model.json, and weights.safetensors with W (d x m) and b (m), for the features as they are
// in the user's table, and Omega (m x m). Where tasks have more than two classes W is C x d x m
// there, and b is C x m. Beside them may be fit.json, the Report, and a folder stl, the fit Beside.
// Checksums bind all of it: weights name model.json, which names the others.
type Fit struct {
	// Model and Params name the fitted model, Kind the kind of the targets.
	Model  string           `json:"model"`
	Params multitask.Params `json:"params"`
	Kind   data.Kind        `json:"kind"`
	// Classes are the C of all tasks together, if tasks have more than two.
	Classes []string `json:"classes,omitempty"`
	// Tasks are the columns of W.
	Tasks []Task `json:"tasks"`
	// Features names the rows of W.
	Features []string `json:"features"`
	// Recipe makes features of a table's rows.
	Recipe table.Recipe `json:"recipe"`
	// Scale is the standardisation that the fit was under, if it was its last
	// step. W and B have it in them, so that predictions do without.
	Scale *view.Step `json:"scale,omitempty"`
	Meaning
	// Temperature divides scores before they become probabilities;
	// classification only.
	Temperature float64 `json:"temperature,omitempty"`
	// Threshold is the probability from which on a row is of the positive of two classes; 0 means
	// the likeliest class.
	Threshold float64 `json:"threshold,omitempty"`
	// Residuals of rows that were held out, in ascending order: their sizes over
	// the Spread of their tasks. Of many some are kept, at equal shares; regression only.
	Residuals []float64 `json:"residuals,omitempty"`
	// Spread is the mean of the Spread of tasks, which a new one has.
	Spread float64 `json:"spread,omitempty"`
	// Versions of the program and of its modules.
	Versions map[string]string `json:"versions,omitempty"`
	// Omega is the covariance of the tasks, with trace 1.
	Omega *mat.SymDense `json:"-"`
	// W and B are as in a Result: W is d x m and B has m entries, C times as many
	// where there are Classes.
	W *mat.Dense `json:"-"`
	B []float64  `json:"-"`
	// Beside is single-task learning on the same rows, nil where the fit is that itself.
	Beside *Fit `json:"-"`
	// Report is JSON that says how the fit came about, if that is known.
	Report []byte `json:"-"`

	number map[string]int // tasks by name, and by the key of that
}

// Meaning tells the scale of scores, and how sure they are.
type Meaning struct {
	// Log says that scores are logarithms of targets, and so are Residuals, Spread, Mean and
	// Doubt; predictions are of targets.
	Log bool `json:"log,omitempty"`
	// Largest bounds these logarithms, as a row far outside may be expected to be anything.
	Largest float64 `json:"largest,omitempty"`
	// Counts is the variance of counts over their expectation, whose logarithms scores are then.
	// Residuals and Spread are of counts.
	Counts float64 `json:"counts,omitempty"`
	// Doubt says how sure a mixed model is of a prediction; nil of other models.
	Doubt *Doubt `json:"doubt,omitempty"`
	// ClassDoubts are in its place where there are Classes, of the score of each against the rest.
	ClassDoubts []*Doubt `json:"class_doubts,omitempty"`
	// Shared is the prediction for a new task; nil means the mean of all tasks.
	Shared *multitask.Linear `json:"-"`
}

// Expect makes predictions of scores.
func (m *Meaning) Expect(scores []float64) {
	if m.Log {
		Expect(scores, m.Largest)
	}
}

// Task is a task of a saved model.
type Task struct {
	Name string `json:"name"`
	// Negative and Positive are its classes.
	Negative string `json:"negative,omitempty"`
	Positive string `json:"positive,omitempty"`
	// Rows is how many labelled rows it was fitted on.
	Rows int `json:"rows"`
	// StandardError is the root mean squared error of predictions for rows that
	// were held out; regression only, 0 if unknown.
	StandardError float64 `json:"standard_error,omitempty"`
	// Mean is the mean of the targets it was fitted on, or the share of each of its classes.
	// A task without rows has the mean of all tasks.
	Mean []float64 `json:"mean,omitempty"`
	// Spread is the unit of residuals: the StandardError, which for few rows is drawn to the
	// StandardError of all tasks.
	Spread float64 `json:"spread,omitempty"`
}

// The files of a saved model.
const (
	File        = "model.json"
	WeightsFile = "weights.safetensors"
	ReportFile  = "fit.json"

	besideDir   = "stl"
	schema      = 1
	checksumKey = "model.json's sha256"
)

// ErrSaved marks a directory that holds no sound saved model.
var ErrSaved = fault.New("not a saved model")

// New returns a fit on a problem whose rows the recipe makes.
func New(r *multitask.Result, problem *data.ProblemData, recipe table.Recipe) (*Fit, error) {
	s := &Fit{
		Model: r.Model, Params: r.Params, Kind: problem.Kind(), Recipe: recipe,
		Omega: multitask.Normalised(r.Omega),
		W:     mat.DenseCopyOf(r.W), B: slices.Clone(r.B),
	}
	if problem.Several() > 0 {
		s.Classes = problem.Classes
	}
	if s.Kind == data.Classification {
		s.Temperature = 1
	}
	var pooled data.Samples
	for _, t := range problem.Tasks {
		pooled.Y = append(pooled.Y, t.TrainSet.Y...)
		pooled.Weight = append(pooled.Weight, t.TrainSet.Weights()...)
	}
	for _, t := range problem.Tasks {
		rows := t.TrainSet
		if len(rows.Y) == 0 { // nothing tells the task from others
			rows = pooled
		}
		s.Tasks = append(s.Tasks, Task{Name: t.Name, Negative: t.Negative,
			Positive: t.Positive, Rows: len(t.TrainSet.Y), Mean: s.mean(rows)})
	}
	last := len(recipe.Steps) - 1
	if last >= 0 && recipe.Steps[last].Kind == view.Standardise {
		s.Scale = &recipe.Steps[last]
		s.Recipe.Steps = recipe.Steps[:last:last]
		inTable := *s.Scale
		if last == 0 {
			inTable.Mean = s.Recipe.Offsets()
			floats.Add(inTable.Mean, s.Scale.Mean)
		}
		inTable.Pull(s.W, s.B)
	}
	s.Features = s.Recipe.Made()
	s.index()
	return s, s.Validate()
}

// mean is the mean of targets, or the share of each of their classes.
func (s *Fit) mean(rows data.Samples) []float64 {
	if s.Kind == data.Regression {
		return []float64{stat.Mean(rows.Y, rows.Weight)}
	}
	mean := make([]float64, max(2, len(s.Classes)))
	for j, w := range rows.Weights() {
		mean[multitask.LabelOf(rows.Y[j], len(s.Classes))] += w
	}
	total := floats.Sum(mean)
	for c := range mean {
		mean[c] /= total // so that no share is above 1
	}
	return mean
}

// largest bounds the numbers of a model, so that predictions for 32-bit features, and their
// squares, are finite.
const largest = 1e100

// Validate tells which parts of a model are wrong. Its W, B and Omega have the sizes of its tasks.
func (s *Fit) Validate() error {
	err := s.Recipe.Validate()
	if err != nil {
		return err
	}
	k := max(1, len(s.Classes))
	d := len(s.Features)
	shares := 1
	classify := s.Kind == data.Classification
	if classify {
		shares = max(2, k)
	}
	switch trace := mat.Trace(s.Omega); {
	case math.Abs(trace-1) > 1e-9: // far above rounding
		return fmt.Errorf("tensor Omega has the trace %v; it must be 1", trace)
	case !data.Definite(s.Omega, 1e-12): // eigenvalues of thousands of tasks would take seconds
		return errors.New("tensor Omega is no covariance: an entry is not finite, or an eigenvalue is negative")
	case !classify && (s.Kind != data.Regression || s.Classes != nil):
		return fmt.Errorf("kind is %q; it must be %s or, with classes, %s", s.Kind,
			data.Regression, data.Classification)
	case s.ClassDoubts != nil && len(s.ClassDoubts) != len(s.Classes):
		return fmt.Errorf("there are %d doubts of classes for %d classes; the numbers must be equal",
			len(s.ClassDoubts), len(s.Classes))
	case s.Classes != nil && k < 3:
		return fmt.Errorf("classes are %q; more than two must be named", s.Classes)
	case !slices.Equal(s.Features, s.Recipe.Made()):
		return errors.New("features are not the features that the recipe makes")
	case !(s.Threshold >= 0 && s.Threshold <= 1) ||
		s.Threshold > 0 && shares != 2:
		return fmt.Errorf("threshold is %v; it must be a probability, and there must be two classes", s.Threshold)
	case classify && !(s.Temperature >= 1e-3 && s.Temperature <= 1e3):
		return fmt.Errorf("temperature is %v; it must be between 0.001 and 1000", s.Temperature)
	case s.Shared != nil &&
		(len(s.Shared.W) != k*d || len(s.Shared.B) != k):
		return fmt.Errorf("the weights of a new task are not of %d features and %d classes", d, k)
	}
	if s.Scale != nil {
		scale := *s.Scale
		scale.Kind = view.Standardise // no other is asked for its deviations
		err := scale.Validate(d)
		if err != nil {
			return fmt.Errorf("scale: %w", err)
		}
	}
	for _, doubt := range s.doubts {
		if doubt == nil || len(doubt.Tasks) != len(s.Tasks)+1 ||
			len(doubt.Common)%(d+1)+len(doubt.Own)%(d+1) > 0 {
			return fmt.Errorf("doubt is not of %d features and %d tasks",
				d, len(s.Tasks))
		}
	}
	for _, t := range s.Tasks {
		if len(t.Mean) != shares || classify &&
			(slices.Min(t.Mean) < 0 ||
				math.Abs(floats.Sum(t.Mean)-1) > 1e-9) {
			return fmt.Errorf("task %q: mean is %v; it has the share of each class, or one number", t.Name, t.Mean)
		}
	}
	return s.checkNumbers(k)
}

// checkNumbers checks that the numbers of a model of k classes have finite predictions.
func (s *Fit) checkNumbers(k int) (err error) {
	check := func(low float64, numbers ...float64) {
		for _, v := range numbers {
			if !(v >= low && v <= largest) {
				err = fmt.Errorf("a number is %v; it must lie between %v and %v", v, low, largest)
			}
		}
	}
	check(0, s.Spread, s.Counts)
	check(0, s.Residuals...)
	check(-largest, s.W.RawMatrix().Data...)
	if s.Shared != nil {
		check(-largest, s.Shared.W...)
		check(-largest, s.Shared.B...)
	}
	for _, d := range s.doubts {
		check(0, d.Noise)
		check(-largest, d.Common...)
		check(-largest, d.Own...)
		for _, t := range d.Tasks {
			check(0, t.Left, t.Scale)
			check(-largest, t.Loading)
		}
	}
	for i, t := range s.Tasks {
		check(0, float64(t.Rows), t.Spread, t.StandardError)
		check(-largest, t.Mean...)
		for c, b := range s.B[i*k:][:k] {
			if k == 1 || t.Mean[c] > 0 ||
				!math.IsInf(b, -1) { // else the task cannot have the class
				check(-largest, b)
			}
		}
	}
	return err
}

// document is model.json.
type document struct {
	Schema int `json:"schema"`
	*Fit
	// ReportSum and BesideSum are checksums of the Report and of model.json of the fit Beside.
	ReportSum string `json:"report_sha256,omitempty"`
	BesideSum string `json:"stl_sha256,omitempty"`
}

// Save writes the model to a directory, which is made if need be. It replaces an older
// model whole or not at all.
func (s *Fit) Save(dir string) error {
	folder, err := files.Claim(dir)
	if err != nil {
		return err
	}
	return errors.Join(s.SaveTo(folder), folder.Close())
}

// SaveTo is Save to a directory that this process has claimed.
func (s *Fit) SaveTo(folder *files.Folder) error {
	err := folder.Replace(func(dir string) error {
		_, err := s.write(dir)
		return err
	})
	if err != nil || s.Beside != nil {
		return err
	}
	// An older model may have had a fit beside, which nothing reads any more.
	stl := filepath.Join(folder.Path, besideDir)
	for _, name := range []string{File, WeightsFile, ""} {
		_ = os.Remove(filepath.Join(stl, name))
	}
	return nil
}

// write writes the files to a directory, and returns the checksum of model.json.
func (s *Fit) write(dir string) (sum string, err error) {
	d := document{Schema: schema, Fit: s}
	err = os.MkdirAll(dir, 0o755)
	if s.Report != nil {
		d.ReportSum = files.Sum(s.Report)
		err = cmp.Or(err,
			files.WriteFile(filepath.Join(dir, ReportFile), s.Report))
	}
	if s.Beside != nil && err == nil {
		d.BesideSum, err = s.Beside.write(filepath.Join(dir, besideDir))
	}
	b, invalid := json.Marshal(d)
	err = cmp.Or(err, invalid)
	if err != nil {
		return "", err
	}
	sum = files.Sum(b)
	return sum, cmp.Or(
		safetensors.Write(filepath.Join(dir, WeightsFile),
			s.tensors(), map[string]string{checksumKey: sum}),
		files.WriteFile(filepath.Join(dir, File), b))
}

// tensors are W, b and Omega as their file has them.
func (s *Fit) tensors() (tensors []safetensors.Tensor) {
	add := func(name string, value []float64, shape ...int) {
		tensors = append(tensors, safetensors.Tensor{
			Name:  name,
			DType: safetensors.F64,
			Shape: shape,
			Value: value,
		})
	}
	d := len(s.Features)
	m := len(s.Tasks)
	add("W", mat.DenseCopyOf(s.W).RawMatrix().Data, s.shape(d, m)...)
	add("b", safetensors.Transposed(s.B, m, len(s.B)/m),
		s.shape(m)...)
	add("Omega", mat.DenseCopyOf(s.Omega).RawMatrix().Data, m, m)
	l := s.Shared
	if l != nil {
		add("shared W", l.W, d, len(l.B))
		add("shared b", l.B, len(l.B))
	}
	for name, doubt := range s.doubts {
		add("doubt common"+name, doubt.Common, len(doubt.Common)/(d+1), d+1)
		add("doubt own"+name, doubt.Own, len(doubt.Own)/(d+1), d+1)
	}
	return tensors
}

// doubts are all that there are, with the ends of their tensors' names.
func (s *Fit) doubts(yield func(string, *Doubt) bool) {
	if s.Doubt != nil && !yield("", s.Doubt) {
		return
	}
	for class, doubt := range s.ClassDoubts {
		if !yield(fmt.Sprintf(" %d", class), doubt) {
			return
		}
	}
}

// DoubtOf is the doubt of the score of a class, or of the only score.
func (s *Fit) DoubtOf(class int) *Doubt {
	if s.ClassDoubts == nil {
		return s.Doubt
	}
	return s.ClassDoubts[class]
}

// shape puts the classes, where there are more than two, before other dimensions.
func (s *Fit) shape(dimensions ...int) []int {
	if s.Classes == nil {
		return dimensions
	}
	return append([]int{len(s.Classes)}, dimensions...)
}

// Load reads a model that Save wrote, and checks that its files are whole,
// belong together and hold a model.
func Load(dir string) (*Fit, error) {
	if err := files.Settle(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, File)
	weights := filepath.Join(dir, WeightsFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, ErrSaved.Errorf("%w; give the directory that a fit was saved to", err)
	}
	s := &Fit{}
	doc := document{Fit: s}
	if err := files.DecodeSchema(b, schema, &doc); err != nil {
		return nil, ErrSaved.Errorf("%s: %w; take the program that wrote it, or fit again", path, err)
	}
	tensors, metadata, err := safetensors.Read(weights)
	if err != nil {
		return nil, ErrSaved.Errorf("%w", err)
	}
	if metadata[checksumKey] != files.Sum(b) {
		return nil, ErrSaved.Errorf("%s: its weights are of another fit than %s, or one of the two was changed; fit again", dir, File)
	}
	found := map[string]safetensors.Tensor{}
	for _, t := range tensors {
		found[t.Name] = t
	}
	d := len(s.Features)
	m := len(s.Tasks)
	shapes := map[string][]int{
		"W": s.shape(d, m), "b": s.shape(m), "Omega": {m, m},
	}
	for name, shape := range shapes {
		if d*m == 0 || !slices.Equal(found[name].Shape, shape) {
			return nil, ErrSaved.Errorf("%s: tensor %s is not of %d features, %d tasks and %d classes",
				weights, name, d, m, len(s.Classes))
		}
	}
	k := max(1, len(s.Classes))
	s.W = mat.NewDense(k*d, m, found["W"].Value)
	s.B = safetensors.Transposed(found["b"].Value, k, m)
	s.Omega = mat.NewSymDense(m, found["Omega"].Value)
	shared, ok := found["shared W"]
	if ok {
		s.Shared = &multitask.Linear{
			W: shared.Value,
			B: found["shared b"].Value,
		}
	}
	for name, doubt := range s.doubts {
		if doubt != nil {
			doubt.Common = found["doubt common"+name].Value
			doubt.Own = found["doubt own"+name].Value
		}
	}
	if err := s.Validate(); err != nil {
		return nil, ErrSaved.Errorf("%s: %w", path, err)
	}
	s.index()
	s.Report, err = part(dir, ReportFile, doc.ReportSum)
	if err != nil {
		return nil, err
	}
	single, err := part(dir, filepath.Join(besideDir, File), doc.BesideSum)
	if err == nil && single != nil {
		s.Beside, err = Load(filepath.Join(dir, besideDir))
	}
	return s, err
}

// part reads a file that model.json names by its checksum, if both are there.
func part(dir, name, sum string) ([]byte, error) {
	if sum == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && files.Sum(raw) != sum {
		err = ErrSaved.Errorf("%s: its %s is of another fit than %s, or one of the two was changed; fit again", dir, name, File)
	}
	return raw, err
}

// ErrUnknownTask marks a task that a saved model does not have.
var ErrUnknownTask = fault.New("unknown task")

// Average stands for a task that the model does not have: its W and b are means over all tasks.
const Average = -1

// TaskNames returns the names of the tasks, in order.
func (s *Fit) TaskNames() (names []string) {
	for _, t := range s.Tasks {
		names = append(names, t.Name)
	}
	return names
}

// Task returns the number of a task.
func (s *Fit) Task(name string) (int, error) {
	i := s.known(name)
	if i != Average {
		return i, nil
	}
	return 0, ErrUnknownTask.Errorf("the model has no task %q; it has %s", name,
		format.Abridge(s.TaskNames()))
}

// Linear is W and b of a task, or of the Average. A class has the mean of the
// tasks that have it.
func (s *Fit) Linear(task int) multitask.Linear {
	if task != Average {
		return multitask.LinearOf(s.W, s.B, task)
	}
	if s.Shared != nil {
		return *s.Shared
	}
	k := max(1, len(s.Classes))
	d := len(s.Features)
	mean := multitask.Linear{
		W: make([]float64, d*k),
		B: make([]float64, k),
	}
	for c := range k {
		n := 0.0
		for i, t := range s.Tasks {
			if k > 1 && t.Mean[c] == 0 {
				continue
			}
			n++
			mean.B[c] += s.B[i*k+c]
			for j := range d {
				mean.W[j*k+c] += s.W.At(c*d+j, i)
			}
		}
		if n == 0 {
			mean.B[c] = math.Inf(-1)
			continue
		}
		mean.B[c] /= n
		for j := range d {
			mean.W[j*k+c] /= n
		}
	}
	return mean
}

// ClassesOf are the classes of a task, in the order of ClassOf; a regression has none. The Average
// has the classes of the first task.
func (s *Fit) ClassesOf(task int) []string {
	if s.Kind == data.Regression || s.Classes != nil {
		return s.Classes
	}
	t := s.Tasks[max(0, task)]
	return []string{t.Negative, t.Positive}
}

// Predict returns the predictions of a task for rows of features as they are in a table:
// values for a regression, and for classes scores, which are positive for the
// positive class. Where there are Classes a row has a score for each of them, and
// these stand row by row.
func (s *Fit) Predict(task string, x data.Matrix) ([]float64, error) {
	i, err := s.Task(task)
	if err != nil {
		return nil, err
	}
	offsets := s.Recipe.Offsets()
	if floats.Norm(offsets, 1) > 0 {
		x, err = less(x, offsets)
		if err != nil {
			return nil, fmt.Errorf("predict: %w", err)
		}
	}
	x, _, err = s.Prepare(x)
	if err != nil {
		return nil, err
	}
	return s.scores(i, x), nil
}

// less takes the offsets of columns off dense rows.
func less(x data.Matrix, offsets []float64) (data.Matrix, error) {
	step := view.Step{
		Kind: view.Standardise,
		Cols: len(offsets),
		Mean: offsets,
	}
	step.Deviation = slices.Repeat([]float64{1}, len(offsets))
	return step.Apply(x)
}

// scores are the predictions of a task for rows that Prepare has made. Without steps the intercept
// is for features as they are in a table, and rows have features less their offsets.
func (s *Fit) scores(task int, x data.Matrix) []float64 {
	l := s.Linear(task)
	k := len(l.B)
	l.B = slices.Clone(l.B)
	if len(s.Recipe.Steps) == 0 {
		for j, offset := range s.Recipe.Offsets() {
			floats.AddScaled(l.B, offset, l.W[j*k:][:k])
		}
	}
	scores := l.Scores(x)
	s.Expect(scores)
	if s.Kind == data.Classification {
		Moderate(scores, s.Doubt.Variances(task, x)[0])
	}
	return scores
}

// Prepare applies the recipe's steps to rows that it has made, and returns the features that W
// multiplies. Strangers counts the cells of each column that are outside of the values that it was
// fitted on.
func (s *Fit) Prepare(x data.Matrix) (features data.Matrix, strangers []int, err error) {
	d := s.Recipe.Width()
	if x.Cols() != d {
		return nil, nil, data.Mismatch("predict: the rows have %d features; the model takes %d",
			x.Cols(), d)
	}
	for _, step := range s.Recipe.Steps {
		if step.Low != nil {
			strangers = step.Outside(x)
		}
		x, err = step.Apply(x)
		if err != nil {
			return nil, nil, fmt.Errorf("predict: %w", err)
		}
	}
	return x, strangers, nil
}

// Interval is how far below and above a prediction of a task the target of a row may be, in
// standard errors of the row, which it is not with a probability of 1 - level. It is infinite
// where too few rows were held out to tell.
func (s *Fit) Interval(level float64) float64 {
	k := max(1, int(math.Ceil(level*float64(len(s.Residuals)+1))))
	if k > len(s.Residuals) {
		return math.Inf(1)
	}
	return s.Residuals[k-1]
}

// Cut is the score above which a row is of the positive of two classes.
func (s *Fit) Cut() float64 {
	if s.Threshold == 0 {
		return 0
	}
	return s.Temperature * math.Log(s.Threshold/(1-s.Threshold))
}

// Bounds are the ends of the interval of a prediction that is so many of its standard errors wide,
// of a logarithm on either side of it. Bounds of counts are whole numbers.
func (s *Fit) Bounds(prediction, wide, standardError float64) (low, high float64) {
	half := wide * standardError
	if s.Counts > 0 {
		low = math.Ceil(max(0, prediction-half))
		high = math.Floor(prediction + half)
		return min(low, high), max(low, high)
	}
	if s.Log {
		factor := math.Exp(min(half, largestLog))
		return prediction / factor, prediction * factor
	}
	return prediction - half, prediction + half
}

// largestLog bounds logarithms, so that predictions are finite.
const largestLog = 300

// LargestOf is the logarithm that predictions have at most if targets have these: a deviation above
// their largest.
func LargestOf(logs []float64) float64 {
	return min(largestLog, slices.Max(logs)+stat.PopStdDev(logs, nil))
}

// Expect makes predictions of their logarithms, which it takes for largest at most.
func Expect(scores []float64, largest float64) {
	for i, v := range scores {
		scores[i] = math.Exp(min(v, largest, largestLog))
	}
}

// Disperse makes variances of counts of the variances of their expected logarithms.
func Disperse(variances, expected []float64, dispersion float64) {
	for i, mean := range expected {
		variances[i] = mean * (dispersion + mean*variances[i])
	}
}

// Deviations are the standard errors of predictions of a task for rows of the recipe's making.
func (s *Fit) Deviations(task int, x data.Matrix) []float64 {
	spread := s.Spread
	if task != Average {
		spread = s.Tasks[task].Spread
	}
	v := s.Doubt.Variances(task, x)[0]
	if v == nil {
		v = slices.Repeat([]float64{1}, x.Rows())
	}
	if s.Counts > 0 {
		Disperse(v, s.scores(task, x), s.Counts)
	}
	for i := range v {
		v[i] = spread * math.Sqrt(v[i])
	}
	return v
}
