package format

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"l2mt/data"
)

// Format is a file format that datasets are read from.
type Format string

// The formats.
const (
	SVMLight Format = "svmlight" // label index:value ..., also libsvm's
	CSV      Format = "csv"      // comma-separated values
	TSV      Format = "tsv"      // tab-separated values
	NPZ      Format = "npz"      // NumPy arrays
	Parquet  Format = "parquet"  // columns of Arrow, pandas, Spark and DuckDB
)

// HasColumns reports whether files of a format are tables, which OpenRows reads.
func (f Format) HasColumns() bool {
	return f == CSV || f == TSV || f == Parquet
}

// Header says whether the first line of a CSV or TSV file names its columns.
type Header string

// The headers. Without one a first line without any number is a header, and one of three columns or
// more that counts them: 0, 1, 2.
const (
	HeaderYes Header = "yes"
	HeaderNo  Header = "no"
)

// LabelNames and GroupNames are the usual names of labels and groups.
var (
	LabelNames = []string{"label", "class", "y", "target"}
	GroupNames = []string{"group", "task"}
)

// Options say how to read a file. The zero value suits most files.
type Options struct {
	// Format is the file's format. If empty, the file's name decides:
	// .svmlight, .libsvm, .svm, .csv, .txt, .tsv (each also with .gz) or .npz.
	Format Format `enum:",svmlight,csv,tsv,npz,parquet" default:"" help:"Format of the files: csv, tsv, parquet, npz or svmlight; by default from the extension."`
	// Header, Separator and Decimal are for CSV and TSV files.
	Header    Header `enum:",yes,no" default:"" help:"Whether a table has a header, yes or no; by default from the first line."`
	Separator string `help:"The separator of cells: a comma, a semicolon, a bar or tab; by default from the first line."`
	Decimal   string `help:"The decimal mark of numbers, a point or a comma; by default from the first rows."`
	// Label is the place of the labels or targets: the name of a column (CSV, TSV)
	// or of an array (npz), or the number of a column (CSV, TSV), counted
	// from 0. If empty: the name label, class, y or target, in this order and
	// in any case, else a table's last column.
	Label string `kong:"-"`
	// Group is the place of the groups (tasks), given as for Label. If empty:
	// the name group or task, if there is one. In svmlight files groups are
	// the qid.
	Group string `kong:"-"`
	// From is the stream that has the table, nil for its file.
	From io.ReadCloser `kong:"-"`
}

