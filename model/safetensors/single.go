package safetensors

// Arrays in single precision, for weights of which there may be a hundred
// million: they are written from where they are and read to where they stay,
// never held as bytes or in double precision.

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/google/renameio/v2"
)

// Single is a named array of numbers in single precision, row-major.
type Single struct {
	Name  string
	Shape []int
	Value []float32
}

// piece is how many numbers go through a buffer at a time.
const piece = 1 << 14

// WriteWith writes a file of tensors and, after them, arrays in single
// precision, as Write does.
func WriteWith(path string, tensors []Tensor, singles []Single, metadata map[string]string) error {
	if len(singles) == 0 {
		return Write(path, tensors, metadata)
	}
	all := slices.Clone(tensors)
	for _, s := range singles {
		all = append(all, Tensor{Name: s.Name, DType: F32, Shape: s.Shape})
	}
	entries := make([]entry, len(all))
	end := 0
	for i, t := range all {
		count := len(t.Value)
		if i >= len(tensors) {
			count = len(singles[i-len(tensors)].Value)
		}
		if err := checkTensor(all[:i], t, count); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		entries[i] = entry{t.DType, append([]int{}, t.Shape...), [2]int{end, end + count*t.DType.size()}}
		end = entries[i].Offsets[1]
	}
	sum := sha256.New() // it stands before the data, so the data is gone through twice
	if err := writeData(sum, tensors, singles); err != nil {
		return err
	}
	header, err := encodeHeader(all, entries, metadata, hex.EncodeToString(sum.Sum(nil)))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	defer f.Cleanup()
	w := bufio.NewWriterSize(f, 1<<20)
	_, err1 := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(header))))
	_, err2 := w.Write(header)
	if err := errors.Join(err1, err2, writeData(w, tensors, singles), w.Flush()); err != nil {
		return fmt.Errorf("safetensors: %s: %w", path, err)
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	return nil
}

func writeData(w io.Writer, tensors []Tensor, singles []Single) error {
	var b []byte
	for _, t := range tensors {
		b = t.DType.append(b[:0], t.Value)
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	for _, s := range singles {
		for part := range slices.Chunk(s.Value, piece) {
			b = b[:0]
			for _, v := range part {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
			}
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// ReadWith reads a file. The arrays whose names single picks come in single
// precision; nil picks none. Both lists are in the order of the data.
func ReadWith(path string, single func(name string) bool) (tensors []Tensor, singles []Single, metadata map[string]string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("safetensors: %w", err)
	}
	defer f.Close()
	tensors, singles, metadata, err = readWith(f, single)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: safetensors: %w", path, err)
	}
	return tensors, singles, metadata, nil
}

func readWith(f *os.File, single func(name string) bool) (tensors []Tensor, singles []Single, metadata map[string]string, err error) {
	entries, metadata, length, err := readHeader(f)
	if err != nil {
		return nil, nil, nil, err
	}
	names := inOrder(entries)
	end := 0
	for _, name := range names { // before anything of a size that the header claims is made
		e := entries[name]
		if err := e.check(end, length); err != nil {
			return nil, nil, nil, fmt.Errorf("%w: tensor %q: %w", ErrFormat, name, err)
		}
		end = e.Offsets[1]
	}
	if end != length {
		return nil, nil, nil, fmt.Errorf("%w: %d bytes of data, but the tensors end at byte %d", ErrFormat, length, end)
	}
	sum := sha256.New()
	data := io.TeeReader(bufio.NewReaderSize(f, 1<<20), sum)
	for _, name := range names {
		e := entries[name]
		if single != nil && single(name) {
			s := Single{Name: name, Shape: e.Shape}
			if s.Value, err = readSingle(data, e); err != nil {
				return nil, nil, nil, fmt.Errorf("tensor %q: %w", name, err)
			}
			singles = append(singles, s)
			continue
		}
		raw := make([]byte, e.Offsets[1]-e.Offsets[0])
		if _, err := io.ReadFull(data, raw); err != nil {
			return nil, nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		tensors = append(tensors, Tensor{name, e.DType, e.Shape, e.DType.decode(raw)})
	}
	return tensors, singles, metadata, checkSum(metadata, sum)
}

func checkSum(metadata map[string]string, sum hash.Hash) error {
	if want, have := metadata[checksumKey], hex.EncodeToString(sum.Sum(nil)); want != "" && want != have {
		return fmt.Errorf("%w: the data has SHA-256 %s, but the header says %s", ErrFormat, have, want)
	}
	return nil
}

func readSingle(r io.Reader, e entry) ([]float32, error) {
	value := make([]float32, 0, (e.Offsets[1]-e.Offsets[0])/e.DType.size())
	b := make([]byte, piece*e.DType.size())
	for len(value) < cap(value) {
		b = b[:min(len(b), (cap(value)-len(value))*e.DType.size())]
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		for v := range slices.Chunk(b, e.DType.size()) {
			if e.DType == F64 {
				value = append(value, float32(math.Float64frombits(binary.LittleEndian.Uint64(v))))
			} else {
				value = append(value, math.Float32frombits(binary.LittleEndian.Uint32(v)))
			}
		}
	}
	return value, nil
}

// readHeader reads the header and returns the length of the data behind it.
func readHeader(f *os.File) (entries map[string]entry, metadata map[string]string, data int, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, 0, err
	}
	start := make([]byte, lengthSize)
	if _, err := io.ReadFull(f, start); err != nil {
		return nil, nil, 0, fmt.Errorf("%w: %d bytes, less than the length of the header takes", ErrFormat, info.Size())
	}
	length, rest := binary.LittleEndian.Uint64(start), uint64(info.Size())-lengthSize
	if length > min(rest, maxHeader) {
		return nil, nil, 0, fmt.Errorf("%w: a header of %d bytes in a file of %d", ErrFormat, length, info.Size())
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(f, header); err != nil {
		return nil, nil, 0, err
	}
	if entries, metadata, err = parseHeader(header); err != nil {
		return nil, nil, 0, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return entries, metadata, int(rest - length), nil
}

// Metadata reads what a file says about itself, without its data. The key
// "sha256" has the checksum of the data where the file was written here.
func Metadata(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	defer f.Close()
	_, metadata, _, err := readHeader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: safetensors: %w", path, err)
	}
	return metadata, nil
}

// inOrder lists the names of the entries in the order of their data.
func inOrder(entries map[string]entry) []string {
	return slices.SortedFunc(maps.Keys(entries), func(a, b string) int {
		x, y := entries[a].Offsets, entries[b].Offsets
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]), cmp.Compare(a, b))
	})
}

// parseHeader reads the header's JSON.
func parseHeader(header []byte) (entries map[string]entry, metadata map[string]string, err error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return nil, nil, fmt.Errorf("header: %w", err)
	}
	return parseEntries(raw)
}
