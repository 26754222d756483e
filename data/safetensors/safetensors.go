// Package safetensors reads and writes the safetensors format: named arrays of
// numbers behind a JSON header, which Python's safetensors package and many
// others read too.
//
//	8 bytes   length of the header, little-endian
//	header    {"__metadata__": {...}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
//	data      the arrays one after the other, little-endian, row-major
//
// Files written here carry a SHA-256 of the data in the metadata, which reading
// verifies where it is present.
package safetensors

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"l2mt/data/fault"
	"l2mt/data/files"
)

// ErrFormat marks a file that is not safetensors, or is damaged.
var ErrFormat = fault.New("malformed safetensors file")

// DType is the precision of an array in a file.
type DType string

// The precisions that this package knows.
const (
	F32 DType = "F32"
	F64 DType = "F64"
)

// sizes are the bytes of a number.
var sizes = map[DType]int{
	F32: 4,
	F64: 8,
}

// Tensor is a named array of numbers, row-major. In memory they are float64;
// DType is their precision in a file.
type Tensor struct {
	Name  string    `json:"-"`
	DType DType     `json:"dtype"`
	Shape []int     `json:"shape"`
	Value []float64 `json:"-"`
}

const (
	lengthSize   = 8
	metadataKey  = "__metadata__"
	checksumKey  = "sha256" // of the data, in the metadata
	headerFiller = ' '
	// piece is the count of numbers that go through a buffer at a time.
	piece = 1 << 13
)

// entry is the header of one tensor.
type entry struct {
	Tensor
	Offsets [2]int `json:"data_offsets"`
}

// Write writes a file of the given tensors, in their order, and metadata, in which
// "sha256" is taken. Path holds either the old content or the new.
func Write(path string, tensors []Tensor, metadata map[string]string) error {
	return files.Write(path, func(w io.Writer) error {
		head, err := header(tensors, metadata)
		if err != nil {
			return err
		}
		_, err = w.Write(head)
		return errors.Join(err, writeData(w, tensors))
	})
}

// header returns the bytes before the data, which is aligned.
func header(tensors []Tensor, metadata map[string]string) ([]byte, error) {
	sum := sha256.New()         // it stands before the data, so the data is gone through twice
	_ = writeData(sum, tensors) // a hash takes everything
	texts := map[string]string{}
	maps.Copy(texts, metadata)
	texts[checksumKey] = hex.EncodeToString(sum.Sum(nil))
	entries := map[string]any{metadataKey: texts}
	end := 0
	for _, t := range tensors {
		count := len(t.Value)
		begin := end
		if product(t.Shape) != count || sizes[t.DType] == 0 {
			return nil, fmt.Errorf("tensor %q has shape %v but %d numbers, and dtype %q, which can be %s or %s",
				t.Name, t.Shape, count, t.DType, F32, F64)
		}
		_, taken := entries[t.Name]
		if taken || t.Name == "" {
			return nil, fmt.Errorf("tensor name %q is empty or taken; every tensor needs a name of its own", t.Name)
		}
		end += count * sizes[t.DType]
		t.Shape = append([]int{}, t.Shape...) // never null in JSON
		entries[t.Name] = entry{t, [2]int{begin, end}}
	}
	text, _ := json.Marshal(entries) // texts and whole numbers
	for len(text)%lengthSize != 0 {
		text = append(text, headerFiller)
	}
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))),
		text...), nil
}

// product multiplies the dimensions of a shape. It is -1 when one is negative or the product
// overflows.
func product(shape []int) int {
	size := 1
	for _, n := range shape {
		if n < 0 || n > 0 && size > math.MaxInt/n {
			return -1
		}
		size *= n
	}
	return size
}

func writeData(w io.Writer, tensors []Tensor) error {
	for _, t := range tensors {
		err := writeNumbers(w, t.DType, t.Value)
		if err != nil {
			return err
		}
	}
	return nil
}

func writeNumbers(w io.Writer, d DType, value []float64) error {
	var b []byte
	for part := range slices.Chunk(value, piece) {
		b = b[:0]
		for _, v := range part {
			if d == F64 {
				b = binary.LittleEndian.AppendUint64(b,
					math.Float64bits(v))
			} else {
				b = binary.LittleEndian.AppendUint32(b,
					math.Float32bits(float32(v)))
			}
		}
		_, err := w.Write(b)
		if err != nil {
			return err
		}
	}
	return nil
}

// Transposed returns the transpose of a rows x cols matrix, for files that have it
// the other way round.
func Transposed(a []float64, rows, cols int) []float64 {
	return mat.DenseCopyOf(mat.NewDense(rows, cols, a).T()).RawMatrix().Data
}
