package model_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/safetensors"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/model/modeltest"
)

// randomHead has layers of the given widths. Its weights are multiples of the
// step of the central differences, so that single precision has them exactly.
func randomHead(r *rand.Rand, widths ...int) layers.Head {
	var h layers.Head
	numbers := func(n int) (v []float32) {
		for range n {
			v = append(v, float32(math.Round(r.NormFloat64()/headStep)*headStep))
		}
		return v
	}
	for i, in := range widths[:len(widths)-1] {
		h = append(h, layers.Connected{In: in, Out: widths[i+1], W: numbers(in * widths[i+1]), B: numbers(widths[i+1])})
	}
	return h
}

const headStep = 0x1p-14

// headed is a network with a head, in double precision.
func headed(t testing.TB, seed uint64, head layers.Head) *model.Network {
	t.Helper()
	c := config(t, "default", head.Out())
	c.Head = head.String()
	n := network(t, c, seed)
	modeltest.Perturb(data.Stream(seed, "headed"), c, n.Params, false) // as what depends on the start is hidden by it
	n.Head = head
	return n
}

// Central differences, in every weight of the trained layers, of the objective
// of the whole graph.
func TestTheGradientReachesTheHead(t *testing.T) {
	checked, kinks := 0, 0
	for seed := range uint64(6) {
		r := data.Stream(seed, "head gradient")
		p := modeltest.Problem(r, 3, 6, 5, 7)
		n := headed(t, seed, randomHead(r, 3, 4, 3, 2))
		n.Config.Objective = model.Scaled
		frozen := int(seed % 3)
		head := n.Head[frozen:]
		under := datatest.Must(model.Through(n.Head, frozen, p))(t)
		payload := datatest.Must(model.Prepare(n.Config, under, head...))(t)
		outcomes := []float64{0.8, 1, 1.3}
		var tuples []model.Tuple
		for _, o := range outcomes {
			tuples = append(tuples, model.Tuple{Omega: modeltest.Covariance(r, 3), O: o})
		}
		graph := datatest.Must(model.NewTrainingGraph(n.Config, outcomes, head...))(t)
		loss := func() model.Step {
			return datatest.Must(graph.Step(n.Params, payload, tuples))(t)
		}
		gradient := loss().Gradient.Clone()[len(n.Params):]
		for i, l := range head {
			for _, part := range []struct {
				what     string
				value, g []float32
			}{{"weight", l.W, gradient[2*i].Single}, {"bias", l.B, gradient[2*i+1].Single}} {
				for j, v := range part.value {
					slope := func(h float64) float64 {
						part.value[j] = float32(float64(v) + h)
						up := loss().Loss
						part.value[j] = float32(float64(v) - h)
						down := loss().Loss
						part.value[j] = v
						return (up - down) / (2 * h)
					}
					wide, want := slope(2*headStep), slope(headStep)
					if math.Abs(wide-want) > 1e-5*(1+math.Abs(want)) { // ReLU, |.| or the neighbours change in between
						kinks++
						continue
					}
					checked++
					datatest.Near(t, float64(part.g[j]), want, 1e-5*(1+math.Abs(want)), "seed %d, layer %d: gradient of %s %d", seed, frozen+i, part.what, j)
				}
			}
		}
	}
	datatest.Holds(t, kinks*5 <= checked,
		"%d of %d entries lie at a kink; the gradient is not proved", kinks, kinks+checked)
}

// However much of the head is in the graph, the network says the same: all the
// same bits in single precision, where both paths add in the same order.
func TestAFrozenHeadAndATrainedOneSayTheSame(t *testing.T) {
	for _, dtype := range []layers.DType{layers.Float32, layers.Float64} {
		r := data.Stream(3, "frozen and trained")
		p := modeltest.Problem(r, 5, 9, 6, 12)
		head := randomHead(r, 5, 4, 3)
		c := config(t, "default", 3)
		c.Head, c.DType, c.Layers = head.String(), dtype, 3
		n := network(t, c, 1)
		n.Head = head
		tuple := model.Tuple{Omega: modeltest.Covariance(r, 3), O: 0.9}
		var want *model.Estimate
		for frozen := len(head); frozen >= 0; frozen-- {
			under := datatest.Must(model.Through(head, frozen, p))(t)
			payload := datatest.Must(model.Prepare(c, under, head[frozen:]...))(t)
			forward := datatest.Must(model.NewForward(n, head[frozen:]...))(t)
			got := datatest.Must(forward.Estimate(payload, tuple))(t)
			if want == nil {
				want = got
			}
			tolerance := 0.0
			if dtype == layers.Float64 { // the frozen head rounds to single precision
				tolerance = 1e-5
			}
			for i, v := range want.Phi {
				if math.Abs(v-got.Phi[i]) > tolerance || math.Abs(want.F[0]-got.F[0]) > tolerance {
					t.Errorf("%s, %d layers frozen: Phi is %v and f %v, with all frozen %v and %v", dtype, frozen, got.Phi, got.F, want.Phi, want.F)
					break
				}
			}
		}
	}
}

