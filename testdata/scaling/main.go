// Command scaling measures how the time and the memory of l2mt grow, and draws it:
//
//	go run ./testdata/scaling DIR [SECONDS [COMMAND ...]]
//
// It makes data, runs the commands (all of them, or those named) on them one after the
// other, each a process of its own, and writes scaling.csv, scaling.md and
// scaling-COMMAND.png to DIR. Time is that of all processors on a command, which
// neighbours on the machine disturb less than the clock. A curve ends before the point
// that would take SECONDS, by default 20, at the rate of the last two.
package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"l2mt/data"
)

// size is what data look like; an axis is one of its fields.
type size struct {
	rows, features, entries, tasks, problems, classes int
	cells                                             int // of a row of a table that are not zero
	targets                                           int // classes of a table's target
}

var base = size{rows: 50, features: 100, entries: 10, tasks: 4, problems: 10, classes: 12, cells: math.MaxInt, targets: 2}

// axes are three decades each, where they end in time.
var axes = []struct {
	name, title string
	values      []int
	set         func(s *size, v int)
}{
	{"n", "rows of a task", []int{10, 30, 100, 300, 1000, 3000, 10000}, func(s *size, v int) { s.rows = v }},
	{"d", "features", []int{30, 100, 300, 1000, 3000, 10000, 30000}, func(s *size, v int) { s.features = v }},
	{"nnz", "entries of a row", []int{2, 6, 20, 60, 200, 600, 2000}, func(s *size, v int) { s.entries, s.cells, s.features = v, v, 2000 }},
	{"m", "tasks of a problem", []int{2, 6, 20, 60, 200, 600, 2000}, func(s *size, v int) { s.tasks = v }},
	{"q", "problems", []int{3, 10, 30, 100, 300, 1000, 3000}, func(s *size, v int) { s.problems = v }},
	{"classes", "classes of the dataset", []int{6, 20, 60, 200, 600, 2000}, func(s *size, v int) { s.classes = v }},
	{"targets", "classes of the target", []int{2, 6, 20, 60, 200, 600, 2000}, func(s *size, v int) { s.targets, s.rows = v, max(s.rows, 4*v) }},
}

// commands run on data in a directory, after what makes these ready; along says
// which axes change anything.
var commands = []struct {
	name, along  string
	ready, timed func(s size) [][]string
}{
	{"predict", "n d nnz m targets", func(s size) [][]string { return append(table(s), fitSmall) }, func(s size) [][]string {
		return [][]string{{"predict", "table.csv", "--model", "model", "--out", "predicted.csv"}}
	}},
	{"infer", "n d nnz m classes", problems, func(s size) [][]string {
		return [][]string{{"infer", "--omega-only", "--problems", "problems/test.json", "--out", "inferred"}}
	}},
	{"collect", "n d nnz m q classes", problems, func(s size) [][]string { return [][]string{collect} }},
	{"train", "n d nnz m q classes", func(s size) [][]string { return append(problems(s), collect) }, func(s size) [][]string {
		return [][]string{{"train", "--experience", "experience", "--out", "network", "--set", "train.epochs=5"}}
	}},
	{"fit", "n d nnz m targets", table, func(s size) [][]string { return [][]string{fit} }},
}

var (
	fit      = []string{"fit", "table.csv", "--task", "task", "--target", "y", "--out", "model"}
	fitSmall = []string{"fit", "small.csv", "--task", "task", "--target", "y", "--model", "stl", "--out", "model"}
	collect  = []string{"collect", "--problems", "problems/train.json", "--models", "stl", "--explore", "4", "--out", "experience"}
)

// table makes table.csv, and small.csv with few rows a task.
func table(s size) [][]string {
	return [][]string{{"table.csv", strconv.Itoa(s.rows)}, {"small.csv", strconv.Itoa(max(10, 4*s.targets))}}
}

// problems makes one problem to test and so many to train on, on texts of so many
// classes, of which a task has two; a third of the rows is for training.
func problems(s size) [][]string {
	return [][]string{{"texts.svm"}, {"problems", "sample", "--dataset", "texts.svm", "--out", "problems", "--train-fraction", "0.3333",
		"--train", strconv.Itoa(s.problems), "--test", "1", "--min-tasks", strconv.Itoa(s.tasks), "--max-tasks", strconv.Itoa(s.tasks)}}
}

// point is one measurement.
type point struct {
	command, axis   string
	value           int
	seconds, memory float64 // memory in MB
	spent           float64 // seconds, with what makes the data ready
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "scaling:", err)
		os.Exit(1)
	}
}

