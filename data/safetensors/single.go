package safetensors

// Arrays in single precision, for weights of which there may be a hundred
// million: they are written from where they are and read to where they stay,
// never held as bytes or in double precision.

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"l2mt/data/files"
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
	err = files.Write(path, func(f io.Writer) error {
		w := bufio.NewWriterSize(f, 1<<20)
		_, err1 := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(header))))
		_, err2 := w.Write(header)
		return errors.Join(err1, err2, writeData(w, tensors, singles), w.Flush())
	})
	if err != nil {
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
// precision. Both lists are in the order of the data.
func ReadWith(path string, single func(name string) bool) (tensors []Tensor, singles []Single, metadata map[string]string, err error) {
	f, err := Open(path)
	if err != nil {
		return nil, nil, nil, err
	}
	defer f.Close()
	for _, name := range f.names {
		e := f.entries[name]
		if single(name) {
			value, err := f.Float32s(name)
			if err != nil {
				return nil, nil, nil, err
			}
			singles = append(singles, Single{name, e.Shape, value})
			continue
		}
		raw := make([]byte, e.Offsets[1]-e.Offsets[0])
		if _, err := f.file.ReadAt(raw, f.start+int64(e.Offsets[0])); err != nil {
			return nil, nil, nil, fmt.Errorf("%s: safetensors: tensor %q: %w", path, name, err)
		}
		tensors = append(tensors, Tensor{name, e.DType, e.Shape, e.DType.decode(raw)})
	}
	return tensors, singles, f.metadata, nil
}

// Checksum is the SHA-256 that a file says its data has, without looking at the
// data: empty where it says none.
func Checksum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("safetensors: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("safetensors: %w", err)
	}
	var c content
	if err := c.readHeader(f, info.Size()); err != nil {
		return "", fmt.Errorf("%s: safetensors: %w", path, err)
	}
	return c.metadata[checksumKey], nil
}
