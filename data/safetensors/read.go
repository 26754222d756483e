package safetensors

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"l2mt/data/files"
)

// Read reads a file. It checks the offset and size of every tensor, and the checksum of the data.
// The tensors come in the order of their data.
func Read(path string) ([]Tensor, map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	tensors, metadata, err := read(file, info.Size())
	if err != nil {
		return nil, nil, fmt.Errorf("%s: it is not a safetensors file, or damaged: %w", path, err)
	}
	return tensors, metadata, nil
}

// Decode is Read of a file's content. It allocates no more than a small multiple of the file's
// size, whatever the header says.
func Decode(content []byte) ([]Tensor, map[string]string, error) {
	return read(bytes.NewReader(content), int64(len(content)))
}

func read(in io.Reader, size int64) (
	tensors []Tensor, metadata map[string]string, err error) {
	var length uint64
	if err := binary.Read(in, binary.LittleEndian, &length); err != nil {
		return nil, nil, ErrFormat.Errorf("it has %d bytes, less than the length of its header takes: %w", size, err)
	}
	if length > uint64(size-lengthSize) {
		return nil, nil, ErrFormat.Errorf("its header has %d bytes by its length, but the file has %d; Python writes such files with safetensors.numpy.save_file", length, size)
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(in, header); err != nil {
		return nil, nil, err
	}
	entries, metadata, err := parseHeader(header)
	if err != nil {
		return nil, nil, ErrFormat.Errorf("header: %w", err)
	}
	end := 0
	limit := int(size) - lengthSize - len(header) // of the data
	want := metadata[checksumKey]
	sum := sha256.New()
	in = io.TeeReader(in, sum)
	for _, e := range entries {
		if err := e.check(end, limit); err != nil {
			return nil, nil, ErrFormat.Errorf("tensor %q: %w", e.Name, err)
		}
		end = e.Offsets[1]
		if e.DType == F64 {
			e.Value, err = numbers[float64](in, e)
		} else {
			e.Value, err = numbers[float32](in, e)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", e.Name, err)
		}
		tensors = append(tensors, e.Tensor)
	}
	have := hex.EncodeToString(sum.Sum(nil))
	switch {
	case end != limit:
		return nil, nil, ErrFormat.Errorf("%d bytes of data, but the tensors end at byte %d", limit, end)
	case want != "" && want != have:
		return nil, nil, ErrFormat.Errorf("the data has SHA-256 %s, but the header says %s", have, want)
	}
	return tensors, metadata, nil
}

// numbers reads an entry piece by piece: a copy of all would take as much memory as a large
// tensor again.
func numbers[T float32 | float64](r io.Reader, e entry) ([]float64, error) {
	value := make([]float64, product(e.Shape))
	stored := make([]T, min(len(value), piece))
	for part := range slices.Chunk(value, piece) {
		stored = stored[:len(part)]
		err := binary.Read(r, binary.LittleEndian, stored)
		if err != nil {
			return nil, err
		}
		for i, v := range stored {
			part[i] = float64(v)
		}
	}
	return value, nil
}

// parseHeader returns the entries in the order of their data.
func parseHeader(header []byte) (entries []entry, metadata map[string]string, err error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return nil, nil, err
	}
	for name, text := range raw {
		if name == metadataKey {
			err := json.Unmarshal(text, &metadata)
			if err != nil {
				return nil, nil, fmt.Errorf("metadata: %w", err)
			}
			continue
		}
		e := entry{Tensor: Tensor{Name: name}}
		err := files.DecodeJSON(text, &e)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(slices.Compare(a.Offsets[:], b.Offsets[:]),
			cmp.Compare(a.Name, b.Name))
	})
	return entries, metadata, nil
}

// check compares an entry with its offset in the data, where the entry before it ended.
func (e entry) check(begin, limit int) error {
	if sizes[e.DType] == 0 {
		return fmt.Errorf("dtype %q is not one of %s, %s", e.DType, F32, F64)
	}
	if e.Offsets[0] != begin || e.Offsets[1] < begin || e.Offsets[1] > limit {
		return fmt.Errorf("its data is at bytes %d to %d of %d; it must begin at %d",
			e.Offsets[0], e.Offsets[1], limit, begin)
	}
	have := e.Offsets[1] - begin
	if product(append([]int{sizes[e.DType]}, e.Shape...)) != have {
		return fmt.Errorf("%d bytes of data for shape %v of %s", have,
			e.Shape, e.DType)
	}
	return nil
}