func run() error {
	limit := 20.0
	if len(os.Args) > 2 {
		var err error
		if limit, err = strconv.ParseFloat(os.Args[2], 64); err != nil {
			return err
		}
	}
	if len(os.Args) < 2 {
		return errors.New("usage: go run ./testdata/scaling DIR [SECONDS [COMMAND ...]]")
	}
	out, err := filepath.Abs(os.Args[1])
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	program := filepath.Join(out, "l2mt")
	if b, err := exec.Command("go", "build", "-o", program, "./cmd/l2mt").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, b)
	}
	var points []point
	for _, c := range commands {
		if len(os.Args) > 3 && !slices.Contains(os.Args[3:], c.name) {
			continue
		}
		for _, a := range axes {
			if !strings.Contains(" "+c.along+" ", " "+a.name+" ") {
				continue
			}
			var curve []point
			for _, v := range a.values {
				if next(curve, v) > limit {
					break
				}
				s := base
				a.set(&s, v)
				// There must be pairs of classes for the tasks of disjoint problems.
				for s.classes*(s.classes-1)/2 < 3*s.tasks {
					s.classes++
				}
				p := point{command: c.name, axis: a.name, value: v}
				if err := p.measure(program, filepath.Join(out, "work"), s, c.ready(s), c.timed(s)); err != nil {
					fmt.Fprintf(os.Stderr, "%s, %s = %d: %v\n", c.name, a.name, v, err)
					break
				}
				fmt.Printf("%-8s %-8s %6d %9.3f s %7.0f MB\n", p.command, p.axis, p.value, p.seconds, p.memory)
				curve = append(curve, p)
			}
			points = append(points, curve...)
		}
		if err := errors.Join(write(out, points), report(out, points), pictures(out, points)); err != nil {
			return err
		}
	}
	return nil
}

// next is the time that the next point would take.
func next(curve []point, v int) float64 {
	if len(curve) == 0 {
		return 0
	}
	last := curve[len(curve)-1]
	return last.spent * math.Pow(float64(v)/float64(last.value), max(0, exponent(curve)))
}

// exponent is the slope of the last two points, on logarithmic axes.
func exponent(curve []point) float64 {
	if len(curve) < 2 {
		return 0
	}
	a, b := curve[len(curve)-2], curve[len(curve)-1]
	return math.Log(b.spent/a.spent) / math.Log(float64(b.value)/float64(a.value))
}

// measure runs the commands in a new directory.
func (p *point) measure(program, dir string, s size, ready, timed [][]string) error {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o777)); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for i, command := range append(ready, timed...) {
		switch command[0] {
		case "table.csv", "small.csv":
			rows, err := strconv.Atoi(command[1])
			if err != nil {
				return err
			}
			if err := writeTable(filepath.Join(dir, command[0]), s, rows); err != nil {
				return err
			}
			continue
		case "texts.svm":
			if err := writeTexts(filepath.Join(dir, command[0]), s); err != nil {
				return err
			}
			continue
		}
		c := exec.Command(program, append([]string{"-q"}, command...)...)
		c.Dir = dir
		if b, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, b)
		}
		seconds := (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
		p.spent += seconds
		if i >= len(ready) {
			u := c.ProcessState.SysUsage().(*syscall.Rusage)
			p.seconds += seconds
			p.memory = max(p.memory, float64(u.Maxrss)/1024)
		}
	}
	return nil
}

// writeTable has tasks of two kinds, which share what they learn. Rows have cells at
// random places that are not zero.
func writeTable(path string, s size, rows int) error {
	d := s.features
	return file(path, func(w *bufio.Writer) {
		r := data.Stream(1, "table")
		filled := min(d, s.cells)
		weights := make([][]float64, 2)
		for k := range weights {
			for range d {
				weights[k] = append(weights[k], r.NormFloat64())
			}
		}
		var x []byte
		fmt.Fprint(w, "task,y")
		for j := range d {
			fmt.Fprintf(w, ",x%d", j)
		}
		for i := range s.tasks {
			for a := range rows {
				x = x[:0]
				size := 100 * math.Sqrt(float64(filled))
				score := size * (r.Float64() - 0.5)
				for j := range d {
					v := 0
					if filled == d || r.IntN(d) < filled {
						v = r.IntN(199) - 99
					}
					score += float64(v) * weights[i%2][j]
					x = strconv.AppendInt(append(x, ','), int64(v), 10)
				}
				// About a third of the rows at either end are of the outer classes.
				class := int(float64(s.targets) * (score/size + 0.5))
				if a < 2*s.targets { // of every class at least two
					class = a % s.targets
				}
				fmt.Fprintf(w, "\nt%d,c%d%s", i, min(max(class, 0), s.targets-1), x)
			}
		}
		fmt.Fprintln(w)
	})
}