func TestANetworkWithAHeadComesBack(t *testing.T) {
	r := data.Stream(4, "saved head")
	n := headed(t, 1, randomHead(r, 5, 4, 3))
	dir := t.TempDir()
	for range 2 { // the second time the head is there
		datatest.Check(t, n.Save(dir))
	}
	got := datatest.Must(model.Load(dir))(t)
	datatest.Holds(t, got.Config == n.Config && reflect.DeepEqual(got.Head, n.Head),
		"loaded %+v, saved %+v", got, n)
	n.Head[1].W[0]++ // and when it has changed it is written
	datatest.Check(t, n.Save(dir))
	datatest.Equal(t, datatest.Must(model.ReadHead(filepath.Join(dir, model.HeadFile)))(t), n.Head, "the head read")
	p := modeltest.Problem(r, 5, 4, 4)
	q, err := n.Features(p)
	datatest.Holds(t, err == nil && q.Cols() == 3 && p.Cols() == 5, "the features are %v (%v)", q, err)

	other := randomHead(r, 5, 3)
	datatest.Check(t, safetensors.Write(filepath.Join(dir, model.HeadFile), model.HeadArrays("", other), nil))
	datatest.Refused(model.Load(dir))(t, model.ErrMismatch, "the head is 5-3, but weights.safetensors says 5-4-3")
	datatest.Check(t, os.Remove(filepath.Join(dir, model.HeadFile)))
	datatest.Refused(model.Load(dir))(t, os.ErrNotExist, model.HeadFile)
	n.Head = nil
	datatest.Says(t, n.Save(dir), model.ErrMismatch, "save to "+dir)
}

func TestHeadsThatDoNotFitAreRefused(t *testing.T) {
	r := data.Stream(5, "misfits")
	head := randomHead(r, 5, 4, 3)
	n := headed(t, 1, head)
	graph := func(head ...layers.Connected) error {
		return datatest.Err(model.NewTrainingGraph(n.Config, []float64{1, 2}, head...))
	}
	for name, c := range map[string]struct {
		err  error
		want error
		text string
	}{
		"another width of the dataset": {func() error { _, err := n.Features(modeltest.Problem(r, 7, 4)); return err }(), data.ErrMismatch, `problem "random", task "task 0"`},
		"features below the head":      {func() error { return datatest.Err(model.Prepare(n.Config, modeltest.Problem(r, 5, 4))) }(), model.ErrMismatch, "it has 5 features, but the network 3"},
		"layers that are not the last": {graph(head[0]), model.ErrMismatch, "the head makes 4 features, but the network takes 3"},
		"no chain":                     {graph(head[1], head[1]), data.ErrMismatch, "layer 1"},
		"prepared features": {func() error {
			p := modeltest.Problem(r, 5, 4)
			p.Prepare = []string{"unit"}
			return datatest.Err(n.Features(p))
		}(), model.ErrMismatch, "its features are prepared (unit)"},
		"widths that end elsewhere": {func() error { c := n.Config; c.Head = "5-4"; return c.Validate() }(), model.ErrConfig, `head is "5-4", but model.features 3`},
	} {
		datatest.Holds(t, errors.Is(c.err, c.want) && strings.Contains(c.err.Error(), c.text),
			"%s: the error is %v", name, c.err)
	}
}

// array is one of a file of weights.
type array struct {
	name  string
	shape []int
	value []float32
}

