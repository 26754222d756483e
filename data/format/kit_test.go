package format

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/view"
)

// inFile writes content to a file of that name.
func inFile(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	datatest.Check(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func packed(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	datatest.Must(z.Write([]byte(text)))(t)
	datatest.Check(t, z.Close())
	return b.String()
}

// columnsOf reads all columns of a table, as texts where that is asked for.
func columnsOf(path string, o Options, asText bool) (names []string, columns []*Column, err error) {
	rows, err := OpenRows(path, o)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for j := range rows.Width {
		columns = append(columns, &Column{At: j, AsText: asText})
	}
	_, err = rows.Read(columns)
	return rows.Names, columns, err
}

func mustRead(t testing.TB, path string, o Options) *data.Dataset {
	t.Helper()
	return datatest.Must(datasetOf(path, datatest.Must(Read(path, o))(t)))(t)
}

// datasetOf is the dataset of a frame. Labels are targets if the file says so, or one has a fraction.
func datasetOf(name string, f *Frame) (d *data.Dataset, err error) {
	d = &data.Dataset{Name: name, X: f.X, Features: f.Features, Steps: f.Steps, Notes: f.Notes}
	label := f.Labels[0]
	fraction := slices.ContainsFunc(label.Numbers, func(v float64) bool { return v != math.Trunc(v) })
	if f.Kind == data.Regression || f.Kind == "" && label.Texts == nil && fraction {
		d.Target = label.Numbers
	} else {
		d.Label, d.Classes, err = label.Named()
	}
	if f.Group != nil && err == nil {
		d.Group, d.Groups, err = f.Group.Named()
	}
	if err != nil {
		return nil, err
	}
	return d, d.Validate()
}

// fromBytes reads content as Read would read it from a file of that name, but
// without the file, which would be slow.
func fromBytes(name string, content []byte, o Options) (*data.Dataset, error) {
	format, err := formatOfName(name)
	if err != nil {
		return nil, err
	}
	var t *Frame
	r := bytes.NewReader(content)
	switch format {
	case SVMLight:
		t, err = parseSVMLight(&text{Reader: r, packed: &counter{n: r.Size()}})
	case NPZ:
		t, err = parseNPZ(r, r.Size(), o)
	}
	if err != nil {
		return nil, err
	}
	if err := t.rename(); err != nil {
		return nil, err
	}
	return datasetOf(name, t)
}

func mustReadBytes(t testing.TB, name string, content []byte) *data.Dataset {
	t.Helper()
	return datatest.Must(fromBytes(name, content, Options{}))(t)
}

// tableDataset is the content of the files table.*, as their maker states it.
func tableDataset(t testing.TB) *data.Dataset {
	t.Helper()
	x := datatest.Must(data.NewDense(8, 5, []float32{
		0, 1.5, 0, -2, 0,
		3, 0, 0.25, 0, 0,
		0, 0, 0, 0, 0,
		1, 2, 3, 4, 5,
		-0.5, 0, 1024, 0, 0,
		0, 1. / 1024, 0, 7, 0,
		2, 2, 2, 2, 0,
		0, 0, 0, -1, 0,
	}))(t)
	return &data.Dataset{X: x, Label: []int32{1, 0, 2, 0, 1, 2, 0, 1}, Classes: []string{"1", "2", "5"}}
}

// randomDataset draws a dataset of any kind that files must carry.
func randomDataset(rng *rand.Rand) *data.Dataset {
	n, cols := 1+rng.IntN(12), 1+rng.IntN(6)
	begin, index, value := []int{0}, []int32{}, []float32{}
	dense := make([]float32, n*cols)
	for i := range n {
		for j := range cols {
			if rng.IntN(3) > 0 {
				continue
			}
			v := float32(rng.NormFloat64() * math.Exp(10*rng.NormFloat64()))
			if rng.IntN(2) == 0 {
				v = float32(rng.IntN(2000))
			}
			dense[i*cols+j] = v
			index, value = append(index, int32(j)), append(value, v)
		}
		begin = append(begin, len(index))
	}
	d := &data.Dataset{Name: "made"}
	d.X, _ = data.NewDense(n, cols, dense)
	if rng.IntN(2) == 0 {
		d.X, _ = data.NewCSR(cols, begin, index, value)
	}
	if rng.IntN(3) == 0 {
		d.Target = make([]float64, n)
		for i := range d.Target {
			d.Target[i] = float64(rng.IntN(3)) * 1.1
		}
	} else {
		d.Label, d.Classes = randomClasses(rng, n)
	}
	if rng.IntN(2) == 0 {
		d.Group, d.Groups = randomClasses(rng, n)
	}
	if rng.IntN(2) == 0 {
		for j := range cols {
			d.Features = append(d.Features, strings.Repeat("é", j)+"word")
		}
	}
	if rng.IntN(2) == 0 {
		d.Steps = []string{view.Unit, view.Standardise}
	}
	return d
}

// randomClasses draws classes, numbered or named, some of them perhaps empty.
func randomClasses(rng *rand.Rand, n int) ([]int32, []string) {
	var names []string
	first, numbered := rng.IntN(4)-2, rng.IntN(2) == 0
	for c := range 1 + rng.IntN(4) {
		name := strconv.Itoa(first + 3*c)
		if !numbered {
			name = fmt.Sprintf("class %d ☂", c)
		}
		names = append(names, name)
	}
	index := make([]int32, n)
	for i := range index {
		index[i] = rng.Int32N(int32(len(names)))
	}
	return index, names
}

// refusal is a file that must be refused, and what the error must say.
type refusal struct {
	name, content string
	options       Options
	is            error
	want          string
}

func checkRefusals(t *testing.T, extension string, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := inFile(t, "file"+extension, c.content)
			datatest.Refused(Read(path, c.options))(t, c.is, path+": ", c.want)
		})
	}
}

// packedArrays is an .npz file of arrays, given as name and content in turn.
func packedArrays(t testing.TB, arrays ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for array := range slices.Chunk(arrays, 2) {
		w := datatest.Must(z.Create(array[0] + ".npy"))(t)
		datatest.Must(io.WriteString(w, array[1]))(t)
	}
	datatest.Check(t, z.Close())
	return b.String()
}

// headerOf is the header of an array.
func headerOf(text string) string {
	return "\x93NUMPY\x01\x00" + string([]byte{byte(len(text)), byte(len(text) >> 8)}) + text
}

// full writes out a matrix: its product with I.
func full(x data.Matrix) [][]float64 {
	d := x.Cols()
	identity, product := make([]float64, d*d), make([]float64, x.Rows()*d)
	for j := range d {
		identity[j*d+j] = 1
	}
	x.Mul(product, identity, d)
	return slices.Collect(slices.Chunk(product, max(d, 1)))
}
