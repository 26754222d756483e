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
	"maps"
	"math"
	"os"
	"slices"

	"l2mt/data/files"
)

// Read reads a file. It checks the offset and size of every tensor, and the checksum of the data.
// The tensors come in the order of their data, each in the precision that pick has for its name:
// F32 is Single, F64 is Value, and "" the shape alone, where memory would not hold the numbers. A
// nil pick has F64 for all.
func Read(path string, pick func(name string) DType) ([]Tensor, map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	tensors, metadata, err := read(file, info.Size(), pick)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: it is not a safetensors file, or damaged: %w", path, err)
	}
	return tensors, metadata, nil
}

// Decode is Read of a file's content, all in double precision. It allocates no more than
// a small multiple of the file's size, whatever the header says.
func Decode(content []byte) ([]Tensor, map[string]string, error) {
	return read(bytes.NewReader(content), int64(len(content)), nil)
}

func read(file io.ReaderAt, size int64, pick func(name string) DType) (
	tensors []Tensor, metadata map[string]string, err error) {
	in := io.NewSectionReader(file, 0, size)
	var length uint64
	if err := binary.Read(in, binary.LittleEndian, &length); err != nil {
		return nil, nil, ErrFormat.Errorf("it has %d bytes, less than the length of its header takes: %w", size, err)
	}
	if length > min(uint64(size-lengthSize), maxHeader) {
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
	start := lengthSize + int64(length) // of the data
	end := 0
	limit := int(size - start)
	for _, name := range slices.SortedFunc(maps.Keys(entries), func(a, b string) int {
		x := entries[a].Offsets
		y := entries[b].Offsets
		return cmp.Or(slices.Compare(x[:], y[:]), cmp.Compare(a, b))
	}) {
		e := entries[name]
		if err := e.check(end, limit); err != nil {
			return nil, nil, ErrFormat.Errorf("tensor %q: %w", name, err)
		}
		end = e.Offsets[1]
		tensors = append(tensors, Tensor{Name: name, DType: e.DType, Shape: e.Shape})
	}
	if end != limit {
		return nil, nil, ErrFormat.Errorf("%d bytes of data, but the tensors end at byte %d", limit, end)
	}
	if want := metadata[Checksum]; want != "" {
		sum := sha256.New()
		if _, err := io.Copy(sum, in); err != nil {
			return nil, nil, err
		}
		if have := hex.EncodeToString(sum.Sum(nil)); want != have {
			return nil, nil, ErrFormat.Errorf("the data has SHA-256 %s, but the header says %s", have, want)
		}
	}
	for i := range tensors {
		t := &tensors[i]
		precision := F64
		if pick != nil {
			precision = pick(t.Name)
		}
		e := entries[t.Name]
		part := io.NewSectionReader(file, start+int64(e.Offsets[0]),
			int64(e.Offsets[1]-e.Offsets[0]))
		switch precision {
		case F32:
			t.Single, err = numbers[float32](part, t.DType)
		case F64:
			t.Value, err = numbers[float64](part, t.DType)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
	}
	return tensors, metadata, nil
}

// numbers decodes piece by piece: a copy of the bytes would take as much memory as a large
// tensor again.
func numbers[T float32 | float64](r *io.SectionReader, d DType) ([]T, error) {
	size := d.size()
	n := int(r.Size())
	value := make([]T, 0, n/size)
	chunk := make([]byte, min(n, piece*size))
	for len(value) < cap(value) {
		part := chunk[:min(len(chunk), (cap(value)-len(value))*size)]
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, err
		}
		for b := range slices.Chunk(part, size) {
			if d == F64 {
				value = append(value, T(math.Float64frombits(binary.LittleEndian.Uint64(b))))
			} else {
				value = append(value, T(math.Float32frombits(binary.LittleEndian.Uint32(b))))
			}
		}
	}
	return value, nil
}

func parseHeader(header []byte) (entries map[string]entry, metadata map[string]string, err error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return nil, nil, err
	}
	entries = map[string]entry{}
	for name, text := range raw {
		if name == metadataKey {
			if err := json.Unmarshal(text, &metadata); err != nil {
				return nil, nil, fmt.Errorf("metadata: %w", err)
			}
			continue
		}
		var e entry
		if err := files.DecodeJSON(text, &e); err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		entries[name] = e
	}
	return entries, metadata, nil
}

// check compares an entry with its offset in the data, where the entry before it ended.
func (e entry) check(begin, limit int) error {
	if e.DType.size() == 0 {
		return fmt.Errorf("dtype %q is not one of %s, %s", e.DType, F32, F64)
	}
	if e.Offsets[0] != begin || e.Offsets[1] < begin || e.Offsets[1] > limit {
		return fmt.Errorf("its data is at bytes %d to %d of %d; it must begin at %d", e.Offsets[0], e.Offsets[1], limit, begin)
	}
	size, ok := product(append([]int{e.DType.size()}, e.Shape...))
	if have := e.Offsets[1] - begin; !ok || size != have {
		return fmt.Errorf("%d bytes of data for shape %v of %s", have, e.Shape, e.DType)
	}
	return nil
}
