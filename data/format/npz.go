package format

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"l2mt/data"
	"l2mt/data/files"
)

// An .npz file is a zip file of NumPy arrays. These make a dataset:
//
//	X         n x d features, or instead
//	data      with indices, indptr, shape and format: as SciPy stores CSR
//	y         n labels or targets, or n x k targets
//	group     n groups (tasks)
//	classes   names of the classes 1, 2, ... (or 0, 1, ...)
//	groups    names of the groups, likewise
//	features  d names
//	targets   k names
//	kind      "classification" or "regression"
//	steps     names of the steps that made the features
//
// The features and y are needed. Without group, groups has n groups, as in scikit-learn. Other
// arrays are passed over, which the notes of the dataset say.

func parseNPZ(r io.ReaderAt, size int64, o Options) (*Frame, error) {
	packed, err := zip.NewReader(r, size)
	if err != nil {
		return nil, data.Malformed("it is no .npz file, or cut short: %w", err)
	}
	p := &npzParser{
		size:  size,
		entry: map[string]*zip.File{},
	}
	for _, f := range packed.File {
		name := strings.TrimSuffix(f.Name, ".npy")
		err := checkName(r, f)
		if err != nil {
			return nil, fmt.Errorf("array %s: %w", name, err)
		}
		if p.entry[name] != nil {
			return nil, data.Malformed("array %s: two arrays have this name", name)
		}
		p.names = append(p.names, name)
		p.entry[name] = f
	}
	t := p.frame(o)
	unused := slices.DeleteFunc(p.names, func(name string) bool {
		return slices.Contains(p.taken, name)
	})
	if len(unused) > 0 {
		t.Notes = []string{"arrays that are not read: " + Abridge(unused)}
	}
	return t, p.err
}

// checkName compares the name of an array in the directory, which nothing protects, with the
// name before the array: under a damaged name it would be passed over.
func checkName(r io.ReaderAt, f *zip.File) error {
	start, err := f.DataOffset()
	if err != nil {
		return data.Malformed("the archive is damaged")
	}
	head := make([]byte, min(start, int64(len(f.Name)+headerRoom)))
	_, err = r.ReadAt(head, start-int64(len(head)))
	if err != nil {
		return err
	}
	if !bytes.Contains(head, []byte(f.Name)) {
		return data.Malformed("the array has another name in the directory of the .npz file than before its data")
	}
	return nil
}

// headerRoom is more than NumPy puts beside the name before an array.
const headerRoom = 1 << 10

// groupsArray has the names of groups or, without an array group, the groups.
const groupsArray = "groups"

// npzParser reads arrays until one has an error.
type npzParser struct {
	size  int64
	names []string // in the file's order
	entry map[string]*zip.File
	taken []string
	err   error
}

// take reads an array with read, if there has been no error.
func take[T any](p *npzParser, name string, read func(*array) (T, error)) (
	result T) {
	if p.err != nil {
		return result
	}
	p.taken = append(p.taken, name)
	a, err := p.open(name)
	if err == nil {
		result, err = read(a)
	}
	if err != nil {
		p.err = fmt.Errorf("array %s: %w", name, err)
	}
	return result
}

// open reads the header of an array. It holds nothing that outlives the file.
func (p *npzParser) open(name string) (*array, error) {
	f := p.entry[name]
	if f == nil {
		return nil, data.Malformed("it is missing")
	}
	stored := int64(min(f.CompressedSize64, uint64(p.size)))
	r, err := f.Open()
	if err != nil {
		return nil, data.Malformed("the archive is damaged, or packed in a way that NumPy does not use")
	}
	return newArray(r, int64(f.UncompressedSize64), stored)
}

func (p *npzParser) frame(o Options) *Frame {
	t := &Frame{
		classes:  p.text("classes"),
		Features: p.text("features"),
	}
	t.Steps = p.text("steps")
	if p.entry["indptr"] != nil {
		t.X = p.csr()
	} else {
		t.X = take(p, p.find("", []string{"X"}, "features"), denseOf)
	}
	t.Labels = p.columns(p.find(o.Label, LabelNames, "labels"))
	usual := append(slices.Clone(GroupNames), groupsArray)
	group := o.Group
	if group != "" || FindUsual(p.names, usual) >= 0 {
		group = p.find(group, usual, "groups")
		columns := p.columns(group)
		if columns != nil {
			t.Group = columns[0]
		}
	}
	if group != groupsArray {
		t.groups = p.text(groupsArray)
	}
	switch kind := data.Kind(strings.Join(p.text("kind"), " ")); kind {
	case data.Regression, data.Classification:
		t.Kind = kind
	}
	return t
}

