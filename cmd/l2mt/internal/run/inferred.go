package run

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"l2mt/cmd/l2mt/internal/plot"
	"l2mt/data"
	"l2mt/data/table"
	"l2mt/infer/solve"
	"l2mt/model/multitask"
)

// mostPrinted is the number of tasks up to which a correlation matrix is printed.
const mostPrinted = 20

// Write prints the result.
func (r *Inference) Write(w io.Writer, candidates bool) {
	fmt.Fprintf(w, "problem %s, %d tasks\n\n", r.Problem, len(r.Tasks))
	for _, v := range r.Views() {
		fmt.Fprintf(w, "task correlations of %s; relative error expected %.4f\n", v.Title, v.Expected)
		if len(r.Tasks) > mostPrinted {
			fmt.Fprintf(w, "too many to print: see correlation.png and result.json of --out, or --json\n\n")
			continue
		}
		WriteMatrix(w, v.Correlation, r.Tasks)
		fmt.Fprintln(w)
	}
	if r.Fit != nil {
		r.writeFit(w)
		if candidates {
			WriteCandidates(w, r.problem.Kind(), r.Fit.Candidates)
		}
	}
	if r.Models != nil {
		r.writeModels(w)
	}
	r.writeNearest(w)
	if r.Unlike != nil {
		fmt.Fprintf(w, "\n%s\n", r.Unlike)
	}
	s := r.Seconds
	fmt.Fprintf(w, "\nseconds: reading %.3f, label graph and embedding %.3f, eigendecomposition and scan %.6f", s.Reading, s.Embedding, s.Solving)
	if r.Fit != nil {
		fmt.Fprintf(w, ", fits %.3f", s.Fitting)
	}
	if r.Models != nil {
		fmt.Fprintf(w, ", models %.3f", s.Selecting)
	}
	fmt.Fprintln(w)
}

// Views are the covariance found and, if it is another, the one used.
func (r *Inference) Views() []*View {
	if r.Used == nil || r.Fit.Candidate.Network == 1 {
		return []*View{r.Found}
	}
	return []*View{r.Found, r.Used}
}

func (r *Inference) writeFit(w io.Writer) {
	what := ErrorName(w, r.problem.Kind())
	fmt.Fprintf(w, "%s; lambda1 = %s, fitted on all %d labelled rows; of rows held out the mean %s is %.4f, and %.4f of single-task learning\n",
		r.Fit.Candidate.Title(), Number(r.Fit.Lambda1), r.Fit.Rows, what, r.Fit.Validation.Mean, r.Fit.HeldOutSTL)
	if signal := float64(r.Fit.Signal); !math.IsNaN(signal) {
		fmt.Fprintf(w, "%.2f of the usual signal lies along the directions of the training tasks\n", signal)
	}
	fmt.Fprintln(w)
	if len(r.Fit.Test.Task) == 0 {
		return
	}
	t := Columns(w)
	fmt.Fprintf(t, "test %s\tSTL\trelative\t  task\n", what)
	row := func(l2mt, stl float64, name string) {
		fmt.Fprintf(t, "%.4f\t%.4f\t%s\t  %s\n", l2mt, stl, ratio(l2mt, stl), name)
	}
	for i, name := range r.Tasks {
		row(r.Fit.Test.Task[i], r.Fit.STL.Task[i], name)
	}
	row(r.Fit.Test.Mean, r.Fit.STL.Mean, "mean")
	t.Flush()
}

func (r *Inference) writeModels(w io.Writer) {
	fmt.Fprintf(w, "\nof the paper's ten models the network expects most of the covariance of %s\n", r.Models[0].Title)
	t := Columns(w)
	fmt.Fprintln(t, "expected\trelative\ttest error\tvalidation\t  model")
	for _, m := range r.Models {
		fmt.Fprintf(t, "%.4f\t%s\t%.4f\t%.4f\t  %s\n", m.Expected, Decimals(m.Relative), m.Test, m.Validation, m.Title)
	}
	t.Flush()
}

func (r *Inference) writeNearest(w io.Writer) {
	if r.Nearest == nil {
		return
	}
	fmt.Fprint(w, "\nnearest training problems, with their distances:")
	for _, n := range r.Nearest {
		fmt.Fprintf(w, " %s (%.3f)", n.Name, n.Distance)
	}
	fmt.Fprintln(w)
	if r.Outside {
		fmt.Fprintf(w, "warning: no training problem is this near: they are at most %.3f from their nearest one, so do not trust the covariance; look at the errors\n", r.Radius)
	}
}

