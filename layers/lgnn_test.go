package layers

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"

	"l2mt/data"
)

// stockNetwork is the LGNN with its readout from Gorgonia's own operations on
// dense matrices, with P and the readout written out from their definitions.
func stockNetwork(t *testing.T, norm Norm, tasks []Task, layers int, params map[string][]float64, d, h int, weights []float64) (e []float64, grads map[string][]float64) {
	t.Helper()
	n := 0
	for _, task := range tasks {
		n += task.X.Rows()
	}
	x, p, w := make([]float64, n*d), make([]float64, n*n), make([]float64, len(tasks)*n)
	start := 0
	for j, task := range tasks {
		g, size := task.Graph, task.X.Rows()
		scale := 1.0
		if norm == NormSize {
			scale /= float64(size)
		}
		for i := range size {
			task.X.Visit(i, func(k int, v float64) { x[(start+i)*d+k] = v })
			w[j*n+start+i] = task.Weights[i]
			for k := range size {
				if g.Class[i] == g.Class[k] {
					p[(start+i)*n+start+k] = scale
				}
			}
			for _, k := range g.Index[g.Ptr[i]:g.Ptr[i+1]] {
				p[(start+i)*n+start+int(k)] = -scale
			}
		}
		start += size
	}
	names := []string{"L1", "b1", "L2", "b2"}
	var value *Capture
	var captures []*Capture
	g, err := Build(Float64, func(g *Graph) {
		X, P, R := g.Input("X", n, d), g.Input("P", n, n), g.Input("R", len(tasks), n)
		in := map[string]*Node{"L1": g.Input("L1", d, h), "b1": g.Input("b1", h), "L2": g.Input("L2", d, h), "b2": g.Input("b2", h)}
		layer := func(z, b *Node) *Node {
			return must(gorgonia.Rectify(must(gorgonia.BroadcastAdd(z, b, nil, []byte{0}))))
		}
		H := layer(must(gorgonia.Mul(X, in["L1"])), in["b1"])
		for range layers - 1 {
			H = layer(must(gorgonia.Add(must(gorgonia.Mul(X, in["L2"])), must(gorgonia.Mul(P, H)))), in["b2"])
		}
		E := must(gorgonia.Mul(R, H))
		value = g.Capture(E)
		var wrt []*Node
		for _, name := range names {
			wrt = append(wrt, in[name])
		}
		captures = g.Gradients(weighted(E, g.Input("weights", len(weights))), wrt...)
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][]float64{"X": x, "P": p, "R": w, "weights": weights} {
		if err := g.Set(name, v); err != nil {
			t.Fatal(err)
		}
	}
	for name, v := range params {
		if err := g.Set(name, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	grads = map[string][]float64{}
	for i, name := range names {
		grads[name] = captures[i].Value
	}
	return value.Value, grads
}

// One graph, compiled once, serves problems of any shape and agrees with a
// dense graph of stock operations made for each.
func TestOneGraphServesEveryProblemAsADenseStockGraphWould(t *testing.T) {
	const d, h, depth = 6, 4, 3
	r := data.Stream(3, "stock")
	params := map[string][]float64{"L1": normals(r, d*h), "b1": normals(r, h), "L2": normals(r, d*h), "b2": normals(r, h)}
	const taskCapacity = 5
	weights := normals(r, taskCapacity*h)
	s := NewSlot("p", 60, taskCapacity)
	var value *Capture
	var captures []*Capture
	names := []string{"L1", "b1", "L2", "b2"}
	g, err := Build(Float64, func(g *Graph) {
		in := map[string]*Node{"L1": g.Input("L1", d, h), "b1": g.Input("b1", h), "L2": g.Input("L2", d, h), "b2": g.Input("b2", h)}
		H := Activate(s, ActReLU, in["b1"], Product(s, in["L1"]))
		for range depth - 1 {
			H = Activate(s, ActReLU, in["b2"], Product(s, in["L2"]), Aggregate(s, H))
		}
		E := Readout(s, H)
		value = g.Capture(E)
		captures = g.Gradients(weighted(E, g.Input("weights", taskCapacity*h)), in["L1"], in["b1"], in["L2"], in["b2"])
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range params {
		if err := g.Set(name, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Set("weights", weights); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		var sizes []int
		for range 2 + r.IntN(taskCapacity-1) {
			sizes = append(sizes, 2+r.IntN(10))
		}
		norm := []Norm{NormNone, NormSize}[i%2]
		tasks := randomTasks(r, d, []float64{1, 0.2}[i/2%2], sizes...)
		if err := s.Put(batchOf(t, Float64, norm, tasks)); err != nil {
			t.Fatal(err)
		}
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		m := len(sizes)
		e, grads := stockNetwork(t, norm, tasks, depth, params, d, h, weights[:m*h])
		same(t, fmt.Sprintf("E of sizes %v", sizes), value.Value[:m*h], e, 1e-12)
		same(t, "rows of E beyond the tasks", value.Value[m*h:], make([]float64, (taskCapacity-m)*h), 0)
		for k, name := range names {
			same(t, fmt.Sprintf("gradient of %s, sizes %v", name, sizes), captures[k].Value, grads[name], 1e-12)
		}
	}
}
