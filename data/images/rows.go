package images

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"l2mt/data"
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
	file  *os.File
	width int
	start int64         // of the records
	place map[int]int64 // of a picture's record, counted in records
	count int64
}

const rowsVersion = "l2mt features 1"

// openRows opens the rows with that key of n pictures, or begins them. One process at
// a time may have them open.
func openRows(path, key string, n, width int) (*rows, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	r := &rows{file: f, width: width, place: map[int]int64{}}
	if err := r.open(fmt.Sprintf("%s %s %d\n", rowsVersion, key, width), n); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

func (r *rows) open(head string, n int) error {
	if err := unix.Flock(int(r.file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("another process is writing it: %w", err)
	}
	found := make([]byte, len(head))
	got, err := r.file.ReadAt(found, 0)
	if err != nil && err != io.EOF {
		return err
	}
	r.start = int64(len(head))
	if string(found[:got]) != head {
		if head[:got] != string(found[:got]) {
			return fmt.Errorf("%w: it was begun with other pictures, other options or another net; remove it to begin anew", data.ErrMismatch)
		}
		if _, err := r.file.WriteAt([]byte(head), 0); err != nil { // new, or torn
			return err
		}
	}
	if err := r.scan(n); err != nil {
		return err
	}
	return r.cut()
}

// size is that of a record in bytes.
func (r *rows) size() int { return 4 + 4*r.width + 4 }

// scan finds the sound records.
func (r *rows) scan(n int) error {
	in := r.records(math.MaxInt64)
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
		r.place[index] = r.count
		r.count++
	}
}

// records reads the first n records.
func (r *rows) records(n int64) io.Reader {
	length := min(n, (math.MaxInt64-r.start)/int64(r.size())) * int64(r.size())
	return bufio.NewReaderSize(io.NewSectionReader(r.file, r.start, length), 1<<20)
}

// sound returns the index in a record, if its checksum is right.
func sound(record []byte) (index int, ok bool) {
	body, sum := record[:len(record)-4], record[len(record)-4:]
	return int(binary.LittleEndian.Uint32(body)), crc32.ChecksumIEEE(body) == binary.LittleEndian.Uint32(sum)
}

// cut ends the file behind its last sound record.
func (r *rows) cut() error { return r.file.Truncate(r.start + r.count*int64(r.size())) }

// has reports whether the row of a picture is there.
func (r *rows) has(index int) bool {
	_, ok := r.place[index]
	return ok
}

// add keeps the rows of pictures. What a full disk leaves of them is cut off
// again.
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
	if _, err := r.file.WriteAt(text, r.start+r.count*int64(r.size())); err != nil {
		return fmt.Errorf("images: keeping features: %w", errors.Join(err, r.cut()))
	}
	for _, i := range index {
		r.place[i] = r.count
		r.count++
	}
	return nil
}

// all returns the rows one after the other, in the order of the pictures.
func (r *rows) all() ([]float32, error) {
	next := make([]int, r.count) // the rank of every record's picture
	ranked := 0
	for i := 0; ranked < len(r.place); i++ {
		if at, ok := r.place[i]; ok {
			next[at] = ranked
			ranked++
		}
	}
	values := make([]float32, ranked*r.width)
	in := r.records(r.count)
	record := make([]byte, r.size())
	for _, rank := range next {
		if _, err := io.ReadFull(in, record); err != nil {
			return nil, fmt.Errorf("images: %s: %w", r.file.Name(), err)
		}
		row := values[rank*r.width:][:r.width]
		for j := range row {
			row[j] = math.Float32frombits(binary.LittleEndian.Uint32(record[4+4*j:]))
		}
	}
	return values, nil
}

func (r *rows) close() error { return r.file.Close() }