// Save writes the result to a directory, each file whole or not at all.
func (r *Inference) Save(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var omega []Covariance
	for _, v := range r.Views() {
		omega = append(omega, Covariance{r.Problem + ", " + v.Title, v.Omega})
	}
	if err := SaveJSON(filepath.Join(dir, "omega.json"), omega); err != nil {
		return err
	}
	picture, err := plot.Correlations(r.Correlations())
	if err := plot.Save(filepath.Join(dir, "correlation.png"), picture, err); err != nil {
		return err
	}
	if r.tuned != nil {
		rows, err := r.predictions()
		if err != nil {
			return err
		}
		if err := SaveCSV(filepath.Join(dir, "predictions.csv"), rows); err != nil {
			return err
		}
		if err := r.saveModel(dir); err != nil {
			return err
		}
	}
	if err := SaveJSON(filepath.Join(dir, SecondsFile), r.Seconds); err != nil {
		return err
	}
	timeless := *r
	timeless.Seconds = nil
	if r.Fit != nil {
		fit := *r.Fit
		fit.Candidates = slices.Clone(fit.Candidates)
		for i := range fit.Candidates {
			fit.Candidates[i].Seconds = 0
		}
		timeless.Fit = &fit
	}
	return SaveJSON(filepath.Join(dir, resultFile), timeless)
}

// saveModel keeps the fit for rows to come. Where a head makes the features it is of no use
// without that, and there is none.
func (r *Inference) saveModel(dir string) error {
	if r.head {
		return nil
	}
	recipe := table.Numbers(r.problem.Features, r.problem.Cols())
	recipe.Task = "task"
	recipe.Sparse = data.IsSparse(r.problem.Tasks[0].TrainSet.X)
	s, err := r.tuned.Saved(recipe)
	if err != nil {
		return fmt.Errorf("problem %q: %w", r.Problem, err)
	}
	s.Model = L2MT
	return SaveModel(dir, s)
}

// L2MT is what fits with what a network finds are called among models.
const L2MT = "l2mt"

// SaveModel saves a model with the versions of what made it.
func SaveModel(dir string, s *multitask.Saved) error {
	v := CurrentVersions()
	s.Versions = map[string]string{"l2mt": v.L2MT, "go": v.Go, "system": v.System}
	return s.Save(dir)
}

// predictions are those for the test rows, with the score of the class predicted
// where there are more than two. The row counts in the dataset,
// from 0.
func (r *Inference) predictions() ([][]string, error) {
	rows := [][]string{{"task", "row", "prediction", "score", "label"}}
	for i, t := range r.problem.Tasks {
		classes := r.problem.Classes
		if classes == nil {
			classes = []string{t.Negative, t.Positive}
		}
		scores, err := r.tuned.Predict(i, t.TestSet.X)
		if err != nil {
			return nil, err
		}
		k := len(scores) / max(1, len(t.TestSet.Y))
		for j, y := range t.TestSet.Y {
			of := scores[j*k:][:k]
			predicted, score, label := "", slices.Max(of), ""
			if t.Kind == data.Regression {
				predicted, label = Full(score), Full(y)
			} else {
				predicted, label = classes[multitask.ClassOf(of)], classes[multitask.LabelOf(y, k)]
			}
			rows = append(rows, []string{t.Name, strconv.Itoa(t.Test[j]), predicted, Full(score), label})
		}
	}
	return rows, nil
}

// Covariance is one entry of a file for --score. The file omega.json is
// such a list too.
type Covariance struct {
	Name  string      `json:"name"`
	Omega [][]float64 `json:"omega"`
}

const resultFile = "result.json"

// FitFile is what a fit of tables says, beside its model.
const FitFile = "fit.json"

// LoadInference reads what Save wrote.
func LoadInference(dir string) (*Inference, error) {
	r := new(Inference)
	err := LoadJSON(filepath.Join(dir, resultFile), r)
	if err == nil {
		err = Optional(LoadJSON(filepath.Join(dir, SecondsFile), &r.Seconds))
	}
	return r, err
}

// WriteCandidates lists candidates in the order in which they were tried.
func WriteCandidates(w io.Writer, k data.Kind, tried []solve.Tried) {
	loss := "log loss"
	if k == data.Regression {
		loss = "nMSE"
	}
	t := Columns(w)
	fmt.Fprintf(t, "%s\tless the best\t95 %% from\tto\tseconds\tverdict\t  candidate\n", loss)
	for _, c := range tried {
		fmt.Fprintf(t, "%.4f\t%s\t%s\t%s\t%.2f\t%s\t  %s\n", c.Loss, Decimals(c.Less), Decimals(c.Low), Decimals(c.High), c.Seconds, c.Verdict, c.Title())
	}
	t.Flush()
	fmt.Fprintln(w)
}