// Read reads a file of numbers: npz or svmlight. Package table reads the others.
// Features become float32 and must be finite. Errors name the file, the line (from 1) or row
// (from 0) and the field; they wrap ErrFormat, ErrInvalid or the error of the file system.
//
// Reading takes memory in proportion to the file; sizes that the file states do not
// count. Packed content (.gz, .npz) may grow to 16 MiB or 256 times its
// size, whichever is more; larger content is refused, and so are more cells than
// 4,194,304 or 4 for each byte on disk. Sparse features with more than 65,536 columns
// and more columns than entries lose the columns without an entry, unless there are
// names for all.
func Read(path string, o Options) (*Frame, error) {
	format, err := Of(path, o)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var f *Frame
	switch format {
	case SVMLight:
		var content *text
		content, err = unpack(file, path)
		if err == nil {
			f, err = parseSVMLight(content)
		}
	case NPZ:
		size, _ := file.Seek(0, io.SeekEnd)
		f, err = parseNPZ(file, size, o)
	default:
		err = data.Invalid("there is no format %s; there are svmlight, csv, tsv, npz and parquet", format)
	}
	if err == nil {
		err = f.rename()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d := &data.Dataset{
		Name:     path,
		X:        f.X,
		Features: f.Features,
	}
	d.Classes = []string{""}
	d.Label = make([]int32, f.Labels[0].Len())
	if f.Group != nil {
		d.Group = make([]int32, f.Group.Len())
		d.Groups = d.Classes
	}
	return f, d.Validate()
}

// Of returns the format asked for, else the file's format. Streams are CSV.
func Of(path string, o Options) (Format, error) {
	if o.From != nil {
		return cmp.Or(o.Format, CSV), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	}
	defer f.Close()
	magic := make([]byte, len(parquetMagic))
	_, _ = f.ReadAt(magic, 0) // a shorter file has zeros there
	info, err := f.Stat()
	switch {
	case string(magic) == parquetMagic: // whatever the file's name is
		return Parquet, nil
	case o.Format != "":
		return o.Format, nil
	case err == nil && info.IsDir():
		return "", data.Malformed("%s: it is a folder, not a file; the words of texts are counted by other programs, such as scikit-learn's CountVectorizer and dump_svmlight_file", path)
	}
	return formatOfName(path)
}

// endings are the formats by the endings of files' names.
var endings = map[string]Format{
	".svmlight": SVMLight, ".libsvm": SVMLight, ".svm": SVMLight,
	".csv": CSV, ".txt": CSV, ".tsv": TSV, ".npz": NPZ, ".parquet": Parquet,
}

// hints say by the endings of files' names how others read them.
var hints = map[string]string{
	".npy": `single arrays are not read; NumPy makes an .npz of one whose last column is the label: a = numpy.load("a.npy"); numpy.savez("data.npz", X=a[:, :-1], y=a[:, -1])`,
	".mat": `MATLAB files are not read; SciPy makes an .npz of it: m = scipy.io.loadmat("a.mat"); numpy.savez("data.npz", X=m["fea"], y=m["gnd"].ravel())`,
	"":     "its name does not say what it is; it must end in .svmlight, .libsvm, .svm, .csv, .tsv or .txt (or these with .gz), .npz or .parquet, or say --format; spreadsheets are to be saved as CSV",
}

// formatOfName returns the format that a file's name promises.
func formatOfName(path string) (Format, error) {
	ending := filepath.Ext(strings.TrimSuffix(strings.ToLower(path), ".gz"))
	format, ok := endings[ending]
	if ok {
		return format, nil
	}
	return "", data.Malformed("%s: %s", path, cmp.Or(hints[ending], hints[""]))
}

// Frame is the content of a file of numbers: features, labels and groups.
type Frame struct {
	X *data.Stored
	// Labels has a column for every target. Group is nil if the file has no groups.
	Labels []*Column
	Group  *Column
	// Lines are the first lines of the rows of a text.
	Lines []int
	// Features are the names of the columns of X, and Steps made them.
	Features, Steps, Notes []string
	// Kind is set if the file says whether the labels are classes.
	Kind data.Kind

	// classes and groups name the labels and the groups, if these are numbers.
	classes, groups []string
}

// freeColumns is the number of columns that sparse features may have with any number of entries.
// Hashed words and the widest public datasets have fewer columns than entries.
const freeColumns = 1 << 16

// rename gives labels and groups the names that the file has for their numbers.
// Columns without an entry are left out where they outnumber the entries: their number alone,
// which a few bytes can claim, would fill the memory of models that keep a weight for each column.
func (f *Frame) rename() error {
	x := f.X
	if data.IsSparse(x) &&
		x.Cols() > max(freeColumns, x.NNZ(), len(f.Features)) {
		narrow, used := x.Narrowed()
		f.X = narrow
		f.Features = nil
		for _, j := range used {
			f.Features = append(f.Features, strconv.Itoa(int(j)))
		}
		f.Notes = append(f.Notes,
			fmt.Sprintf("%d of %d columns have entries; the others are left out",
				len(used), x.Cols()))
	}
	for _, c := range f.Labels {
		err := c.rename(f.classes)
		if err != nil {
			return fmt.Errorf("label: %w", err)
		}
	}
	if f.classes != nil {
		f.Kind = cmp.Or(f.Kind, data.Classification)
	}
	if err := f.Group.rename(f.groups); err != nil {
		return fmt.Errorf("group: %w", err)
	}
	return nil
}