// csr reads a matrix as scipy.sparse.save_npz writes it.
func (p *npzParser) csr() *data.Stored {
	format := take(p, "format", textsOf)
	if p.err == nil && !slices.Equal(format, []string{"csr"}) {
		p.err = data.Malformed("array format: the sparse matrix is stored as %q; store it as csr", format)
	}
	shape := take(p, "shape", wholesOf[int32])
	begin := take(p, "indptr", wholesOf[int])
	index := take(p, "indices", wholesOf[int32])
	value := take(p, "data", numbersOf[float32])
	if p.err == nil &&
		(len(shape) != 2 || int(shape[0]) != len(begin)-1) {
		p.err = data.Malformed("array shape: it is %v, but indptr has %d entries, which must be one more than there are rows",
			shape, len(begin))
	}
	if p.err != nil {
		return nil
	}
	x, err := data.NewCSR(int(shape[1]), begin, index, value)
	if err != nil {
		p.err = data.Malformed("the entries of the sparse matrix are not in order (SciPy's sum_duplicates sorts them): %w", err)
	}
	return x
}

// find returns the array asked for or, if none is, the first with one of the usual
// names. The error for a missing array lists the arrays.
func (p *npzParser) find(asked string, usual []string, what string) string {
	j := FindUsual(p.names, usual)
	if asked == "" && j >= 0 {
		return p.names[j]
	}
	if p.err != nil || p.entry[asked] != nil {
		return asked
	}
	header := func(a *array) (*array, error) {
		return a, nil
	}
	var present []string
	for _, name := range p.names {
		present = append(present,
			fmt.Sprintf("%s (%v)", name, take(p, name, header)))
	}
	if p.err == nil {
		p.err = data.Malformed("there is no array %s of %s, only %s; a dataset has features X (n x d) and labels y (n)",
			cmp.Or(asked, strings.Join(usual, ", ")), what, Abridge(present))
	}
	return ""
}

// text reads an array of text, nil if it is missing or has no text.
func (p *npzParser) text(name string) []string {
	if p.entry[name] == nil {
		return nil
	}
	return take(p, name, textsOf)
}

func denseOf(a *array) (*data.Stored, error) {
	if len(a.shape) != 2 || a.count == 0 {
		return nil, data.Invalid("it is %v; features are n x d", a)
	}
	n := a.shape[0]
	d := a.shape[1]
	if err := bounded(n, d, a.count, a.stored); err != nil {
		return nil, err
	}
	entry, err := numbersOf[float32](a)
	if err != nil {
		return nil, err
	}
	return data.NewDense(n, d, entry)
}

// wholesOf reads numbers of rows, columns or entries.
func wholesOf[T int | int32](a *array) ([]T, error) {
	entry, err := numbersOf[float64](a)
	if err != nil {
		return nil, err
	}
	whole := make([]T, len(entry))
	for i, v := range entry {
		whole[i] = T(v)
		if v < 0 || v > maxClassNumber || float64(whole[i]) != v {
			return nil, data.Malformed("entry %d is %v; it must be a whole number from 0", i, v)
		}
	}
	return whole, nil
}

// columns reads labels or groups: one column or, with names, several.
func (p *npzParser) columns(name string) []*Column {
	names := p.text("targets")
	return take(p, name, func(a *array) ([]*Column, error) {
		if len(a.shape) == 0 || len(a.shape) > 2 || a.count == 0 {
			return nil, data.Invalid("it is %v; it must have one entry, or one row, for each row of features", a)
		}
		width := a.count / a.shape[0]
		if len(names) != width {
			names = Numbered(width)
		}
		columns := make([]*Column, width)
		for j := range columns {
			columns[j] = &Column{Name: names[j]}
		}
		if a.kind == textKind && width == 1 {
			texts, err := textsOf(a)
			columns[0].AsText = true
			for _, text := range texts {
				columns[0].Add(text)
			}
			return columns, err
		}
		entry, err := numbersOf[float64](a)
		for k, v := range entry {
			columns[k%width].Numbers = append(columns[k%width].Numbers, v)
		}
		return columns, err
	})
}

