package solve

import (
	"context"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/table"
	"l2mt/data/view"
	"l2mt/layers/linalg"
	"l2mt/model/mixed"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// Structure is a form of the mixed model (package mixed): how columns are seen, and whose weights
// they have. Within a structure the variances decide.
type Structure struct {
	// View is how columns are seen: one of Views.
	View string `json:"view"`
	// Sharing is Shared, Alone or Pooled.
	Sharing string `json:"sharing,omitempty"`
}

// Views.
const (
	Level    = "level"    // no columns
	Straight = "straight" // a weight for every column
	Curves   = "curves"   // a weight and bends for every column
	Kernel   = "kernel"   // weights, and a Laplace kernel of all columns
	After    = "after"    // an older model's prior for a new task
)

// Sharings.
const (
	Shared = ""       // weights in common and weights of each task
	Alone  = "alone"  // weights of each task, drawn to 0
	Pooled = "pooled" // weights in common, and levels of each task
)

// Views are the views that a user may ask for.
func Views() []string {
	return []string{Straight, Curves, Kernel}
}

// Structures are all forms that need no older model, by their names.
func Structures() (structures []Structure) {
	for _, view := range Views() {
		for _, sharing := range []string{Shared, Alone, Pooled} {
			structures = append(structures, Structure{view, sharing})
		}
	}
	return append(structures, Structure{View: Level})
}

// Name names a structure in files and flags.
func (s Structure) Name() string {
	return strings.TrimSuffix(s.View+"-"+s.Sharing, "-")
}

// Title describes a structure to people.
func (s Structure) Title() string {
	if s.View == Level {
		return "the level of each task"
	}
	if s.View == After {
		return "the older model, adapted to each task"
	}
	view := map[string]string{
		Straight: "a straight line for every column",
		Curves:   "a curve for every column",
		Kernel:   "straight lines and similar rows",
	}
	whose := map[string]string{
		Shared: "in common and for each task",
		Alone:  "each task on its own",
		Pooled: "one for all, at own levels",
	}
	return view[s.View] + ", " + whose[s.Sharing]
}

const (
	// mostCurved is the number of columns up to which each gets a curve, and mostSeparate up
	// to which each has variances of its own.
	mostCurved   = 100
	mostSeparate = 40
	// mostCorrelated is how many weights of a task may correlate: its level and its slopes.
	mostCorrelated = 12
	// kernelWidth is the width of the Laplace kernel, over the sum of the columns' deviations.
	kernelWidth = 1.2
	// kernelNoise is the number of rows that the noise beside a kernel has before there are any.
	kernelNoise = 2
	// manyLandmarks is the number of landmarks of a kernel, and mostLandmarks where tasks are
	// targets of the same rows.
	manyLandmarks = 100
	mostLandmarks = 300
	// flat is the variance of the common level, which nothing draws to 0.
	flat        = 1e3
	flatClasses = 1e2
	// explainedAtFirst is the share of the targets' variance with which a search begins.
	explainedAtFirst = 0.5
)

// features are rows of a part as the mixed models see them: the constant 1, standardised columns
// with their bends, and the coordinates of a kernel.
type features struct {
	*data.ProblemData            // with the rows that the steps make
	steps             view.Steps // from the columns of the table
	names             []string   // of the columns of the table
	columns           []feature  // of the rows made, and the constant before them
	coordinates       []float64  // A of view.Step.Coordinates of the kernel, or nil
	landmarks         int
	separate          bool // columns have variances of their own
	units
	loss       mixed.Loss
	loading    []float64
	kernelRows [][]float64 // coordinates of every task's rows
	mean       []float64   // a level and weights of the rows made, by an older model
	root       [][]float64 // of their covariance
	noise      float64     // of targets
}

// feature tells the origin of a feature.
type feature struct {
	view   string // Level, Straight, Curves (a bend), Kernel or After
	column int
}

// fitSteps fits the steps to the training rows of a problem, or takes the steps of an older model.
func (b *Bench) fitSteps(p *data.ProblemData, visible []string) (*features, error) {
	names := table.Numbers(p.Features, p.Cols())
	f := &features{
		names: names.Features(),
		loss:  b.loss(),
	}
	var err error
	f.steps, err = steps(p, visible, b.options.After)
	if err != nil {
		return nil, err
	}
	f.ProblemData, err = f.steps.Problem(p)
	if err != nil {
		return nil, err
	}
	views := f.steps[1].Parts
	for _, kernel := range views[1:] {
		f.landmarks = len(kernel.Landmarks)
		f.coordinates = kernel.Coordinates()
	}
	f.add(Level, 0, 1)
	used := 0
	for j, c := range views[0].Curves {
		f.add(Straight, j, 1)
		f.add(Curves, j, len(c.Bends))
		if f.steps[0].Deviation[j] > 0 {
			used++
		}
	}
	f.separate = used <= mostSeparate
	f.add(Kernel, 0, f.landmarks)
	return f, nil
}

// add adds features of a column.
func (f *features) add(view string, column, count int) {
	origin := []feature{{view, column}}
	f.columns = append(f.columns, slices.Repeat(origin, count)...)
}

// trained are the features of a problem whose rows the steps have made.
func (f features) trained(b *Bench, p *data.ProblemData) *features {
	f.ProblemData = p
	f.columns = slices.Clip(f.columns)
	f.units = b.unitsOf(labels(p))
	f.loading = slices.Repeat([]float64{1}, len(f.Tasks))
	if f.OwnUnits {
		f.loading = f.leading()
	}
	older := b.options.After
	if older != nil {
		f.recall(older)
	}
	for _, t := range f.Tasks {
		f.kernelRows = append(f.kernelRows, f.nearness(t.TrainSet.X))
	}
	return &f
}

// manySeen is the number of rows from which on the folds have the steps of all rows. No target is
// in them, and of so many rows a fifth hardly moves them.
const manySeen = 20000

// features are of a fold's training rows, or of all rows where it holds out none, as the steps
// fitted to them make some views.
func (b *Bench) features(fold data.Fold, views ...string) (*features, error) {
	rows := len(slices.Concat(labels(b.rows)...))
	if rows < manySeen || b.rows.OwnUnits || b.options.Times != nil {
		f, err := b.fitSteps(fold.ProblemData, views)
		if err != nil {
			return nil, err
		}
		return f.trained(b, f.ProblemData), nil
	}
	key := [2]bool{slices.Contains(views, Curves),
		slices.Contains(views, Kernel)}
	whole := b.whole[key]
	if whole == nil {
		var err error
		whole, err = b.fitSteps(b.problem, views)
		if err != nil {
			return nil, err
		}
		b.whole[key] = whole
	}
	if fold.Rows == nil {
		return whole.trained(b, whole.ProblemData), nil
	}
	part, err := whole.Hold(fold.Rows)
	if err != nil {
		return nil, err
	}
	return whole.trained(b, part.ProblemData), nil
}

// loss is the loss of a row; nil is the squared error.
func (b *Bench) loss() mixed.Loss {
	switch {
	case !b.regression():
		return mixed.Logistic{}
	case b.counts > 0:
		return mixed.Poisson{}
	case b.unit > 0:
		return mixed.Huber{}
	}
	return nil
}

// steps standardise columns, and make their views.
func steps(p *data.ProblemData, visible []string, older *saved.Prior) (view.Steps, error) {
	x := p.TrainingRows()
	var standardise view.Step
	var views view.Steps
	var err error
	if older != nil {
		standardise = older.Steps[0]
		views = slices.Clip(older.Steps[1].Parts)
	} else if standardise, err = view.Fit(view.Standardise, x); err != nil {
		return nil, err
	}
	x, err = standardise.Apply(x)
	if err != nil {
		return nil, err
	}
	if views == nil {
		see := view.Straight
		if x.Cols() <= mostCurved && slices.Contains(visible, Curves) {
			see = view.FitCurves
		}
		views = view.Steps{see(x)}
	}
	if slices.Contains(visible, Kernel) && len(views) == 1 {
		landmarks := manyLandmarks
		if p.OwnUnits {
			landmarks = mostLandmarks
		}
		views = append(views, view.FitKernel(kernelWidth, x, landmarks))
	}
	return view.Steps{standardise, view.Beside(views...)}, nil
}

// recall takes an older model's prior, in the units of the rows' targets.
func (f *features) recall(older *saved.Prior) {
	unit := 1 / f.scale[0]
	f.noise = older.Noise * unit * unit
	f.mean = slices.Clone(older.Mean)
	f.mean[0] -= f.center[0]
	floats.Scale(unit, f.mean)
	for _, row := range older.Root {
		row = slices.Clone(row)
		floats.Scale(unit, row)
		f.root = append(f.root, row)
	}
	f.add(After, 0, len(f.root))
}

// labels are the targets of the training rows of every task.
func labels(p *data.ProblemData) (y [][]float64) {
	for _, t := range p.Tasks {
		y = append(y, t.TrainSet.Y)
	}
	return y
}

// leading is the first eigenvector of the targets' correlations, scaled so that its squares add up
// to the number of tasks; ones where tasks have other rows.
func (f *features) leading() []float64 {
	m := len(f.Tasks)
	n := len(f.Tasks[0].TrainSet.Y)
	var y []float64
	for i, t := range f.Tasks {
		if len(t.TrainSet.Y) != n || n == 0 {
			return f.loading
		}
		for _, v := range t.TrainSet.Y {
			y = append(y, f.target(i, v, 0))
		}
	}
	var products mat.SymDense
	products.SymOuterK(1, mat.NewDense(m, n, y))
	spectrum, err := linalg.Eigen(&products)
	if err != nil {
		return f.loading
	}
	first := mat.Col(nil, m-1, spectrum.Vectors)
	floats.Scale(
		math.Copysign(math.Sqrt(float64(m)), floats.Sum(first)), first)
	return first
}

// nearness holds the coordinates of rows that the steps have made.
func (f *features) nearness(x data.Matrix) []float64 {
	rows := make([]float64, x.Rows()*f.landmarks)
	for i := range x.Rows() {
		row := rows[i*f.landmarks:][:f.landmarks]
		for k, v := range x.Row(i).Value[f.Cols()-f.landmarks:] {
			coordinates := f.coordinates[k*f.landmarks:][:f.landmarks]
			floats.AddScaled(row, float64(v), coordinates)
		}
	}
	return rows
}

// rows are the chosen features of a task's training rows.
func (f *features) rows(task int, chosen []int) []float64 {
	x := f.Tasks[task].TrainSet.X
	wide := 1 + f.Cols()
	straight := wide - f.landmarks
	rows := make([]float64, 0, x.Rows()*len(chosen))
	for i := range x.Rows() {
		value := x.Row(i).Value
		for _, j := range chosen {
			v := 1.0
			switch {
			case j >= wide:
				v = saved.Affine(f.root[j-wide], value)
			case j >= straight:
				v = f.kernelRows[task][i*f.landmarks+j-straight]
			case j > 0:
				v = float64(value[j-1])
			}
			rows = append(rows, v)
		}
	}
	return rows
}

// components are the parts of a structure's mixed model, and the features that it takes.
func (f *features) components(s Structure) (p mixed.Problem, chosen []int) {
	number := map[string]int{}
	for j, origin := range f.columns {
		if !s.has(origin.view) {
			continue
		}
		key := origin.view
		if key == After {
			key = "older model"
		}
		if f.separate && s.View == Curves && origin.view != Level {
			column, _, _ := strings.Cut(f.names[origin.column], "=")
			key += " " + column
		}
		k, known := number[key]
		if !known {
			k = len(p.Components)
			number[key] = k
			p.Components = append(p.Components, mixed.Component{Name: key})
		}
		p.Part = append(p.Part, k)
		chosen = append(chosen, j)
	}
	p.Loss = f.loss
	if s.View == After {
		p.Components[0].Own = 1
		p.Noise = f.noise
		return p, chosen
	}
	share := explainedAtFirst / float64(2*len(p.Components))
	for k := range p.Components {
		c := &p.Components[k]
		if k == 0 || s.Sharing != Alone {
			c.Common = share
		}
		if k == 0 || s.Sharing != Pooled {
			c.Own = share
		}
	}
	if s.View == Kernel {
		p.NoiseRows = kernelNoise
	}
	if f.separate && s == (Structure{View: Curves}) {
		f.correlate(&p, chosen)
	}
	p.Components[0].Fixed = true
	p.Components[0].Common = flat
	if p.Loss != nil {
		p.Components[0].Common = flatClasses
	}
	return p, chosen
}

// correlate lets levels of tasks correlate with their slopes along few columns of numbers.
func (f *features) correlate(p *mixed.Problem, chosen []int) {
	var correlated []int
	for i, j := range chosen {
		origin := f.columns[j]
		if origin.view == Level || origin.view == Straight &&
			!strings.Contains(f.names[origin.column], "=") {
			correlated = append(correlated, p.Part[i])
		}
	}
	if len(correlated) > mostCorrelated {
		return
	}
	for _, k := range correlated {
		p.Components[k].Correlated = true
	}
}

// problem is the mixed model of a structure, for one class of several against the rest. Tasks that
// the class is foreign to have no rows.
func (f *features) problem(s Structure, class int, foreign []bool) mixed.Problem {
	p, chosen := f.components(s)
	for i, t := range f.Tasks {
		task := mixed.Task{Loading: f.loading[i]}
		if foreign[i] {
			p.Tasks = append(p.Tasks, task)
			continue
		}
		task.Features = f.rows(i, chosen)
		task.Weight = t.TrainSet.Weight
		if f.counts > 0 {
			task.Weight = f.weights(i, t.TrainSet.Weights())
		}
		for r, y := range t.TrainSet.Y {
			if s.View == After {
				value := t.TrainSet.X.Row(r).Value
				task.Offset = append(task.Offset, saved.Affine(f.mean, value))
			}
			task.Y = append(task.Y, f.target(i, y, class))
		}
		p.Tasks = append(p.Tasks, task)
	}
	return p
}

func btoi(holds bool) int {
	if holds {
		return 1
	}
	return 0
}

// has says that a structure has features of a view.
func (s Structure) has(view string) bool {
	switch view {
	case Level:
		return s.View != After
	case Straight:
		return s.View != Level && s.View != After
	}
	return view == s.View
}

// posterior is a structure fitted to the training rows.
type posterior struct {
	// Result is for the rows that the steps make. Its last column is for a new task.
	*multitask.Result
	parts  mixed.Problem // of the first class
	chosen []int         // features
	fits   []*mixed.Fit  // class by class
}

// fit fits a structure to the training rows. The search begins at the variances of another fit, if
// there is one.
func (f *features) fit(
	ctx context.Context, s Structure, workers int, start []*mixed.Fit,
) (*posterior, error) {
	classes := max(1, f.Several())
	wide := f.Cols()
	m := len(f.Tasks)
	r := &multitask.Result{Model: s.Name()}
	r.W = mat.NewDense(classes*wide, m+1, nil)
	r.B = make([]float64, classes*(m+1))
	result := &posterior{Result: r}
	result.parts, result.chosen = f.components(s)
	for class := range classes {
		foreign := f.Foreign(class)
		p := f.problem(s, class, foreign)
		given := s.View == After
		if start != nil && !given {
			begin(&p, start[class])
		}
		fit, err := sampledFit(ctx, p, mixed.Options{
			Workers: workers,
			Given:   given,
		})
		if err != nil {
			return nil, err
		}
		result.fits = append(result.fits, fit)
		for i := range m + 1 {
			t := min(i, m-1)
			w := slices.Clone(fit.Common)
			if i < m {
				floats.Scale(f.loading[i], w)
				floats.Add(w, fit.Own[i])
			}
			weights, level := f.pull(result.chosen, w)
			if s.View == After {
				level += f.mean[0]
				floats.Add(weights[:len(f.mean)-1], f.mean[1:])
			}
			floats.Scale(f.scale[t], weights)
			for j, v := range weights {
				r.W.Set(class*wide+j, i, v)
			}
			r.B[i*classes+class] = f.center[t] + f.scale[t]*level
			if i < m && foreign[i] {
				r.B[i*classes+class] = math.Inf(-1)
			}
		}
	}
	return result, nil
}

// littleShare is the least share of a variance at the start: 0 would stay 0.
const littleShare = 1e-3

// begin takes the variances of a fit of other rows, whose components have the same names. Its
// noise is left, as the prior of a kernel's noise is where a search begins.
func begin(p *mixed.Problem, start *mixed.Fit) {
	for k := range p.Components {
		c := &p.Components[k]
		for _, found := range start.Components {
			if found.Name != c.Name {
				continue
			}
			if c.Common > 0 && !c.Fixed {
				c.Common = max(littleShare, found.Common*found.Size)
			}
			if c.Own > 0 {
				c.Own = max(littleShare, found.Own*found.Size)
			}
		}
	}
}

// mostWork is how many multiplications a step of the variances may take. Of more rows a part has a
// say in them.
const mostWork = 1.5e8

// sampledFit fits a mixed model.
func sampledFit(ctx context.Context, p mixed.Problem, o mixed.Options) (*mixed.Fit, error) {
	share := mostWork / work(p)
	if share < 1 && !o.Given {
		part, err := mixed.New(ctx, sampled(p, share), o)
		if err != nil {
			return nil, err
		}
		p.Components = part.Components
		p.Covariance = part.Covariance
		p.Noise = part.Noise
		o.Given = true
	}
	return mixed.New(ctx, p, o)
}

// work is how many multiplications a step takes.
func work(p mixed.Problem) (total float64) {
	d := float64(len(p.Part))
	for i, t := range p.Tasks {
		if p.Twin(i) {
			continue
		}
		n := float64(len(t.Y))
		rows := min(n, d)
		total += rows * d * (rows + d)
		if p.Loss != nil {
			total += n * d * d
		}
	}
	return total
}

// fewestSampled is the number of tasks that are sampled at least and, where there are more, of
// their rows: a single row of a task does not tell its weights from noise.
const fewestSampled = 50

// sampled is a share of a problem: of the rows of each task in the order of their targets, of
// twins in the order of their sums and, where that leaves too many, of the tasks in the order of
// their mean targets, evenly spaced.
func sampled(p mixed.Problem, share float64) mixed.Problem {
	d := len(p.Part)
	var parts []mixed.Task
	var levels []float64
	var rows []int
	for i, t := range p.Tasks {
		levels = append(levels, stat.Mean(t.Y, nil))
		if !p.Twin(i) {
			sums := slices.Clone(t.Y)
			for j := i + 1; p.Twin(j); j++ {
				floats.Add(sums, p.Tasks[j].Y)
			}
			rows = spaced(sums, share)
		}
		part := mixed.Task{Loading: t.Loading}
		for _, r := range rows {
			part.Features = append(part.Features, t.Features[r*d:][:d]...)
			part.Y = append(part.Y, t.Y[r])
			if t.Weight != nil {
				part.Weight = append(part.Weight, t.Weight[r])
			}
		}
		parts = append(parts, part)
	}
	p.Tasks = parts
	share = mostWork / work(p)
	p.Tasks = nil
	for _, i := range spaced(levels, share) {
		p.Tasks = append(p.Tasks, parts[i])
	}
	return p
}

// spaced are the places of a share of values, but of fewestSampled at least, evenly spaced in their
// order.
func spaced(values []float64, share float64) (places []int) {
	n := float64(len(values))
	order := make([]int, len(values))
	floats.ArgsortStable(slices.Clone(values), order)
	share = min(1, max(share, fewestSampled/n))
	for k := 0.5; k < n; k += 1 / share {
		places = append(places, order[int(k)])
	}
	return places
}

// mostDoubt bounds the numbers that say how sure a fit of several classes is.
const mostDoubt = 500_000

// doubts say how sure the fit is of rows that the steps make: one of the only score or, of several
// classes, each against the rest, unless they would take too much room.
func (f *features) doubts(p *posterior) (one *saved.Doubt, classes []*saved.Doubt) {
	count := len(p.fits)
	d := len(p.fits[0].Common)
	if count == 1 {
		return f.doubt(p, 0), nil
	}
	if count*d*d > mostDoubt {
		return nil, nil
	}
	for class := range count {
		classes = append(classes, f.doubt(p, class))
	}
	return nil, classes
}

// doubt is the doubt of a class, or of the only score.
func (f *features) doubt(p *posterior, class int) *saved.Doubt {
	fit := p.fits[class]
	d := len(fit.Common)
	doubt := &saved.Doubt{Noise: fit.Noise}
	if f.Kind() == data.Classification || f.counts > 0 {
		doubt.Noise = 0
	}
	add := func(to *[]float64, w []float64) {
		if floats.Norm(w, 1) > 0 {
			weights, level := f.pull(p.chosen, w)
			*to = append(append(*to, level), weights...)
		}
	}
	for row := range slices.Chunk(fit.Root, d) {
		add(&doubt.Common, row)
	}
	var correlated []int
	for j, k := range p.parts.Part {
		if p.parts.Components[k].Correlated {
			correlated = append(correlated, j)
			continue
		}
		w := make([]float64, d)
		w[j] = math.Sqrt(fit.Components[k].Own)
		add(&doubt.Own, w)
	}
	if correlated != nil {
		root := mixed.Root(fit.Covariance)
		for i := range correlated {
			w := make([]float64, d)
			for k, j := range correlated {
				w[j] = root.At(i, k)
			}
			add(&doubt.Own, w)
		}
	}
	for i, left := range fit.Left {
		task := saved.TaskDoubt{
			Left:    left,
			Loading: f.loading[i],
			Scale:   f.scale[i],
		}
		doubt.Tasks = append(doubt.Tasks, task)
	}
	newTask := saved.TaskDoubt{
		Left:    1,
		Loading: 1,
		Scale:   f.scale[0],
	}
	doubt.Tasks = append(doubt.Tasks, newTask)
	return doubt
}

// embed turns weights of the columns of a table into weights of the rows that the steps make. A
// new task has the mean of all, and the mean level of a class.
func (f *features) embed(r *multitask.Result) *multitask.Result {
	standardise := f.steps[0]
	wide := f.Cols()
	rows, m := r.W.Dims()
	classes := rows / standardise.Cols
	embedded := *r
	embedded.W = mat.NewDense(classes*wide, m+1, nil)
	embedded.B = append(slices.Clone(r.B), make([]float64, classes)...)
	for class := range classes {
		for k, origin := range f.columns[1 : wide+1] {
			if origin.view != Straight {
				continue
			}
			row := embedded.W.RawRowView(class*wide + k)
			for i, w := range r.W.RawRowView(class*
				standardise.Cols + origin.column) {
				embedded.B[i*classes+class] += w * standardise.Mean[origin.column]
				row[i] = w * standardise.Deviation[origin.column]
				row[m] += row[i] / float64(m)
			}
		}
	}
	known := make([]float64, classes) // tasks that the class is not foreign to
	for i, b := range r.B {
		if !math.IsInf(b, -1) {
			known[i%classes]++
		}
	}
	for i, b := range embedded.B[:len(r.B)] {
		if !math.IsInf(b, -1) {
			embedded.B[len(r.B)+i%classes] += b / known[i%classes]
		}
	}
	return &embedded
}

// omega is the covariance of the tasks' scores without their levels.
func (f *features) omega(fits []*mixed.Fit) *mat.SymDense {
	m := len(f.Tasks)
	omega := mat.NewSymDense(m, nil)
	specific := math.SmallestNonzeroFloat32
	for _, fit := range fits {
		common := 0.0
		for _, c := range fit.Components[1:] {
			common += c.Common * c.Size
			specific += c.Own * c.Size
		}
		omega.SymRankOne(omega, common, mat.NewVecDense(m, f.loading))
	}
	for i := range m {
		omega.SetSym(i, i, omega.At(i, i)+specific)
	}
	return multitask.Normalised(omega)
}

// pull turns weights of chosen features into weights of the rows that the steps make, and a level.
func (f *features) pull(chosen []int, w []float64) (weights []float64, level float64) {
	full := make([]float64, len(f.columns))
	for next, j := range chosen {
		full[j] = w[next]
	}
	wide := 1 + f.Cols()
	kernel := slices.Clone(full[wide-f.landmarks : wide])
	for k := range kernel {
		coordinates := f.coordinates[k*f.landmarks:][:f.landmarks]
		full[wide-f.landmarks+k] = floats.Dot(coordinates, kernel)
	}
	for k, row := range f.root {
		floats.AddScaled(full[:len(row)], full[wide+k], row)
	}
	return full[1:wide], full[0]
}