// writeTexts has rows of entries at random places, those of a class more often at its
// own: as many for each class as two of them need to train a task on its rows. A tenth
// are those of any class, so that tasks have errors to learn from however many entries
// there are.
func writeTexts(path string, s size) error {
	return file(path, func(w *bufio.Writer) {
		r := data.Stream(1, "texts")
		step := max(1, s.features/s.entries)
		for c := range s.classes {
			for range max(6, s.rows*3/2) {
				fmt.Fprint(w, c)
				own := c
				if r.IntN(10) == 0 {
					own = r.IntN(s.classes)
				}
				for k := range min(s.entries, s.features) {
					j := r.IntN(step)
					if r.IntN(4) == 0 {
						j = own % step
					}
					fmt.Fprintf(w, " %d:%.3f", 1+k*step+j, 0.1+0.2*r.Float64())
				}
				fmt.Fprintln(w)
			}
		}
	})
}

func file(path string, write func(w *bufio.Writer)) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	write(w)
	return errors.Join(w.Flush(), f.Close())
}

// write keeps all points.
func write(out string, points []point) error {
	f, err := os.Create(filepath.Join(out, "scaling.csv"))
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	w.Write([]string{"command", "axis", "value", "cpu_seconds", "peak_mb"})
	for _, p := range points {
		w.Write([]string{p.command, p.axis, strconv.Itoa(p.value), fmt.Sprintf("%.3f", p.seconds), fmt.Sprintf("%.0f", p.memory)})
	}
	w.Flush()
	return errors.Join(w.Error(), f.Close())
}

// curveOf are the points of a command along an axis.
func curveOf(points []point, command, axis string) (curve []point) {
	for _, p := range points {
		if p.command == command && p.axis == axis {
			curve = append(curve, p)
		}
	}
	return curve
}

// fitted is the exponent over the last points, as many as three.
func fitted(curve []point, of func(p point) float64) float64 {
	var x, y []float64
	for _, p := range curve[max(0, len(curve)-3):] {
		x, y = append(x, math.Log(float64(p.value))), append(y, math.Log(of(p)))
	}
	if len(x) < 2 {
		return math.NaN()
	}
	_, slope := stat.LinearRegression(x, y, nil, false)
	return slope
}

func seconds(p point) float64 { return p.seconds }
func memory(p point) float64  { return p.memory }

// report is the table of exponents.
func report(out string, points []point) error {
	var b strings.Builder
	b.WriteString("| command | along | from, to | CPU s | peak MB | exponents of time, memory |\n|---|---|---|---|---|---|\n")
	for _, c := range commands {
		for _, a := range axes {
			if curve := curveOf(points, c.name, a.name); len(curve) > 0 {
				first, last := curve[0], curve[len(curve)-1]
				fmt.Fprintf(&b, "| %s | %s | %d, %d | %.2f, %.2f | %.0f, %.0f | %.1f, %.1f |\n", c.name, a.title, first.value, last.value,
					first.seconds, last.seconds, first.memory, last.memory, fitted(curve, seconds), fitted(curve, memory))
			}
		}
	}
	return os.WriteFile(filepath.Join(out, "scaling.md"), []byte(b.String()), 0o666)
}

// pictures has one for time and one for memory, side by side, of each command.
func pictures(out string, points []point) error {
	for _, c := range commands {
		if len(points) == 0 || points[len(points)-1].command != c.name {
			continue // drawn before, or to come
		}
		canvas := vgimg.New(11*vg.Inch, 4*vg.Inch)
		tiles := draw.Tiles{Rows: 1, Cols: 2, PadX: vg.Points(12), PadLeft: vg.Points(4), PadRight: vg.Points(12), PadTop: vg.Points(6), PadBottom: vg.Points(4)}
		for i, what := range []struct {
			label string
			of    func(p point) float64
		}{{"CPU time, s", seconds}, {"peak memory, MB", memory}} {
			p := plot.New()
			p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "l2mt "+c.name, "value of what grows", what.label
			p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
			p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
			p.Legend.Top, p.Legend.Left = true, true
			p.Add(plotter.NewGrid())
			for k, a := range axes {
				curve := curveOf(points, c.name, a.name)
				if len(curve) == 0 {
					continue
				}
				var xy plotter.XYs
				for _, q := range curve {
					xy = append(xy, plotter.XY{X: float64(q.value), Y: what.of(q)})
				}
				line, marks, err := plotter.NewLinePoints(xy)
				if err != nil {
					return err
				}
				line.Color, marks.Color, marks.Shape = plotutil.Color(k), plotutil.Color(k), plotutil.Shape(k)
				p.Add(line, marks)
				p.Legend.Add(fmt.Sprintf("%s: ^%.1f", a.title, fitted(curve, what.of)), line, marks)
			}
			p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(p.Y.Min))), math.Pow(10, math.Ceil(math.Log10(p.Y.Max))+1)
			p.Draw(tiles.At(draw.New(canvas), i, 0))
		}
		f, err := os.Create(filepath.Join(out, "scaling-"+c.name+".png"))
		if err != nil {
			return err
		}
		_, err = vgimg.PngCanvas{Canvas: canvas}.WriteTo(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
