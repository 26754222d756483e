package multitask

import (
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"l2mt/data/fault"
	"l2mt/model/settings"
)

// Errors that callers distinguish; they come wrapped with the task and field.
var (
	// ErrInvalidData marks training data that no model can be fitted to.
	ErrInvalidData = fault.New("invalid training data")
	// ErrInvalidParams marks hyperparameters that a model does not allow.
	ErrInvalidParams = fault.New("invalid hyperparameters")
	// ErrInvalidOmega marks a task covariance that is not finite, symmetric
	// and positive semidefinite.
	ErrInvalidOmega = fault.New("invalid task covariance")
	// ErrUnknownModel marks a name that no model is registered under.
	ErrUnknownModel = fault.New("unknown model")
)

// Model is one instance of problem (1): a choice of g.
type Model interface {
	// Info describes the model.
	Info() Info
	// G returns g at a covariance, with +Inf outside of its domain. d is the
	// number of features.
	G(c *Covariance, d int, p Params) float64
	// Step returns the covariance that minimises
	//	Lambda1/2 tr(S Omega^-1) + Lambda2 g(Omega)
	// for S = W'W. It accepts every positive semidefinite S. Hyperparameters are complete
	// (see Complete).
	Step(s *mat.SymDense, d int, p Params, h Hint) (*Covariance, error)
}

// Hint says more of an Omega step. The zero value asks for one that is as close to the
// minimum as rounding errors allow.
type Hint struct {
	// From is the step at a nearby S, nil where there is none.
	From *Covariance
	// Enough is the distance to the minimum at which to stop.
	Enough float64
	// Shift is c in tr(S (Omega + c I)^-1), which stands for tr(S Omega^-1) then: W need
	// only be near one whose W'W is S. It is 0 for models that are not Convex.
	Shift float64
}

// Convex is a Model whose problem (1) is convex in W and Omega together, so
// that a fit can be certified by duality.
type Convex interface {
	Model
	// Support returns the supremum of <T, Omega> - Lambda2 g(Omega) over all
	// Omega, or a larger number; it is +Inf where that is unbounded, and NaN
	// when the model is not convex at these hyperparameters. The step that c
	// comes from is near the optimum and may serve as a hint; it is nil for
	// spectral models, which need none.
	Support(t *mat.SymDense, c *Covariance, p Params) float64
}

// Info describes a model.
type Info struct {
	// Name finds the model in the registry.
	Name string
	// Title is the model's name in tables.
	Title string
	// Ranges lists the hyperparameters of the model, Lambda1 first.
	Ranges []Range
}

// Covariance is a task covariance as an Omega step returns it.
type Covariance struct {
	// Omega is m x m.
	Omega *mat.SymDense
	// A is the transfer matrix that AMTL makes Omega from, nil in other models.
	A *mat.Dense
	// Gap bounds how far the step's objective is above its minimum. It is 0
	// for closed forms.
	Gap float64

	multiplier *mat.SymDense // the slopes of SPATS's norm at Omega
}

// Params are the hyperparameters of a fit.
type Params struct {
	// Lambda1 is the strength of tr(W Omega^-1 W')/2; it must be positive.
	Lambda1 float64 `json:"lambda1"`
	// Lambda2 is the strength of g(Omega). 0 means the model's default.
	Lambda2 float64 `json:"lambda2,omitempty"`
	// Hyper holds a model's own hyperparameters by name. Missing ones have
	// their defaults.
	Hyper map[string]float64 `json:"hyper,omitempty"`
}

// The names of the hyperparameters that Params has fields for.
const (
	Lambda1 = "lambda1"
	Lambda2 = "lambda2"
)

// Get returns the hyperparameter of the given name.
func (p Params) Get(name string) float64 {
	switch name {
	case Lambda1:
		return p.Lambda1
	case Lambda2:
		return p.Lambda2
	}
	return p.Hyper[name]
}

// With returns a copy of p in which one hyperparameter has the given value.
func (p Params) With(name string, value float64) Params {
	switch name {
	case Lambda1:
		p.Lambda1 = value
	case Lambda2:
		p.Lambda2 = value
	default:
		h := map[string]float64{}
		maps.Copy(h, p.Hyper)
		h[name] = value
		p.Hyper = h
	}
	return p
}

// Range is the range in which a hyperparameter is searched.
type Range struct {
	// Name is the hyperparameter.
	Name string
	// Default is its value where none is given.
	Default float64
	// Low and High bound the search, which is uniform in the logarithm. A range with Low equal
	// to High is not searched. Larger and smaller values are allowed in a fit, but only positive
	// ones.
	Low, High float64
}

// At returns the value at the fraction u of the logarithmic range, from Low at 0 to High
// at 1.
func (r Range) At(u float64) float64 {
	low := math.Log(r.Low)
	return math.Exp((1-u)*low + u*math.Log(r.High))
}

// Complete returns p with the model's defaults where p has no value, after
// checking every hyperparameter.
func Complete(model Model, p Params) (Params, error) {
	info := model.Info()
	for _, r := range info.Ranges {
		_, given := p.Hyper[r.Name]
		if !given && p.Get(r.Name) == 0 {
			p = p.With(r.Name, r.Default)
		}
		v := p.Get(r.Name)
		if !(v > 0) || math.IsInf(v, 0) {
			return p, ErrInvalidParams.Errorf("model %q, %s: it is %v but must be finite and above 0",
				info.Name, r.Name, v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Hyper)) {
		if !slices.ContainsFunc(info.Ranges, func(r Range) bool {
			return r.Name == name
		}) {
			return p, ErrInvalidParams.Errorf("model %q: it has no hyperparameter %q", info.Name, name)
		}
	}
	k, ok := model.(spectral)
	if ok && k.check != nil {
		return p, k.check(p)
	}
	return p, nil
}

// registry holds the models by name.
var registry = map[string]Model{}

// Register makes a model available under its name. It is called from package
// initialisation and panics on a name that is taken.
func Register(model Model) {
	settings.Register(registry, "model", model.Info().Name, model)
}

// Names lists the registered models in alphabetical order.
func Names() []string {
	return slices.Sorted(maps.Keys(registry))
}

// Lookup returns the model of the given name.
func Lookup(name string) (Model, error) {
	m, ok := registry[strings.ToLower(name)]
	if ok {
		return m, nil
	}
	return nil, ErrUnknownModel.Errorf("there is no model %q: the models are %s", name,
		strings.Join(Names(), ", "))
}

// Baselines returns the ten models of the paper's tables, STL first.
func Baselines() []Model {
	var models []Model
	for name := range strings.FieldsSeq("stl rmtl snr1 snr2 mtrl ssnr2 cmtl glmtl amtl spats") {
		models = append(models, registry[name])
	}
	return models
}

// lambda1Range is in every model. The search takes Lambda1 from evidence.LambdaGrid.
var lambda1Range = Range{Lambda1, 0, 1e-6, 1e-1}

// feasible is how far, relative to its scale, a covariance may be outside of a
// model's domain.
const feasible = 1e-8
