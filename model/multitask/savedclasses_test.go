package multitask

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/table"
)

// classesTable has three classes, of which the task south lacks one, and features
// of unlike scales.
func classesTable(t *testing.T, steps ...string) *table.Table {
	t.Helper()
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
	path := filepath.Join(t.TempDir(), "animals.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return must(table.Read([]string{path}, table.Options{Task: "task", Steps: steps}))(t)
}

// What is saved and loaded scores rows of the table as the fit does standardised
// ones, class by class, and Python reads the same numbers:
//
//	scores = X @ weights["W"][:, :, task].T + weights["b"][:, task]
//	p = 1 / (1 + numpy.exp(-scores / model["temperature"]))
//	p /= p.sum(1, keepdims=True)
//	prediction = numpy.array(model["classes"])[p.argmax(1)]
//
// The test does the same without NumPy, which may not be there.
func TestSavedClasses(t *testing.T) {
	tab, bare := classesTable(t), classesTable(t, table.None)
	saved, r := savedOf(t, tab)
	saved.Temperature = 1.5
	dir := t.TempDir()
	if err := saved.Save(dir); err != nil {
		t.Fatal(err)
	}
	loaded := must(Load(dir))(t)
	if !slices.Equal(loaded.Classes, []string{"ant", "bee", "cat"}) || !slices.Equal(loaded.ClassesOf(1), loaded.Classes) {
		t.Errorf("classes %q", loaded.Classes)
	}
	wrong := 0
	for i, task := range bare.Problem.Tasks {
		got := must(loaded.Predict(task.Name, task.TrainSet.X))(t)
		for j, f := range r.Scores(i, tab.Problem.Tasks[i].TrainSet.X) {
			if got[j] != f { // both may be -Inf
				near(t, fmt.Sprintf("task %s, score %d", task.Name, j), got[j], f, 1e-4)
			}
		}
		for j, y := range task.TrainSet.Y {
			if ClassOf(got[3*j:][:3]) != int(y) {
				wrong++
			}
		}
	}
	if wrong > 20 {
		t.Errorf("%d of 90 rows are misclassified", wrong)
	}
	// South, the last task, lacks the class cat.
	south, mean := loaded.Linear(2), loaded.Linear(Average)
	if !math.IsInf(south.B[2], -1) {
		t.Errorf("south has %v for cat", south.B)
	}
	near(t, "mean b of ant", mean.B[0], (loaded.B[0]+loaded.B[3]+loaded.B[6])/3, 1e-12)
	near(t, "mean b of cat", mean.B[2], (loaded.B[2]+loaded.B[5])/2, 1e-12)
	near(t, "mean w of cat", mean.W[1*3+2], (loaded.W.At(5, 0)+loaded.W.At(5, 1))/2, 1e-12)

	said := python(t, dir, `
C, d, m = header["W"]["shape"]
assert header["b"]["shape"] == [C, m] and C == len(model["classes"])
x = dict(small=0.5, large=5300.0)
for name in ["north", "south"]:
    task = [t["name"] for t in model["tasks"]].index(name)
    scores = [b[c * m + task] + sum(x[f] * W[(c * d + j) * m + task] for j, f in enumerate(model["features"])) for c in range(C)]
    p = [1 / (1 + math.exp(min(700, -s / model["temperature"]))) for s in scores]
    print(max(p) / sum(p), p.index(max(p)))
`)
	x := must(data.NewDense(1, 2, []float32{0.5, 5300}))(t)
	for i, name := range []string{"north", "south"} {
		scores := must(loaded.Predict(name, x))(t)
		p := must(strconv.ParseFloat(said[2*i], 64))(t)
		all := make([]float64, 3)
		loaded.Probabilities(all, scores)
		near(t, "probability in "+name, all[ClassOf(scores)], p, 1e-9)
		if said[2*i+1] != fmt.Sprint(ClassOf(scores)) {
			t.Errorf("%s: class %d, Python says %s", name, ClassOf(scores), said[2*i+1])
		}
	}
}
