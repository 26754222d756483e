package model_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	op "gorgonia.org/gorgonia"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/view"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/model/modeltest"
)

// Two bodies unlike the built-in one, and an estimator for the second.
func init() {
	// E = R X M + s v', with a statistic s of the tasks beside their rows.
	model.RegisterBody("test-linear", model.Body{
		Params: func(c model.Config) []model.Spec {
			return []model.Spec{
				{Name: "M", Shape: []int{c.Features, c.Hidden}, Deviation: 0.5, Embedding: true, Decay: 1},
				{Name: "v", Shape: []int{1, c.Hidden}, Deviation: 0.5},
			}
		},
		Statistics: []model.Statistic{{Name: "size", Cols: 1, Compute: logSizes}},
		Build: func(in model.BodyInputs) *layers.Node {
			sizes := op.Must(op.Mul(in.Statistics.Get("size"), in.Params.Get("v")))   // tasks x h
			return op.Must(op.Add(in.Readout(in.Product(in.Params.Get("M"))), sizes)) // tasks x h
		},
	})
	// E = tanh(S M + 1 b') for every pair of tasks, S being two inner products.
	model.RegisterBody("test-pairs", model.Body{
		Params: func(model.Config) []model.Spec {
			return []model.Spec{{Name: "M", Shape: []int{2, 3}, Deviation: 0.5}, {Name: "b", Shape: []int{3}}}
		},
		Pairs:      true,
		Statistics: []model.Statistic{{Name: "products", Cols: 2, Compute: products}},
		Build: func(in model.BodyInputs) *layers.Node {
			s := in.Statistics.Get("products") // tasks^2 x 2
			h := op.Must(op.Mul(s, in.Params.Get("M")))
			return op.Must(op.Tanh(op.Must(op.BroadcastAdd(h, in.Params.Get("b"), nil, []byte{0}))))
		},
	})
	// Phi = E a, c = gamma.
	model.RegisterEstimator("test-pairs", model.Estimator{
		Params: func(model.Config) []model.Spec {
			return []model.Spec{{Name: "a", Shape: []int{3, 1}, Deviation: 1}, {Name: "c", Shape: []int{2}, Start: []float64{0.5, 0}}}
		},
		Pairs: true,
		Build: func(p model.Inputs, e *layers.Node) (phi, c *layers.Node) {
			m := int(math.Sqrt(float64(e.Shape()[0])))
			return op.Must(op.Reshape(op.Must(op.Mul(e, p.Get("a"))), []int{m, m})), p.Number("c", 0)
		},
	})
	for name, values := range map[string][][]float64{
		"test-short": {{1}, nil, nil, nil}, "test-nan": {{1}, {math.NaN()}, {1}, {1}}, "test-inf": {{1}, {1}, {math.Inf(-1)}, {1}},
	} {
		compute := func(*data.ProblemData) (model.Rows, error) {
			return func(out []float64, row int) []float64 { return append(out, values[row]...) }, nil
		}
		model.RegisterBody(name, model.Body{
			Pairs:      true,
			Statistics: []model.Statistic{{Name: "bad", Cols: 1, Compute: compute}},
			Build:      func(in model.BodyInputs) *layers.Node { return in.Statistics.Get("bad") },
		})
	}
	// Shapes that do not fit.
	wide := func(in model.BodyInputs) *layers.Node { return in.Readout(in.Product(in.Params.Get("M"))) }
	for name, shape := range map[string][]int{"test-features": {9, 4}, "test-width": {4, 9}} {
		model.RegisterBody(name, model.Body{
			Params: func(model.Config) []model.Spec { return []model.Spec{{Name: "M", Shape: shape}} },
			Build:  wide,
		})
	}
	model.RegisterEstimator("test-shape", model.Estimator{
		Build: func(_ model.Inputs, e *layers.Node) (phi, c *layers.Node) { return e, op.Must(op.Sum(e)) },
	})
	model.RegisterLink("test-shape", model.Link{
		Build: func(_ model.Inputs, o *layers.Node) *layers.Node { return op.Must(op.Sum(o)) },
	})
	model.RegisterBody("test-start", model.Body{
		Params: func(model.Config) []model.Spec {
			return []model.Spec{{Name: "M", Shape: []int{2, 4}, Start: make([]float64, 7)}}
		},
		Build: wide,
	})
}

// pairs is a small network of the body of pairs.
func pairs(t testing.TB) model.Config {
	c := config(t, "default", 0)
	c.Body, c.Estimator = "test-pairs", "test-pairs"
	return c
}

func logSizes(p *data.ProblemData) (model.Rows, error) {
	return func(out []float64, row int) []float64 {
		return append(out, math.Log(float64(len(p.Tasks[row].TrainSet.Y))))
	}, nil
}

// products are the inner products of the signed means, and their squares.
func products(p *data.ProblemData) (model.Rows, error) {
	means, err := model.Means(model.Config{Readout: "signed"}, p)
	if err != nil {
		return nil, err
	}
	return func(out []float64, row int) []float64 {
		inner := floats.Dot(means.RawRowView(row/len(p.Tasks)), means.RawRowView(row%len(p.Tasks)))
		return append(out, inner, inner*inner)
	}, nil
}

func TestOtherBodiesAreProvedByTheSameLine(t *testing.T) {
	modeltest.Check(t, "test-linear")
	modeltest.Check(t, "test-pairs") // body and estimator
}

