package saved

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/format"
	"l2mt/data/table"
	"l2mt/data/view"
	"l2mt/model/multitask"
)

// towns is a table of three tasks with features of unlike scales, one of them constant.
func towns() string {
	var text strings.Builder
	text.WriteString("task,small,large,none,y\n")
	random := data.Stream(1, "saved")
	for i := range 60 {
		a, b := random.NormFloat64(), 5000+300*random.NormFloat64()
		fmt.Fprintf(&text, "%s,%v,%v,7,%v\n", []string{"north", "south", "east"}[i%3], a, b, 3+a+b/100+0.1*random.NormFloat64())
	}
	return text.String()
}

// animals has three classes, of which the task south lacks one.
func animals() string {
	var text strings.Builder
	text.WriteString("task,small,large,y\n")
	random := data.Stream(1, "saved classes")
	for i := range 90 {
		task, c := []string{"north", "south", "east"}[i%3], i/3%3
		if task == "south" {
			c %= 2
		}
		fmt.Fprintf(&text, "%s,%v,%v,%s\n", task, float64(c%2)+0.5*random.NormFloat64(), 5000+300*float64(c)+200*random.NormFloat64(), []string{"ant", "bee", "cat"}[c])
	}
	return text.String()
}

func read(t testing.TB, text string, steps ...string) *table.Table {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.csv")
	datatest.Check(t, os.WriteFile(path, []byte(text), 0o644))
	return datatest.Must(table.Read([]string{path}, table.Options{Task: "task", Steps: steps}))(t)
}

func fitOf(t testing.TB, tab *table.Table) (*Fit, *multitask.Result) {
	t.Helper()
	train := datatest.Must(multitask.Training(tab.Problem))(t)
	model := datatest.Must(multitask.Lookup("mtrl"))(t)
	r := datatest.Must(multitask.Fit(t.Context(), model, train, multitask.Params{Lambda1: 0.01}, multitask.Options{}))(t)
	return datatest.Must(New(r, tab.Problem, tab.Recipe))(t), r
}

// The rows of a large table come in order for any number of workers, each with the scores
// that Predict gives it, and what the fit does not know is counted.
func TestRowsOfATable(t *testing.T) {
	tab := read(t, towns(), table.None)
	fit, _ := fitOf(t, tab)
	wanted, labels := map[string][]float64{}, map[string][]float64{"west": {math.NaN()}}
	for _, task := range tab.Problem.Tasks {
		wanted[task.Name], labels[task.Name] = datatest.Must(fit.Predict(task.Name, task.TrainSet.X))(t), task.TrainSet.Y
	}
	header, lines, _ := strings.Cut(towns(), "\n")
	text := header + "\n" + strings.Repeat(lines, 200) + "west,1,5000,7,?\n"
	fit.Beside = fit
	for _, workers := range []int{1, 3} {
		rows := datatest.Must(fit.OpenRows("large", RowOptions{Workers: workers, Format: format.Options{From: stream(text)}}))(t)
		at, blocks, unlabelled := map[string]int{}, 0, 0
		err := rows.Each(t.Context(), func(b *Block) { b.Text = []byte(b.Answers[0].Name) }, func(b *Block) error {
			blocks++
			for _, a := range b.Answers {
				if want := wanted[a.Name]; want != nil && !slices.Equal(a.Scores, slices.Repeat(want[at[a.Name]%20:][:1], 2)) {
					return fmt.Errorf("row %d of %s has the scores %v, of one fit twice; want %v", at[a.Name], a.Name, a.Scores, want[at[a.Name]%20])
				}
				if y := labels[a.Name][at[a.Name]%20]; math.IsNaN(a.Label) {
					unlabelled++
				} else if a.Label != y {
					return fmt.Errorf("row %d of %s has the label %v; want %v", at[a.Name], a.Name, a.Label, y)
				}
				at[a.Name]++
			}
			if string(b.Text) != b.Answers[0].Name {
				return fmt.Errorf("the work on block %d left %q", blocks, b.Text)
			}
			return nil
		})
		if notes, _ := rows.Notes(); err != nil || blocks < 3 || unlabelled != 1 || at["west"] != 1 || len(notes) != 1 || !strings.HasPrefix(notes[0], `rows of the task "west"`) {
			t.Errorf("%d workers: %v, %d blocks, rows %v, %d of them without a label, notes %s", workers, err, blocks, at, unlabelled, notes)
		}
	}
	other, _ := fitOf(t, read(t, strings.ReplaceAll(towns(), "east", "west")))
	fit.Beside = other
	for want, o := range map[error]RowOptions{
		ErrNoTask:        {Format: format.Options{From: stream(header[5:])}},
		data.ErrMismatch: {Format: format.Options{From: stream(text)}},
	} {
		datatest.Refused(fit.OpenRows("small", o))(t, want)
	}
	kind := *fit
	kind.Kind = data.Classification
	fit.Beside = &kind
	datatest.Refused(fit.OpenRows("small", RowOptions{Format: format.Options{From: stream(text)}}))(t, data.ErrMismatch)
}

func stream(text string) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }

