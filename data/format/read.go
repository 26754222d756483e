package format

import (
	"cmp"
	"fmt"
	"io"
	"l2mt/data"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Format is a file format that datasets are read from.
type Format string

// The formats.
const (
	SVMLight Format = "svmlight" // label index:value ..., also libsvm's
	CSV      Format = "csv"      // comma-separated values
	TSV      Format = "tsv"      // tab-separated values
	NPZ      Format = "npz"      // NumPy arrays
)

// Header says whether the first line of a CSV or TSV file names its columns.
type Header string

// The headers. HeaderAuto takes a first line without any number for a header, and one
// of three columns or more that counts them: 0, 1, 2.
const (
	HeaderAuto Header = ""
	HeaderYes  Header = "yes"
	HeaderNo   Header = "no"
)

// labelNames and groupNames are the usual names of labels and groups.
var (
	labelNames = []string{"label", "class", "y", "target"}
	groupNames = []string{"group", "task"}
)

// Options say how to read a file. The zero value suits most files.
type Options struct {
	// Format is the file's format. If empty, the file's name decides:
	// .svmlight, .libsvm, .svm, .csv, .txt, .tsv (each also with .gz) or .npz.
	Format Format `enum:",svmlight,csv,tsv,npz" default:"" help:"csv, tsv, npz or svmlight; by default from the file's extension."`
	// Kind says whether the labels are classes or real targets. If empty, they
	// decide: words, whole numbers and labels with class names are classes,
	// other numbers are targets, and so are more than 50 different whole
	// numbers stored as floating-point numbers (npz).
	Kind data.Kind `kong:"-"`
	// Header, Separator and Decimal are for CSV and TSV files.
	Header    Header `enum:",yes,no" default:"" help:"Whether a table has a header, yes or no; by default from the first line."`
	Separator string `help:"The separator of cells: a comma, a semicolon, a bar or tab; by default from the first line."`
	Decimal   string `help:"The decimal mark of numbers, a point or a comma; by default from the first rows."`
	// Label is the place of the labels or targets: the name of a column (CSV, TSV)
	// or of an array (npz), or the number of a column (CSV, TSV), counted
	// from 0. If empty: the name label, class, y or target, in this order and
	// in any case, else a table's last column.
	Label string `kong:"-"`
	// Target picks one column of labels that have several (npz): its number
	// from 0, or its name in the array "targets". If empty, the first.
	Target string `kong:"-"`
	// Group is the place of the groups (tasks), given as for Label. If empty:
	// the name group or task, if there is one. In svmlight files groups are
	// the qid.
	Group string `kong:"-"`
	// Ignore lists columns of a table that are neither features nor labels.
	Ignore []string `kong:"-"`
	// ClassNames and FeatureNames are files of names, one a line (.gz too).
	// Class names are in the order of the class numbers, which may start at 0
	// or 1.
	ClassNames   string `kong:"-"`
	FeatureNames string `kong:"-"`
}

// Read reads a dataset from a file. Features become float32 and must
// be finite. Errors name the file, the line (from 1) or row (from 0) and the
// field; they wrap ErrFormat, ErrInvalid or the error of the file system.
//
// Reading takes memory in proportion to the file; sizes that the file states do not
// count. Packed content (.gz, .npz) may grow to 16 MiB or 256 times its
// size, whichever is more; larger content is refused, and so are more cells than
// 4,194,304 or 4 for each byte on disk. Sparse features with more than 65,536 columns
// and more columns than entries lose the columns without an entry, unless there are
// names for all.
func Read(path string, o Options) (*data.Dataset, error) {
	format, err := Of(path, o.Format)
	if err != nil {
		return nil, err
	}
	var t *table
	switch format {
	case CSV, TSV:
		rows, err := OpenRows(path, o)
		if err != nil {
			return nil, err
		}
		return rows.dataset(o)
	case SVMLight:
		t, err = readSVMLight(path)
	case NPZ:
		t, err = readNPZ(path, o)
	default:
		err = data.ErrInvalid.Errorf("its format is called %s; there are svmlight, csv, tsv and npz", format)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t.dataset(path, o)
}

// ReadCSV reads a dataset from comma-separated text, packed by gzip or not, and
// gives it a name.
func ReadCSV(r io.Reader, name string, o Options) (*data.Dataset, error) {
	rows, err := NewRows(io.NopCloser(r), name, o)
	if err != nil {
		return nil, err
	}
	return rows.dataset(o)
}

// Of returns the format asked for, else the file's format.
func Of(path string, asked Format) (Format, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case asked != "":
		return asked, nil
	case info.IsDir():
		return "", data.ErrFormat.Errorf("%s: it is a folder; texts are counted by other programs, such as scikit-learn's CountVectorizer and dump_svmlight_file", path)
	}
	return formatOfName(path)
}

// endings are the formats by the endings of files' names.
var endings = map[string]Format{
	".svmlight": SVMLight, ".libsvm": SVMLight, ".svm": SVMLight,
	".csv": CSV, ".txt": CSV, ".tsv": TSV, ".npz": NPZ,
}

// formatOfName returns the format that a file's name promises.
func formatOfName(path string) (Format, error) {
	name, packed := strings.CutSuffix(strings.ToLower(filepath.Base(path)), ".gz")
	format, ok := endings[filepath.Ext(name)]
	switch {
	case ok && !(packed && format == NPZ):
		return format, nil
	case filepath.Ext(name) == ".npy":
		return "", data.ErrFormat.Errorf("%s: single arrays are not read; NumPy makes an .npz of one whose last column is the label: a = numpy.load(%q); numpy.savez(\"data.npz\", X=a[:, :-1], y=a[:, -1])", path, filepath.Base(path))
	case filepath.Ext(name) == ".mat":
		return "", data.ErrFormat.Errorf("%s: MATLAB files are not read; SciPy makes an .npz of it: m = scipy.io.loadmat(%q); numpy.savez(\"data.npz\", X=m[\"fea\"], y=m[\"gnd\"].ravel())", path, filepath.Base(path))
	}
	return "", data.ErrFormat.Errorf("%s: its name does not say what it is; it must end in .svmlight, .libsvm, .svm, .csv, .tsv or .txt (or these with .gz), or .npz, or say --format; spreadsheets and Parquet are to be saved as CSV", path)
}

// table is the content of a file, before labels become classes.
type table struct {
	x data.Matrix
	// wider says that x may have more columns than the file shows.
	wider bool
	// group is empty if the file has no groups.
	label, group Column
	// targets are the columns of labels, if there are several.
	targets []string
	// lines are the first lines of the rows of a text.
	lines []int
	// kind is set if the file says whether the labels are classes.
	kind                             data.Kind
	classes, groups, features, steps []string
	notes                            []string
}

// freeColumns is the number of columns that sparse features may have with any number of entries.
// Hashed words and the widest public datasets have fewer columns than entries.
const freeColumns = 1 << 16

// dataset turns the table into a dataset and checks it.
func (t *table) dataset(path string, o Options) (*data.Dataset, error) {
	d := &data.Dataset{Name: path}
	if err := t.fill(d, o); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, d.Validate()
}

// fill fills a dataset, with names that come in files of their own. Columns without an entry
// are left out where they outnumber the entries: their number alone, which a few bytes can
// claim, would fill the memory of models that keep a weight for each column.
func (t *table) fill(d *data.Dataset, o Options) (err error) {
	if o.ClassNames != "" {
		t.classes, err = readNames(o.ClassNames)
	}
	if o.FeatureNames != "" && err == nil {
		t.features, err = readNames(o.FeatureNames)
	}
	if err != nil {
		return err
	}
	if x, ok := t.x.(*data.Stored); ok && data.IsSparse(x) {
		if t.wider {
			t.x = x.Widened(len(t.features))
		}
		if x.Cols() > max(freeColumns, x.NNZ(), len(t.features)) {
			narrow, used := x.Narrowed()
			t.x = narrow
			t.features = nil
			for _, j := range used {
				t.features = append(t.features, strconv.Itoa(int(j)))
			}
			d.Notes = append(d.Notes, fmt.Sprintf("%d of %d columns have entries; the others are left out", len(used), x.Cols()))
		}
	}
	d.Notes = append(d.Notes, t.notes...)
	d.X = t.x
	d.Targets = t.targets
	d.Features = t.features
	d.Steps = t.steps
	if t.label.Name != "" {
		d.LabelOf = fmt.Sprintf("column %q", t.label.Name)
	}
	kind := cmp.Or(o.Kind, t.kind)
	if row, err := t.label.check(kind); err != nil {
		return t.fault(row, "label", &t.label, err)
	}
	if row, err := t.group.check(data.Classification); err != nil {
		return t.fault(row, "group", &t.group, err)
	}
	if cmp.Or(kind, t.label.kind(t.classes)) == data.Regression {
		d.Target = t.label.Numbers
	} else if d.Label, d.Classes, err = t.label.named(t.classes); err != nil {
		return fmt.Errorf("label: %w", err)
	}
	if t.group.Len() > 0 {
		if d.Group, d.Groups, err = t.group.named(t.groups); err != nil {
			return fmt.Errorf("group: %w", err)
		}
	}
	return nil
}

// fault adds the place to an error.
func (t *table) fault(row int, what string, c *Column, err error) error {
	switch {
	case t.lines == nil:
		return fmt.Errorf("%s: row %d: %w", what, row, err)
	case c.Name != "":
		return fmt.Errorf("line %d: column %q, the %s: %w", t.lines[row], c.Name, what, err)
	}
	return fmt.Errorf("line %d: %s: %w", t.lines[row], what, err)
}