// On a problem smaller than the one before, by the formulas above.
func TestBodiesMakeWhatTheirFormulasSay(t *testing.T) {
	r := data.Stream(1, "bodies")
	small, large := modeltest.Problem(r, 4, 6, 5, 9), modeltest.Problem(r, 4, 8, 8, 8, 8)
	linear := config(t, "default", 4)
	linear.Body, linear.Unit = "test-linear", false
	for _, c := range []model.Config{linear, pairs(t)} {
		n := network(t, c, 1)
		forward := model.NewForward(n)
		datatest.Must(forward.Estimate(datatest.Must(model.Prepare(c, large))(t)))(t)
		got := datatest.Must(forward.Estimate(datatest.Must(model.Prepare(c, small))(t)))(t)
		var want mat.Dense
		if c.Body == "test-linear" {
			want.Mul(datatest.Must(model.Means(c, small))(t), mat.NewDense(4, c.Hidden, n.Params.Get("M")))
			for j, task := range small.Tasks {
				floats.AddScaled(want.RawRowView(j), math.Log(float64(len(task.TrainSet.Y))), n.Params.Get("v"))
			}
		} else {
			row := datatest.Must(products(view.InMetric(small)))(t)
			var values []float64
			for pair := range 9 {
				values = row(values, pair)
			}
			want.Mul(mat.NewDense(9, 2, values), mat.NewDense(2, 3, n.Params.Get("M")))
			b := n.Params.Get("b")
			want.Apply(func(_, k int, v float64) float64 { return math.Tanh(v + b[k]) }, &want)
		}
		near(t, c.Body, got.E, want.RawMatrix().Data, 1e-12)
	}
}

func TestBodiesThatDoNotFitAreRefused(t *testing.T) {
	p := modeltest.Problem(data.Stream(2, "bodies"), 4, 6, 5)
	with := func(change func(c *model.Config)) model.Config {
		c := config(t, "default", 4)
		change(&c)
		return c
	}
	graphOf := func(change func(c *model.Config)) func() error {
		return func() error {
			c := with(change)
			graph := datatest.Must(model.NewTrainingGraph(c, []float64{1, 2}))(t)
			tuple := model.Tuple{Omega: []float64{0.5, 0, 0, 0.5}, O: 1}
			_, err := graph.Step(model.NewParams(c, 1), datatest.Must(model.Prepare(c, p))(t), []model.Tuple{tuple, tuple})
			return err
		}
	}
	ofPairs := func(body string) func() error {
		return graphOf(func(c *model.Config) { c.Body, c.Estimator = body, "test-pairs" })
	}
	for want, call := range map[string]func() error{
		`body is "lstm"; it must be one of lgnn, `:                                                  with(func(c *model.Config) { c.Body = "lstm" }).Validate,
		`the body "test-pairs" or the estimator "affine-kernel" is of pairs of tasks, but not both`: with(func(c *model.Config) { c.Body = "test-pairs" }).Validate,
		"features is 0": with(func(c *model.Config) { c.Features = 0 }).Validate,
		`statistic "bad": it has 1 numbers; 4 rows of 1 have 4`:                ofPairs("test-short"),
		`entry 1 is NaN; it must be finite`:                                    ofPairs("test-nan"),
		`entry 2 is -Inf; it must be finite`:                                   ofPairs("test-inf"),
		`body "test-features": weights of shape (9, 4) for rows of 4 features`: graphOf(func(c *model.Config) { c.Body = "test-features" }),
		`body "test-width": E has the shape (2, 9); it must have [2 4]`:        graphOf(func(c *model.Config) { c.Body = "test-width" }),
		`estimator "test-shape": Phi has the shape (2, 4); it must have [2 2]`: graphOf(func(c *model.Config) { c.Estimator = "test-shape" }),
		`parameter "M" starts with 7 numbers; its shape [2 4] has 8`: func() error {
			_, err := model.NewNetwork(with(func(c *model.Config) { c.Body = "test-start" }), 1)
			return err
		},
		`link "test-shape": v(o) has the shape (); it must have [2]`: graphOf(func(c *model.Config) { c.Link = "test-shape" }),
	} {
		datatest.Says(t, call(), nil, want)
	}
	free := pairs(t)
	datatest.Check(t, free.Validate())
	datatest.Refused(model.Prepare(free, &data.ProblemData{Problem: p.Problem}))(t, data.ErrInvalid)
}

// A taught network of one layer embeds what M makes of the readout's rows: its first
// columns less those of the mirror image, in the size that random weights would have.
func TestAnLGNNEmbedsByItsFeatureMap(t *testing.T) {
	for seed := range uint64(5) {
		r := data.Stream(seed, "taught")
		p := modeltest.Problem(r, 5, 6, 9, 7)
		c := config(t, "default", 5)
		c.Layers, c.Hidden, c.Unit = 1, 7, false
		n := network(t, c, seed)
		m := mat.NewDense(5, 3, datatest.Normals[float64](r, 15))
		n.FeatureMap()(m)
		a := datatest.Must(model.Means(c, p))(t)
		var want mat.Dense
		want.Mul(a, m)
		want.Scale(0.1*math.Sqrt(15)/mat.Norm(m, 2), &want)
		e := mat.NewDense(3, 7, estimate(t, n, p).E)
		var got mat.Dense
		got.Sub(e.Slice(0, 3, 0, 3), e.Slice(0, 3, 3, 6))
		near(t, fmt.Sprint("seed ", seed), got.RawMatrix().Data, want.RawMatrix().Data, 1e-12)
	}
	datatest.Holds(t, network(t, pairs(t), 1).FeatureMap() == nil,
		"the body of pairs takes a map of features that it does not see")
}
