package images

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"l2mt/data"
	"l2mt/data/files"
)

// Rows are kept in a file while an extraction runs:
//
//	a line   what the rows are of
//	records  the index of a picture, its features, and a checksum (CRC-32) of
//	         both, little-endian, in any order
//
// Records are only appended. Those that an end of the process or of the machine
// left torn are cut off when the file is opened again, and made again.
type rows struct {
	log   *files.Log
	path  string
	width int
	start int64         // of the records
	order map[int]int64 // of the pictures' records in the file
}

const rowsVersion = "l2mt features 1"

// openRows opens the rows with that key of n pictures, or begins them. One process at
// a time may have them open.
func openRows(path, key string, n, width int) (*rows, error) {
	log, err := files.OpenLog(path)
	if err != nil {
		return nil, err
	}
	r := &rows{log: log, path: path, width: width, order: map[int]int64{}}
	if err := r.open(fmt.Sprintf("%s %s %d\n", rowsVersion, key, width), n); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return r, nil
}

func (r *rows) open(head string, n int) error {
	r.start = int64(len(head))
	found := make([]byte, min(r.start, r.log.Size()))
	if _, err := r.log.ReadAt(found, 0); err != nil && err != io.EOF {
		return err
	}
	if !strings.HasPrefix(head, string(found)) {
		return fmt.Errorf("%w: it was begun with other pictures, other options or another net; remove it to begin anew", data.ErrMismatch)
	}
	if len(found) < len(head) { // new, or torn
		if err := r.log.Cut(0); err != nil {
			return err
		}
		return r.log.Append([]byte(head))
	}
	if err := r.scan(n); err != nil {
		return err
	}
	return r.log.Cut(r.end())
}

// end is where the sound records end.
func (r *rows) end() int64 { return r.start + int64(len(r.order)*r.size()) }

// size is that of a record in bytes.
func (r *rows) size() int { return 4 + 4*r.width + 4 }

// scan finds the sound records.
func (r *rows) scan(n int) error {
	in := r.records(r.log.Size())
	record := make([]byte, r.size())
	for {
		_, err := io.ReadFull(in, record)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return err
		}
		index, ok := sound(record)
		if !ok || index >= n || r.has(index) {
			return nil
		}
		r.order[index] = int64(len(r.order))
	}
}

// records reads the records up to end.
func (r *rows) records(end int64) io.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(r.log, r.start, end-r.start), 1<<20)
}

// sound returns the index in a record, if its checksum is right.
func sound(record []byte) (index int, ok bool) {
	body, sum := record[:len(record)-4], record[len(record)-4:]
	return int(binary.LittleEndian.Uint32(body)), crc32.ChecksumIEEE(body) == binary.LittleEndian.Uint32(sum)
}

// has reports whether the row of a picture is there.
func (r *rows) has(index int) bool {
	_, ok := r.order[index]
	return ok
}

// add keeps the rows of pictures, all or none of them.
func (r *rows) add(index []int, features [][]float32) error {
	var text []byte
	for i, row := range features {
		begin := len(text)
		text = binary.LittleEndian.AppendUint32(text, uint32(index[i]))
		for _, v := range row {
			text = binary.LittleEndian.AppendUint32(text, math.Float32bits(v))
		}
		text = binary.LittleEndian.AppendUint32(text, crc32.ChecksumIEEE(text[begin:]))
	}
	if err := r.log.Append(text); err != nil {
		return fmt.Errorf("images: keeping features: %w", err)
	}
	for _, i := range index {
		r.order[i] = int64(len(r.order))
	}
	return nil
}

// all returns the rows one after the other, in the order of the pictures.
func (r *rows) all() ([]float32, error) {
	next := make([]int, len(r.order)) // the rank of every record's picture
	for rank, picture := range slices.Sorted(maps.Keys(r.order)) {
		next[r.order[picture]] = rank
	}
	values := make([]float32, len(next)*r.width)
	in := r.records(r.end())
	record := make([]byte, r.size())
	for _, rank := range next {
		if _, err := io.ReadFull(in, record); err != nil {
			return nil, fmt.Errorf("images: %s: %w", r.path, err)
		}
		row := values[rank*r.width:][:r.width]
		for j := range row {
			row[j] = math.Float32frombits(binary.LittleEndian.Uint32(record[4+4*j:]))
		}
	}
	return values, nil
}

func (r *rows) close() error { return r.log.Close() }