// What is loaded predicts the same bits as what was saved, and rows of the table get the
// scores of the fit on standardised rows, to the rounding of these to float32.
func TestLoadedModelsPredictAsTheFit(t *testing.T) {
	for what, text := range map[string]string{"regression": towns(), "classes": animals()} {
		tab, bare := read(t, text), read(t, text, table.None)
		made, r := fitOf(t, tab)
		datatest.Need(t, made.Scale != nil && len(made.Recipe.Steps) == 0,
			"%s: the standardisation is not in W: %+v", what, made.Recipe)
		dir := filepath.Join(t.TempDir(), "a", "model")
		for range 2 { // the second replaces the first
			datatest.Check(t, made.Save(dir))
		}
		loaded := datatest.Must(Load(dir))(t)
		for i, task := range bare.Problem.Tasks {
			want := datatest.Must(made.Predict(task.Name, task.TrainSet.X))(t)
			got := datatest.Must(loaded.Predict(task.Name, task.TrainSet.X))(t)
			datatest.Equal(t, got, want, "%s, task %s: loaded", what, task.Name)
			for j, f := range r.Scores(i, tab.Problem.Tasks[i].TrainSet.X) {
				if got[j] != f { // both may be -Inf
					near(t, fmt.Sprintf("%s, task %s, score %d", what, task.Name, j), got[j], f, 1e-4)
				}
			}
			one, k := datatest.Must(loaded.Predict(task.Name, task.TrainSet.X.Take([]int{3})))(t), max(1, len(loaded.Classes))
			datatest.Equal(t, one, want[3*k:][:k], "%s, task %s, row 3 alone", what, task.Name)
		}
		datatest.Holds(t, mat.Equal(loaded.Omega, made.Omega) && fmt.Sprint(loaded.Tasks) == fmt.Sprint(made.Tasks) && slices.Equal(loaded.Features, made.Features),
			"%s: loaded %+v, saved %+v", what, loaded, made)
		rows, err := loaded.Predict("north", bare.Problem.Tasks[0].TrainSet.X.Take(nil))
		datatest.Holds(t, err == nil && len(rows) <= 0, "%s: no rows are predicted as %v, %v", what, rows, err)
		datatest.Refused(loaded.Predict("nroth", bare.Problem.Tasks[0].TrainSet.X))(t, ErrUnknownTask, `the model has no task "nroth"; it has east, north, south`)
	}
}

// A task that the model does not know has the mean of all, of a class of those that have it.
func TestAverage(t *testing.T) {
	regression, _ := fitOf(t, read(t, towns()))
	mean := regression.Linear(Average)
	near(t, "b", mean.B[0], (regression.B[0]+regression.B[1]+regression.B[2])/3, 1e-12)
	near(t, "w", mean.W[1], (regression.W.At(1, 0)+regression.W.At(1, 1)+regression.W.At(1, 2))/3, 1e-12)
	datatest.Equal(t, mean.W[2], 0, "the weight of a constant feature")
	classes, _ := fitOf(t, read(t, animals()))
	datatest.Equal(t, classes.ClassesOf(1), []string{"ant", "bee", "cat"}, "classes")
	var p [3]float64
	if data.Probabilities(p[:], classes.Linear(2).B, classes.Temperature); !(p[2] > 0) {
		t.Errorf("south, which lacks the class cat, has the probabilities %v", p)
	}
	mean = classes.Linear(Average)
	near(t, "b of ant", mean.B[0], (classes.B[0]+classes.B[3]+classes.B[6])/3, 1e-12)
	near(t, "b of cat", mean.B[2], (classes.B[2]+classes.B[5])/2, 1e-12)
	near(t, "w of cat", mean.W[1*3+2], (classes.W.At(5, 0)+classes.W.At(5, 1))/2, 1e-12)
}

func TestSavedModelsThatAreDamaged(t *testing.T) {
	saved, _ := fitOf(t, read(t, towns()))
	dir := t.TempDir()
	datatest.Check(t, saved.Save(dir))
	check := func(what, want string) {
		t.Helper()
		_, err := Load(dir)
		datatest.Holds(t, err != nil && errors.Is(err, ErrSaved) && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "\n"),
			"%s: %v, want %q", what, err, want)
	}
	for _, name := range []string{File, WeightsFile} {
		path := filepath.Join(dir, name)
		whole := datatest.Must(os.ReadFile(path))(t)
		for _, n := range []int{0, 1, 7, 8, 9, len(whole) / 2, len(whole) - 1} {
			datatest.Check(t, os.WriteFile(path, whole[:n], 0o644))
			check(fmt.Sprintf("%s of %d bytes", name, n), "")
		}
		datatest.Check(t, os.Remove(path))
		check(name+" missing", name)
		datatest.Check(t, os.WriteFile(path, whole, 0o644))
	}
	path := filepath.Join(dir, File)
	whole, _ := os.ReadFile(path)
	for _, c := range []struct{ old, new, want string }{
		{`"schema":1`, `"schema":2`, "schema 2; this program reads schema 1"},
		{`"north"`, `"nord"`, "its weights are of another fit than model.json"},
	} {
		datatest.Check(t, os.WriteFile(path, bytes.Replace(whole, []byte(c.old), []byte(c.new), 1), 0o644))
		check(c.old, c.want)
	}
	if _, err := Load(filepath.Join(dir, "nowhere")); !errors.Is(err, ErrSaved) || !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// What no fit comes to is refused in words, though the checksums are right.