func writeHead(t *testing.T, arrays []array) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "head.safetensors")
	var singles []model.Tensor
	for _, a := range arrays {
		singles = append(singles, model.Tensor{Name: a.name, DType: safetensors.F32, Shape: a.shape, Single: a.value})
	}
	datatest.Check(t, safetensors.Write(path, singles, nil))
	return path
}

func TestHeadsAreReadByAllNames(t *testing.T) {
	h := randomHead(data.Stream(6, "names"), 37, 34, 3)
	one, two := h[0], h[1]
	numpy := func(l layers.Connected, n string) []array {
		return []array{{"W" + n, []int{l.In, l.Out}, l.W}, {"b" + n, []int{l.Out}, l.B}}
	}
	torch := func(l layers.Connected, n string) []array {
		return []array{{n + ".weight", []int{l.Out, l.In}, safetensors.Transposed(l.W, l.In, l.Out)}, {n + ".bias", []int{l.Out}, l.B}}
	}
	for name, c := range map[string]struct {
		arrays []array
		want   layers.Head
	}{
		"one of NumPy":            {numpy(one, ""), h[:1]},
		"two of NumPy":            {slices.Concat(numpy(two, "7"), numpy(one, "2")), h},
		"PyTorch":                 {slices.Concat(torch(one, "0"), torch(two, "2")), h},
		"more than nine":          {slices.Concat(torch(two, "10"), torch(one, "9")), h},
		"torchvision's VGG":       {slices.Concat(torch(one, "classifier.0"), torch(two, "classifier.3"), []array{{"features.0.weight", []int{2, 1, 1, 1}, []float32{1, 2}}, {"features.0.bias", []int{2}, []float32{1, 2}}}), h},
		"torchvision's MobileNet": {torch(two, "classifier.1"), h[1:]},
		"what is not a layer":     {append(numpy(one, ""), array{"mean", []int{1}, []float32{1}}), h[:1]},
	} {
		got, err := model.ReadHead(writeHead(t, c.arrays))
		datatest.Holds(t, err == nil && reflect.DeepEqual(got, c.want),
			"%s: read %s, want %s (%v)", name, got, c.want, err)
	}
}

func TestFilesThatHoldNoHeadAreRefused(t *testing.T) {
	h := randomHead(data.Stream(7, "bad files"), 4, 3, 2)
	w, b := array{"0.weight", []int{3, 4}, h[0].W}, array{"0.bias", []int{3}, h[0].B}
	nan := slices.Clone(h[0].W)
	nan[5] = float32(math.NaN())
	for name, c := range map[string]struct {
		arrays []array
		want   error
		text   string
	}{
		"other names":      {[]array{{"kernel", []int{4, 3}, h[0].W}}, data.ErrFormat, `the arrays are ["kernel"]; a head has W0, b0`},
		"no bias":          {[]array{w}, data.ErrFormat, `there is a weight "0.weight" without its bias`},
		"no weight":        {[]array{b}, data.ErrFormat, `there is a bias "0.bias" without its weight`},
		"a convolution":    {[]array{{"0.weight", []int{3, 2, 2}, h[0].W}, b}, data.ErrFormat, `array "0.weight": its shape is [3 2 2]`},
		"too many biases":  {[]array{w, {"0.bias", []int{4}, h[0].W[:4]}}, data.ErrMismatch, `array "0.bias"`},
		"no chain":         {[]array{w, b, {"1.weight", []int{2, 4}, h[0].W[:8]}, {"1.bias", []int{2}, h[1].B}}, data.ErrMismatch, "layer 1: it takes 4 numbers, but layer 0 makes 3"},
		"NaN":              {[]array{{"0.weight", []int{3, 4}, nan}, b}, data.ErrInvalid, "is NaN; it must be finite"},
		"the same number":  {[]array{w, b, {"a.0.weight", []int{3, 4}, h[0].W}}, data.ErrFormat, "have the same number"},
		"a monstrous name": {[]array{{"99999999999999999999.weight", []int{1}, h[0].B[:1]}}, data.ErrFormat, "99999999999999999999.weight"},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeHead(t, c.arrays)
			datatest.Refused(model.ReadHead(path))(t, c.want, c.text, path)
		})
	}
	datatest.Refused(model.ReadHead("absent.safetensors"))(t, os.ErrNotExist, "absent.safetensors")
}
