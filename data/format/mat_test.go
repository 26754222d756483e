package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"l2mt/data"
	"l2mt/data/datatest"
)

var (
	plain = matWriter{order: binary.LittleEndian}
	tight = matWriter{order: binary.BigEndian, short: true, packed: true}
)

// storages are the types of elements that numbers are stored as, each with the
// class that usually is.
var storages = [][2]uint32{
	{miInt8, 8}, {miUint8, 9}, {miInt16, 10}, {miUint16, 11}, {miInt32, 12}, {miUint32, 13},
	{miInt64, 14}, {miUint64, 15}, {miSingle, mxSingle}, {miDouble, mxDouble},
}

// fea and gnd in both byte orders, packed and not, with short elements and
// without, as every type of numbers, classes stored as smaller types, dense and
// sparse, labels in a row or a column.
func TestMATRowsSurviveEveryWayOfStoringThem(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	for seed := range uint64(200) {
		rng := data.Stream(seed, "mat rows")
		w := randomWriter(rng)
		n, d := 1+rng.IntN(7), 1+rng.IntN(5)
		storage := storages[rng.IntN(len(storages))]
		class := storage[1]
		if rng.IntN(2) == 0 {
			class = mxDouble // MATLAB stores doubles that are whole as integers
		}
		rows := randomRows(rng, storage[0], n, d)
		x := w.dense("fea", class, storage[0], rows)
		if rng.IntN(2) == 0 {
			x = w.sparse("fea", miDouble, rows, rng.IntN(3))
		}
		labels := make([][]float64, n)
		for i := range labels {
			labels[i] = []float64{float64(1 + rng.IntN(3))}
		}
		y := w.dense("gnd", mxDouble, storages[rng.IntN(len(storages))][0], labels)
		if rng.IntN(2) == 0 {
			y = w.dense("gnd", 9, miUint8, [][]float64{slices.Concat(labels...)})
		}
		variables := [][]byte{x, y, w.char("about", miUint16, "made"), w.variable("s", 2, 0, []float64{1, 1})}
		rng.Shuffle(len(variables), func(i, j int) { variables[i], variables[j] = variables[j], variables[i] })
		got := mustParseMAT(t, w.file(variables...), Options{})
		if diff := cmp.Diff(rows, full(got.X)); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		for i, l := range got.Label {
			if got.Classes[l] != fmt.Sprint(labels[i][0]) {
				t.Fatalf("seed %d: row %d has class %s, want %v", seed, i, got.Classes[l], labels[i][0])
			}
		}
	}
}

func TestMATCellsBecomeTasks(t *testing.T) {
	for seed := range uint64(100) {
		rng := data.Stream(seed, "mat cells")
		w := randomWriter(rng)
		d, m := 1+rng.IntN(4), 1+rng.IntN(4)
		values := [][]float64{{-1, 1}, {0, 1}, {0.5, 2, 1}, {1, 2}}[seed%4]
		regression := seed%4 > 1
		sparse := rng.IntN(2) == 0
		var xs, ys [][]byte
		var rows [][]float64
		var target []float64
		var group []int32
		for task := range m {
			part := randomRows(rng, miDouble, 2+rng.IntN(4), d)
			rows = append(rows, part...)
			y := make([][]float64, len(part))
			for i := range part {
				y[i] = []float64{values[(i+task)%len(values)]}
				target = append(target, y[i][0])
				group = append(group, int32(task))
			}
			if sparse {
				xs = append(xs, w.sparse("", miDouble, part, rng.IntN(2)))
			} else {
				xs = append(xs, w.dense("", mxDouble, miDouble, part))
			}
			ys = append(ys, w.dense("", mxDouble, miDouble, y))
		}
		got := mustParseMAT(t, w.file(w.cell("X", xs...), w.cell("Y", ys...)), Options{})
		if _, isCSR := got.X.(*data.CSR); isCSR != sparse {
			t.Fatalf("seed %d: sparse %t became %T", seed, sparse, got.X)
		}
		if diff := cmp.Diff(rows, full(got.X)); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		if !slices.Equal(got.Group, group) || len(got.Groups) != m || got.Groups[m-1] != fmt.Sprint(m) {
			t.Fatalf("seed %d: groups %v of %q", seed, got.Group, got.Groups)
		}
		if got.Regression() != regression {
			t.Fatalf("seed %d: labels %v are targets: %t", seed, values, got.Regression())
		}
		for i, v := range target {
			if regression && got.Target[i] != v || !regression && got.Classes[got.Label[i]] != fmt.Sprint(v) {
				t.Fatalf("seed %d: label of row %d is not %v", seed, i, v)
			}
		}
	}
}

