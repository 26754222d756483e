//go:build scratch

package multitask

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"l2mt/data"
)

func loadTxt(d int, name string) data.Samples {
	f, err := os.Open("/tmp/mt/" + name)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<24)
	ptr := []int{0}
	var idx []int32
	var val []float32
	var y []float64
	for sc.Scan() {
		fs := strings.Fields(sc.Text())
		l, _ := strconv.ParseFloat(fs[0], 64)
		y = append(y, l)
		for _, s := range fs[1:] {
			a, b, _ := strings.Cut(s, ":")
			i, _ := strconv.Atoi(a)
			v, _ := strconv.ParseFloat(b, 32)
			idx = append(idx, int32(i))
			val = append(val, float32(v))
		}
		ptr = append(ptr, len(idx))
	}
	x, err := data.NewCSR(d, ptr, idx, val)
	if err != nil {
		panic(err)
	}
	return data.Samples{X: x, Y: y}
}

func scratchProblem(kind string, d int) *Problem {
	var ts []data.Samples
	for t := range 6 {
		ts = append(ts, loadTxt(d, fmt.Sprintf("%s_%d_tr.txt", kind, t)))
	}
	p, err := NewProblem(Logistic, ts)
	if err != nil {
		panic(err)
	}
	return p
}

func TestScratch(t *testing.T) {
	kind, d := "sel", 1000
	if os.Getenv("FULL") != "" {
		kind, d = "full", 61188
	}
	p := scratchProblem(kind, d)
	for _, l1 := range []float64{1e-6, 1e-5, 1e-4, 1e-3} {
		for _, name := range Names() {
			m, _ := Lookup(name)
			r, err := Fit(context.Background(), m, p, Params{Lambda1: l1}, Options{})
			if err != nil {
				fmt.Println(name, err)
				continue
			}
			fmt.Printf("%g %-12s %v it %d gap %.2g obj %.10g  %.1fms\n", l1, name, r.Status, r.Iterations, r.Gap/r.Objective, r.Objective, r.Seconds*1e3)
		}
	}
}

func scratchData(kind string, d int) *data.ProblemData {
	p := &data.ProblemData{Problem: &data.Problem{Name: "x"}}
	for t := range 6 {
		ld := func(s string) data.Samples { return loadTxt(d, fmt.Sprintf("%s_%d_%s.txt", kind, t, s)) }
		task := &data.Task{Name: fmt.Sprint(t), Kind: data.Classification}
		p.Tasks = append(p.Tasks, data.TaskData{Task: task, TrainSet: ld("tr"), ValidationSet: ld("va"), TestSet: ld("te")})
	}
	return p
}

func TestScratchTune(t *testing.T) {
	p := scratchData("sel", 1000)
	var stl *Tuned
	names := []string{"stl"}
	for _, n := range Names() {
		if n != "stl" {
			names = append(names, n)
		}
	}
	for _, name := range names {
		m, _ := Lookup(name)
		r, err := Tune(context.Background(), m, p, TuneOptions{Workers: 1, STL: stl})
		if err != nil {
			fmt.Println(name, err)
			continue
		}
		if stl == nil {
			stl = r
		}
		rf, err := Refit(context.Background(), r.Omega, p, TuneOptions{STL: stl})
		if err != nil {
			panic(err)
		}
		bad := 0
		for _, tr := range r.Trials {
			if tr.Status != Converged {
				bad++
			}
		}
		fmt.Printf("%-12s %v trials %d (%d not converged) val %.4f test %.4f rel %.4f | refit rel %.4f  %.2fs %v\n", name, r.Params, len(r.Trials), bad, r.Validation.Mean, r.Test.Mean, r.Relative, rf.Relative, r.Seconds, rf.Seconds)
	}
}