// Write writes the dataset to an .npz file, which keeps everything. The file appears
// whole or not at all.
func Write(path string, d *data.Dataset) error {
	if strings.ToLower(filepath.Ext(path)) != ".npz" {
		return data.Malformed("%s: datasets are written as .npz; give a name that ends in .npz", path)
	}
	return files.Write(path, func(w io.Writer) error {
		return WriteNPZ(w, d)
	})
}

// WriteNPZ writes the dataset as an .npz file that keeps all of it: reading it
// gives the same fingerprint, names and steps. Sparse features are stored so
// that scipy.sparse.load_npz reads them.
func WriteNPZ(w io.Writer, d *data.Dataset) error {
	if err := d.Validate(); err != nil {
		return err
	}
	arrays, err := arraysOf(d)
	if err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	z := zip.NewWriter(w)
	for _, a := range arrays {
		f, err := z.Create(a.name + ".npy")
		if err == nil {
			err = a.write(f)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

// arraysOf returns all arrays of a dataset.
func arraysOf(d *data.Dataset) ([]output, error) {
	for _, name := range slices.Concat(d.Classes, d.Groups, d.Features) {
		if !utf8.ValidString(name) || strings.HasSuffix(name, "\x00") {
			return nil, data.Invalid("name %q: NumPy cannot hold it; it must be UTF-8 and not end in a zero", name)
		}
	}
	arrays := featureArrays(d.X)
	kind := data.Classification
	if d.Regression() {
		kind = data.Regression
		targets := output{"y", "<f8", []int{len(d.Target)}, []any{d.Target}}
		arrays = append(arrays, targets)
	} else {
		arrays = append(arrays, numberArray("y", d.Label),
			namesArray("classes", d.Classes))
	}
	arrays = append(arrays, textArray("kind", string(kind)))
	if d.Group != nil {
		arrays = append(arrays, numberArray("group", d.Group),
			namesArray("groups", d.Groups))
	}
	if d.Features != nil {
		arrays = append(arrays, namesArray("features", d.Features))
	}
	if d.Steps != nil {
		arrays = append(arrays, namesArray("steps", d.Steps))
	}
	return arrays, nil
}

// featureArrays stores X, dense or as CSR.
func featureArrays(x data.Matrix) []output {
	n := x.Rows()
	d := x.Cols()
	begin := make([]int64, n+1)
	index := make([]any, n)
	value := make([]any, n)
	for i := range n {
		row := x.Row(i)
		index[i] = row.Index
		value[i] = row.Value
		begin[i+1] = begin[i] + int64(len(row.Value))
	}
	if x.Row(0).Index == nil {
		return []output{{"X", "<f4", []int{n, d}, value}}
	}
	return []output{
		textArray("format", "csr"),
		{"shape", "<i8", []int{2}, []any{int64(n), int64(d)}},
		{"indptr", "<i8", []int{n + 1}, []any{begin}},
		{"indices", "<i4", []int{x.NNZ()}, index},
		{"data", "<f4", []int{x.NNZ()}, value},
	}
}

// numberArray numbers classes or groups from 1.
func numberArray(name string, index []int32) output {
	number := make([]int32, len(index))
	for i, c := range index {
		number[i] = c + 1
	}
	return output{name, "<i4", []int{len(index)}, []any{number}}
}

// textArray is a single text.
func textArray(name, text string) output {
	a := namesArray(name, []string{text})
	a.shape = nil
	return a
}

// namesArray pads every name with zeros to the length of the longest.
func namesArray(name string, names []string) output {
	width := 1
	for _, s := range names {
		width = max(width, utf8.RuneCountInString(s))
	}
	a := output{name, fmt.Sprintf("<U%d", width), []int{len(names)}, nil}
	for _, s := range names {
		text := []rune(s)
		a.parts = append(a.parts, text, make([]rune, width-len(text)))
	}
	return a
}