func TestMATFilesOfSciPy(t *testing.T) {
	want := tableDataset(t)
	table := mustRead(t, formats+"table.mat", Options{})
	if _, sparse := table.X.(*data.CSR); !sparse || table.Fingerprint() != want.Fingerprint() {
		t.Errorf("table.mat holds a different dataset, %T", table.X)
	}
	rows := []int{0, 1, 2, 3, 4, 5, 6, 7, 0}
	cells := mustRead(t, formats+"cells.mat", Options{})
	if diff := cmp.Diff(full(want.X.Take(rows)), full(cells.X)); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(cells.Groups, []string{"1", "2", "3"}) || !slices.Equal(cells.Group, []int32{0, 0, 0, 1, 1, 1, 1, 2, 2}) {
		t.Errorf("groups %v of %q", cells.Group, cells.Groups)
	}
	for i, row := range full(cells.X) {
		sum := 0.0
		for _, v := range row {
			sum += v
		}
		if !cmp.Equal(cells.Target[i], sum/3, cmpopts.EquateApprox(1e-12, 0)) {
			t.Errorf("target of row %d is %v, want %v", i, cells.Target[i], sum/3)
		}
	}
}

func TestMATNamesAndOptions(t *testing.T) {
	two := [][]float64{{1, 2}, {3, 4}}
	x := plain.dense("X", mxDouble, miDouble, two)
	column := func(name string, v ...float64) []byte {
		return plain.dense(name, mxDouble, miDouble, [][]float64{{v[0]}, {v[1]}})
	}
	for _, c := range []struct {
		name    string
		content []byte
		options Options
		classes []string
		target  []float64
		groups  []string
	}{
		{name: "lower case", content: plain.file(plain.dense("x", mxDouble, miDouble, two), column("y", 1, 2)), classes: []string{"1", "2"}},
		{name: "fractions", content: plain.file(x, column("Y", 0.5, 2)), target: []float64{0.5, 2}},
		{name: "fractional gnd", content: plain.file(x, column("gnd", 0.5, 2)), target: []float64{0.5, 2}},
		{name: "gnd comes before y", content: plain.file(column("y", 0.5, 2), x, column("gnd", 3, 4)), classes: []string{"3", "4"}},
		{name: "asked for", content: plain.file(x, column("a", 1, 2), plain.dense("b", mxDouble, miDouble, two), column("y", 3, 4)), options: Options{Features: "b", Label: "a", Kind: data.Regression}, target: []float64{1, 2}},
		{name: "one of two targets", content: plain.file(x, plain.dense("y", mxDouble, miDouble, [][]float64{{1, 5}, {2, 6}})), options: Options{Target: "1", Kind: data.Regression}, target: []float64{5, 6}},
		{name: "group", content: plain.file(x, column("y", 1, 2), column("task", 7, 3)), classes: []string{"1", "2"}, groups: []string{"3", "7"}},
		{name: "group asked for", content: plain.file(x, column("y", 1, 2), plain.words("school", miUTF8, "Süd", "Nord")), options: Options{Group: "school"}, classes: []string{"1", "2"}, groups: []string{"Nord", "Süd"}},
		{name: "words in UTF-8", content: tight.file(tight.dense("X", mxDouble, miDouble, two), tight.words("y", miUTF8, "kött", "bröd")), classes: []string{"bröd", "kött"}},
		{name: "words in UTF-16", content: tight.file(tight.dense("X", mxDouble, miDouble, two), tight.words("y", miUTF16, "kött", "bröd")), classes: []string{"bröd", "kött"}},
		{name: "words as MATLAB stores them", content: plain.file(x, plain.words("y", miUint16, "kött", "bröd")), classes: []string{"bröd", "kött"}},
		{name: "words in UTF-32", content: plain.file(x, plain.words("y", miUTF32, "語", "a")), classes: []string{"a", "語"}},
		{name: "logical", content: plain.file(x, plain.variable("Y", 9, 0x200, []float64{1, 2}, plain.numbers(miUint8, []float64{1, 0}))), classes: []string{"0", "1"}},
		{name: "objects beside", content: plain.file(x, plain.element(miMatrix, slices.Concat(plain.element(miUint32, []byte{mxOpaque, 0, 0, 0, 0, 0, 0, 0}), plain.element(miInt8, []byte("t")), plain.element(miInt8, []byte("MCOS")))), column("y", 1, 2)), classes: []string{"1", "2"}},
		{name: "words of tasks", content: plain.file(plain.cell("X", x), plain.cell("Y", plain.words("", miUTF8, "b", "a"))), classes: []string{"a", "b"}, groups: []string{"1"}},
		{name: "tasks of targets that are classes", content: plain.file(plain.cell("X", x), plain.cell("Y", column("", 1, 2))), options: Options{Kind: data.Classification}, classes: []string{"1", "2"}, groups: []string{"1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := mustParseMAT(t, c.content, c.options)
			if !slices.Equal(d.Classes, c.classes) || !slices.Equal(d.Target, c.target) || !slices.Equal(d.Groups, c.groups) {
				t.Errorf("classes %q, targets %v, groups %q", d.Classes, d.Target, d.Groups)
			}
			if diff := cmp.Diff(two, full(d.X)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadMATRefuses(t *testing.T) {
	two := [][]float64{{1, 2}, {3, 4}}
	x := plain.dense("X", mxDouble, miDouble, two)
	y := plain.dense("Y", mxDouble, miDouble, [][]float64{{1}, {2}})
	text := func(parts ...[]byte) string { return string(plain.file(parts...)) }
	header := func(at int, with string) string { // replaces bytes of the header
		b := plain.file(x, y)
		copy(b[at:], with)
		return string(b)
	}
	sparse := func(row, begin, value []float64) []byte {
		return plain.variable("X", mxSparse, 0, []float64{2, 2}, plain.numbers(miInt32, row), plain.numbers(miInt32, begin), plain.numbers(miDouble, value))
	}
	broken := plain.pack(y)
	broken[len(broken)-1] ^= 1
	nested := x
	for range 6 {
		nested = plain.cell("X", nested)
	}
	row3 := plain.dense("", mxDouble, miDouble, [][]float64{{1, 2, 3}})
	row2, one := plain.dense("", mxDouble, miDouble, two[:1]), plain.dense("", mxDouble, miDouble, [][]float64{{1}})
	checkRefusals(t, ".mat", []refusal{
		{name: "version 7.3", content: header(0, "MATLAB 7.3 MAT-file"), is: data.ErrFormat, want: "save -v7"},
		{name: "HDF5", content: "\x89HDF\r\n\x1a\n" + strings.Repeat("x", 200), is: data.ErrFormat, want: "save -v7"},
		{name: "HDF5 after a block", content: strings.Repeat(" ", 512) + "\x89HDF\r\n\x1a\n", is: data.ErrFormat, want: "save -v7"},
		{name: "version 4", content: "\x00\x00\x00\x00" + strings.Repeat("x", 200), is: data.ErrFormat, want: "MATLAB 4 file; write it again with save -v7"},
		{name: "other version", content: header(124, "\x00\x02"), is: data.ErrFormat, want: "version 0x200"},
		{name: "empty", content: "", is: data.ErrFormat, want: "it has 0 bytes"},
		{name: "something else", content: strings.Repeat("hello ", 100), is: data.ErrFormat, want: `bytes 126 and 127 are "he"`},
		{name: "no variables", content: text(), is: data.ErrFormat, want: "there is no variable X, only []"},
		{name: "no labels", content: text(x), is: data.ErrFormat, want: "there is no variable Y, only [X (2 x 2 double)]"},
		{name: "no such labels", content: text(x, y), options: Options{Label: "label"}, is: data.ErrFormat, want: "no variable label, only [X (2 x 2 double), Y (2 x 1 double)]"},
		{name: "no such features", content: text(x, y), options: Options{Features: "fea"}, is: data.ErrFormat, want: "no variable fea"},
		{name: "no such groups", content: text(x, y), options: Options{Group: "school"}, is: data.ErrFormat, want: "no variable school"},
		{name: "no such target", content: text(x, y), options: Options{Target: "1"}, is: data.ErrInvalid, want: `variable Y (2 x 1 double): invalid data: there is no column "1"`},
		{name: "twice", content: text(x, y, x), is: data.ErrFormat, want: fmt.Sprintf("byte %d: malformed file: a second variable is called \"X\"", 128+len(x)+len(y))},
		{name: "cut short", content: text(x, y[:len(y)-8]), is: data.ErrFormat, want: fmt.Sprintf("byte %d: malformed file: an element of %d bytes where %d are left", 128+len(x), len(y)-8, len(y)-16)},
		{name: "cut in a tag", content: text(x, y)[:131], is: data.ErrFormat, want: "byte 128: malformed file: a tag is cut short"},
		{name: "no variable", content: text(x, plain.element(miDouble, make([]byte, 8))), is: data.ErrFormat, want: "an element of type 9 stands where a variable should"},
		{name: "packed junk", content: text(x, plain.element(miCompressed, []byte("junkjunk"))), is: data.ErrFormat, want: "does not begin as zlib"},
		{name: "packed nothing", content: text(plain.pack(nil)), is: data.ErrFormat, want: "byte 0 of what is packed at byte 128: malformed file: a tag is cut short"},
		{name: "packed in packed", content: text(plain.pack(plain.pack(x))), is: data.ErrFormat, want: "an element of type 15 stands"},
		{name: "wrong checksum", content: text(x, broken), is: data.ErrFormat, want: "variable Y: byte"},
		{name: "unpacks too much", content: text(plain.pack(plain.order.AppendUint32(plain.order.AppendUint32(nil, miMatrix), 1<<31))), is: data.ErrFormat, want: "unpacks to more than 16777216 bytes"},
		{name: "unknown class", content: text(plain.variable("X", 40, 0, []float64{1, 1})), is: data.ErrFormat, want: "byte 136: malformed file: an unknown class of variable, 40"},
		{name: "flags missing", content: text(plain.element(miMatrix, plain.element(miInt8, []byte("X")))), is: data.ErrFormat, want: "byte 136: malformed file: an element of type 1 and 1 bytes stands where flags should"},
		{name: "one dimension", content: text(plain.variable("X", mxDouble, 0, []float64{4}, plain.numbers(miDouble, []float64{1, 2, 3, 4}))), is: data.ErrFormat, want: "byte 152: malformed file: 4 bytes of dimensions"},
		{name: "negative dimension", content: text(plain.variable("X", mxDouble, 0, []float64{2, -2})), is: data.ErrFormat, want: "dimensions [2], -2 are beyond all memory"},
		{name: "huge dimensions", content: text(plain.variable("X", mxDouble, 0, []float64{math.MaxInt32, math.MaxInt32, 4})), is: data.ErrFormat, want: "beyond all memory"},
		{name: "three dimensions", content: text(plain.variable("X", mxDouble, 0, []float64{2, 1, 1}, plain.numbers(miDouble, []float64{1, 2})), y), is: data.ErrInvalid, want: "variable X (2 x 1 x 1 double): invalid data: features must be n x d"},
		{name: "no rows", content: text(plain.variable("X", mxDouble, 0, []float64{0, 2}, plain.numbers(miDouble, nil)), y), is: data.ErrInvalid, want: "variable X (0 x 2 double)"},
		{name: "too few numbers", content: text(plain.variable("X", mxDouble, 0, []float64{2, 2}, plain.numbers(miDouble, []float64{1, 2, 3})), y), is: data.ErrFormat, want: "variable X: byte 184: malformed file: 24 bytes of numbers; an array of 2 x 2 float64 needs 32"},
		{name: "no numbers", content: text(plain.variable("X", mxDouble, 0, []float64{2, 2}, plain.element(miUTF8, []byte("abcd"))), y), is: data.ErrFormat, want: "variable X: byte 184: malformed file: an element of type 16 stands where numbers should"},
		{name: "nothing within", content: text(plain.variable("X", mxDouble, 0, []float64{2, 2}), y), is: data.ErrFormat, want: "variable X: byte 184: malformed file: a tag is cut short"},
		{name: "beyond its variable", content: text(plain.variable("X", mxDouble, 0, []float64{2, 2}, []byte{9, 0, 0, 0, 32, 0, 0, 0}), y), is: data.ErrFormat, want: "variable X: byte 184: malformed file: an element of 32 bytes where 0 are left"},
		{name: "short element too long", content: text(plain.variable("X", mxDouble, 0, []float64{2, 2}, []byte{9, 0, 32, 0, 0, 0, 0, 0}), y), is: data.ErrFormat, want: "a short element claims 32 bytes"},
		{name: "complex", content: text(plain.variable("X", mxDouble, 0x800, []float64{1, 1}), y), is: data.ErrFormat, want: "variable X: byte 136: malformed file: the numbers are complex"},
		{name: "struct", content: text(plain.variable("X", 2, 0, []float64{1, 1}), y), is: data.ErrFormat, want: "it is a struct"},
		{name: "text as features", content: text(plain.char("X", miUTF8, "ab"), y), is: data.ErrFormat, want: "variable X (1 x 2 char): malformed file: features must be numbers"},
		{name: "several lines of text", content: text(x, plain.variable("Y", mxChar, 0, []float64{2, 1}, plain.element(miUTF8, []byte("ab")))), is: data.ErrFormat, want: "several lines must be a cell array"},
		{name: "text as numbers", content: text(x, plain.variable("Y", mxChar, 0, []float64{1, 1}, plain.numbers(miDouble, []float64{1}))), is: data.ErrFormat, want: "text is stored as type 9"},
		{name: "sparse labels", content: text(x, plain.sparse("Y", miDouble, [][]float64{{1}, {2}}, 0)), is: data.ErrFormat, want: "labels must be numbers in a full matrix"},
		{name: "labels of other rows", content: text(x, plain.dense("Y", mxDouble, miDouble, [][]float64{{1}, {2}, {3}})), is: data.ErrInvalid, want: "variable Y (3 x 1 double): invalid data: there must be 2"},
		{name: "word missing", content: text(x, plain.cell("Y", plain.char("", miUTF8, "a"), row2)), is: data.ErrFormat, want: "cell 2 is (1 x 2 double); every cell must hold one word"},
		{name: "NaN", content: text(plain.dense("X", mxDouble, miDouble, [][]float64{{1, 2}, {3, nan()}}), y), is: data.ErrInvalid, want: "row 1, column 1"},
		{name: "columns descend", content: text(sparse([]float64{0, 1}, []float64{0, 2, 1}, []float64{1, 2}), y), is: data.ErrFormat, want: "column 2 of the sparse matrix begins at entry 1"},
		{name: "columns beyond entries", content: text(sparse([]float64{0, 1}, []float64{0, 1, 3}, []float64{1, 2}), y), is: data.ErrFormat, want: "column 2 of the sparse matrix begins at entry 3"},
		{name: "columns from 1", content: text(sparse([]float64{0, 1}, []float64{1, 1, 2}, []float64{1, 2}), y), is: data.ErrFormat, want: "column 0 of the sparse matrix begins at entry 1"},
		{name: "column missing", content: text(sparse([]float64{0, 1}, []float64{0, 2}, []float64{1, 2}), y), is: data.ErrFormat, want: "2 places where columns begin"},
		{name: "row twice", content: text(sparse([]float64{1, 1}, []float64{0, 2, 2}, []float64{1, 2}), y), is: data.ErrFormat, want: "column 0 of the sparse matrix has row 1 after row 1"},
		{name: "row beyond", content: text(sparse([]float64{0, 2}, []float64{0, 1, 2}, []float64{1, 2}), y), is: data.ErrFormat, want: "column 1 of the sparse matrix has row 2 after row -1"},
		{name: "cells too deep", content: text(nested, y), is: data.ErrFormat, want: "cells lie within cells more than 4 deep"},
		{name: "cells of cells", content: text(plain.cell("X", plain.cell("", x)), plain.cell("Y", y)), is: data.ErrFormat, want: "variable X, cell 1 (1 x 1 cell)"},
		{name: "more cells than bytes", content: text(plain.variable("X", mxCell, 0, []float64{1, 1e9}), y), is: data.ErrFormat, want: "1000000000 cells in 0 bytes"},
		{name: "a number as cell", content: text(plain.cell("X", plain.numbers(miDouble, []float64{1})), y), is: data.ErrFormat, want: "an element of type 9 stands where a cell should"},
		{name: "empty cell", content: text(plain.cell("X", plain.element(miMatrix, nil)), plain.cell("Y", one)), is: data.ErrInvalid, want: "variable X, cell 1 (0 x 0 double): invalid data"},
		{name: "damaged cell", content: text(plain.cell("X", row2, plain.variable("", mxDouble, 0, []float64{1, 2})), y), is: data.ErrFormat, want: "variable X: cell 2: byte"},
		{name: "one matrix of labels", content: text(plain.cell("X", x), y), is: data.ErrFormat, want: "it needs as many cells as X (1 x 1 cell) has"},
		{name: "labels of other tasks", content: text(plain.cell("X", x), plain.cell("Y", y, y)), is: data.ErrFormat, want: "variable Y (1 x 2 cell)"},
		{name: "no tasks", content: text(plain.cell("X"), plain.cell("Y")), is: data.ErrFormat, want: "variable Y (1 x 0 cell)"},
		{name: "task of other rows", content: text(plain.cell("X", x, row2), plain.cell("Y", y, y)), is: data.ErrInvalid, want: "variable Y, cell 2 Y (2 x 1 double): invalid data: there must be 1"},
		{name: "task of other features", content: text(plain.cell("X", row2, row3), plain.cell("Y", one, one)), is: data.ErrFormat, want: "variable X, cell 2 (1 x 3 double): malformed file: it has 3 columns and cell 1 has 2"},
		{name: "words and numbers", content: text(plain.cell("X", row2, row2), plain.cell("Y", one, plain.words("", miUTF8, "a"))), is: data.ErrFormat, want: "some tasks have words"},
		{name: "groups of tasks", content: text(plain.cell("X", x), plain.cell("Y", y)), options: Options{Group: "g"}, is: data.ErrInvalid, want: "its cells are the groups"},
	})
}

// A file of a few hundred bytes may claim anything; reading must take no more
// memory for it.
func TestLyingMATFilesDoNotFillTheMemory(t *testing.T) {
	y := tight.dense("Y", mxDouble, miDouble, [][]float64{{1}, {2}})
	for name, x := range map[string][]byte{
		"sparse rows":    tight.variable("X", mxSparse, 0, []float64{math.MaxInt32, 1}, tight.numbers(miInt32, nil), tight.numbers(miInt32, []float64{0, 0}), tight.numbers(miDouble, nil)),
		"sparse columns": tight.variable("X", mxSparse, 0, []float64{2, math.MaxInt32}, tight.numbers(miInt32, nil), tight.numbers(miInt32, []float64{0, 0}), tight.numbers(miDouble, nil)),
		"empty rows":     tight.variable("X", mxDouble, 0, []float64{math.MaxInt32, 0}, tight.numbers(miDouble, nil)),
		"numbers":        slices.Concat(tight.order.AppendUint32(nil, miMatrix), tight.order.AppendUint32(nil, 60<<20), tight.variable("X", mxDouble, 0, []float64{1 << 20, 7})[8:], tight.order.AppendUint32(nil, miDouble), tight.order.AppendUint32(nil, 7<<23)),
		"text":           slices.Concat(tight.order.AppendUint32(nil, miMatrix), tight.order.AppendUint32(nil, 60<<20), tight.variable("X", mxChar, 0, []float64{1, 7})[8:], tight.order.AppendUint32(nil, miUTF8), tight.order.AppendUint32(nil, 7<<23)),
		"cells":          slices.Concat(tight.order.AppendUint32(nil, miMatrix), tight.order.AppendUint32(nil, 60<<20), tight.variable("X", mxCell, 0, []float64{1000, 1000})[8:]),
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			if got := datatest.Allocated(func() { _, err = parseMATBytes(tight.file(x, y), Options{}) }); got > 2<<20 {
				t.Errorf("%d bytes allocated", got)
			}
			if !errors.Is(err, data.ErrFormat) && !errors.Is(err, data.ErrInvalid) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// Every cut of a file must be noticed; a flipped bit may give an error or other
// data, but nothing that is unsound.
func TestDamagedMATFilesNeverPanic(t *testing.T) {
	var contents [][]byte
	for _, name := range []string{"table.mat", "cells.mat"} {
		content, err := os.ReadFile(formats + name)
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, content)
	}
	rows := randomRows(data.Stream(1, "damage"), miInt8, 3, 2)
	contents = append(contents, plain.file(plain.sparse("X", miInt8, rows, 1), plain.words("y", miUTF16, "a", "b", "é")))
	for n, content := range contents {
		last := len(content) // cells.mat ends in a variable that is not needed
		if n == 1 {
			last = bytes.Index(content, []byte("note")) - 48
		}
		for cut := range last {
			if _, err := parseMATBytes(content[:cut], Options{}); err == nil {
				t.Errorf("file %d cut to %d of %d bytes was read", n, cut, len(content))
			}
		}
		for i := range content {
			flipped := slices.Clone(content)
			flipped[i] ^= 1 << (i % 8)
			if d, err := parseMATBytes(flipped, Options{}); err == nil && d.Validate() != nil {
				t.Errorf("file %d with a flipped bit in byte %d is invalid: %v", n, i, d.Validate())
			}
		}
	}
}

// FuzzMAT changes variables where they lie, and again packed, where changes
// of the file itself would only break the checksum.
func FuzzMAT(f *testing.F) {
	for seed := range uint64(6) {
		rng := data.Stream(seed, "fuzz mat")
		w := randomWriter(rng)
		rows := randomRows(rng, miInt8, 3, 2)
		f.Add(w.dense("X", mxDouble, miInt8, rows), w.dense("gnd", 9, miUint8, [][]float64{{1, 2, 1}}), w.order == binary.BigEndian, w.packed)
		f.Add(w.sparse("fea", miDouble, rows, 1), w.words("y", miUTF16, "a", "é", "a"), w.order == binary.BigEndian, w.packed)
		f.Add(w.cell("X", w.dense("", mxSingle, miSingle, rows), w.dense("", mxDouble, miInt8, rows)), w.cell("Y", w.dense("", mxDouble, miInt8, [][]float64{{1}, {-1}, {1}}), w.dense("", mxDouble, miDouble, [][]float64{{1, 1, -1}})), w.order == binary.BigEndian, w.packed)
	}
	f.Fuzz(func(t *testing.T, x, y []byte, bigEndian, packed bool) {
		w := matWriter{order: binary.LittleEndian, packed: packed}
		if bigEndian {
			w.order = binary.BigEndian
		}
		content := w.file(x, y)
		tab, err := parseMAT(bytes.NewReader(content), int64(len(content)), Options{})
		fuzzed(t, tab, err)
	})
}

// FuzzMATFile changes whole files.
func FuzzMATFile(f *testing.F) {
	addSeeds(f, ".mat")
	f.Add(plain.file(plain.dense("X", mxDouble, miDouble, [][]float64{{1}, {2}}), plain.char("Y", miUTF8, "ab")))
	f.Fuzz(func(t *testing.T, content []byte) {
		tab, err := parseMAT(bytes.NewReader(content), int64(len(content)), Options{})
		fuzzed(t, tab, err)
	})
}

// Labels may be a column of the matrix.
func TestMATLabelsInAColumn(t *testing.T) {
	rows := [][]float64{{0.5, 2, 1}, {1.5, 1, 2}, {2.5, 2, 3}}
	write := func(name string, variables ...[]byte) string {
		return inFile(t, name, string(plain.file(variables...)))
	}
	d := mustRead(t, write("column.mat", plain.dense("data", mxDouble, miDouble, rows)), Options{Features: "data", Label: "1"})
	if want := []float32{0.5, 1, 1.5, 2, 2.5, 3}; !slices.Equal(d.Classes, []string{"1", "2"}) || !slices.Equal(slices.Concat(d.X.Row(0).Value, d.X.Row(1).Value, d.X.Row(2).Value), want) {
		t.Errorf("classes %q, rows %v", d.Classes, d.X)
	}
	_, err := Read(write("sparse.mat", plain.sparse("data", miDouble, rows, 0)), Options{Features: "data", Label: "1"})
	if !errors.Is(err, data.ErrFormat) || !strings.Contains(err.Error(), "a column of labels is taken from a full matrix of numbers") {
		t.Error(err)
	}
}