func TestLoadChecksAllThatAModelHolds(t *testing.T) {
	for want, forge := range map[string]func(s *Fit){
		"a number is NaN":        func(s *Fit) { s.W.Set(1, 1, math.NaN()) },
		"a number is +Inf":       func(s *Fit) { s.B[1] = math.Inf(1) },
		"an entry is not finite": func(s *Fit) { s.Omega.SetSym(0, 1, math.NaN()) },
		"; it must be 1":         func(s *Fit) { s.Omega.ScaleSym(2, s.Omega) },
		"an eigenvalue is negative": func(s *Fit) { // any two of the tasks could be so related
			s.Omega = mat.NewSymDense(3, []float64{1. / 3, .3, .3, .3, 1. / 3, -.3, .3, -.3, 1. / 3})
		},
		"temperature is -1":                         func(s *Fit) { s.Temperature = -1 },
		`kind is "bogus"; it must be`:               func(s *Fit) { s.Kind = "bogus" },
		"features are not the features":             func(s *Fit) { s.Features[0] = "other" },
		`there is no step "bogus"`:                  func(s *Fit) { s.Recipe.Steps = []view.Step{{Kind: "bogus"}} },
		"for 1 columns; there are 2":                func(s *Fit) { s.Recipe.Steps = []view.Step{{Kind: view.Unit, Cols: 1}} },
		"there must be columns":                     func(s *Fit) { s.Recipe.Columns = nil },
		"mean is [2 -1 0]; it has the share":        func(s *Fit) { s.Tasks[0].Mean = []float64{2, -1, 0} },
		"a number is -5; it must lie between 0 and": func(s *Fit) { s.Tasks[0].Rows = -5 },
		"scale: step \"standardise\": it":           func(s *Fit) { s.Scale.Deviation = nil },
		"there are 1 doubts of classes":             func(s *Fit) { s.ClassDoubts = []*Doubt{{}} },
		"doubt is not of 2 features":                func(s *Fit) { s.Doubt = &Doubt{Noise: 1} },
		"a number is -2; it must lie between 0 and": func(s *Fit) { s.Doubt = &Doubt{Noise: -2, Tasks: make([]TaskDoubt, 4)} },
	} {
		s, _ := fitOf(t, read(t, animals()))
		forge(s)
		dir := t.TempDir()
		datatest.Check(t, s.Save(dir))
		datatest.Refused(Load(dir))(t, ErrSaved, want)
	}
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	datatest.Near(t, got, want, tol*math.Abs(want), "%s =", what)
}

// A share of nine rows of nine is 1: nine times a ninth is more, and its log odds are no number.
func TestSharesAreAtMostOne(t *testing.T) {
	for n := 1; n < 60; n++ {
		y := slices.Repeat([]float64{1}, n)
		x := datatest.Must(data.NewDense(n, 1, make([]float32, n)))(t)
		task := &data.Task{Name: "a", Kind: data.Classification, Negative: "no", Positive: "yes"}
		p := &data.ProblemData{Problem: &data.Problem{}, Tasks: []data.TaskData{{Task: task, TrainSet: data.Samples{X: x, Y: y}}}}
		r := &multitask.Result{W: mat.NewDense(1, 1, nil), B: []float64{0}, Omega: mat.NewSymDense(1, []float64{1})}
		datatest.Equal(t, datatest.Must(New(r, p, table.Numbers(nil, 1)))(t).Tasks[0].Mean, []float64{0, 1}, "%d rows of one class have the shares", n)
	}
}

// Rows to predict spell tasks, categories and classes as they like: the fit takes them for what it
// has seen.
func TestSpellingsOfNewRows(t *testing.T) {
	text := "task,word,y\n" + strings.Repeat("Caf\u00e9,True,yes\nCaf\u00e9,False,no\n2,True,no\n2,False,yes\n", 4)
	fit, _ := fitOf(t, read(t, text))
	scores := func(text string) (all []float64) {
		rows := datatest.Must(fit.OpenRows("rows", RowOptions{Format: format.Options{From: stream(text)}}))(t)
		defer rows.Close()
		err := rows.Each(t.Context(), nil, func(b *Block) error {
			for _, a := range b.Answers {
				all = append(all, a.Label, a.Scores[0])
			}
			return nil
		})
		notes, _ := rows.Notes()
		datatest.Holds(t, err == nil && len(notes) <= 0, "notes %q, %v", notes, err)
		return all
	}
	want := scores("task,word,y\nCaf\u00e9,True,yes\n2,False,no\n")
	got := scores("task,word,y\nCAFE\u0301,TRUE,YES\n2.0,false,No\n")
	datatest.Holds(t, len(got) == 4 && slices.Equal(got, want), "labels and scores %v, want %v", got, want)
}
