package images

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
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
	width int
	value []float32 // n x width
	has   []bool    // whether the row of a picture is there
}

const rowsVersion = "l2mt features 1"

// openRows opens the rows with that key of n pictures, or begins them. One process at
// a time may have them open.
func openRows(path, key string, n, width int) (*rows, error) {
	log, err := files.OpenLog(path)
	if err != nil {
		return nil, err
	}
	r := &rows{log: log, width: width, value: make([]float32, n*width), has: make([]bool, n)}
	if err := r.read(fmt.Sprintf("%s %s %d\n", rowsVersion, key, width)); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return r, nil
}

// read reads the sound records behind the head.
func (r *rows) read(head string) error {
	in := bufio.NewReaderSize(io.NewSectionReader(r.log, 0, r.log.Size()), 1<<20)
	found := make([]byte, min(int64(len(head)), r.log.Size()))
	if _, err := io.ReadFull(in, found); err != nil {
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
	sound, record := int64(len(head)), make([]byte, 4+4*r.width+4)
	for ; ; sound += int64(len(record)) {
		_, err := io.ReadFull(in, record)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			return err
		}
		body, sum := record[:len(record)-4], record[len(record)-4:]
		i := int(binary.LittleEndian.Uint32(body))
		if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(sum) || i >= len(r.has) || r.has[i] {
			break
		}
		r.has[i] = true
		if _, err := binary.Decode(body[4:], binary.LittleEndian, r.row(i)); err != nil {
			return err
		}
	}
	return r.log.Cut(sound)
}

func (r *rows) row(i int) []float32 { return r.value[i*r.width:][:r.width] }

// add keeps the rows of pictures, all or none of them.
func (r *rows) add(index []int, features [][]float32) error {
	var text []byte
	for k, row := range features {
		begin := len(text)
		text = binary.LittleEndian.AppendUint32(text, uint32(index[k]))
		text, _ = binary.Append(text, binary.LittleEndian, row) // never fails: row has a fixed size
		text = binary.LittleEndian.AppendUint32(text, crc32.ChecksumIEEE(text[begin:]))
	}
	if err := r.log.Append(text); err != nil {
		return fmt.Errorf("images: keeping features: %w", err)
	}
	for k, i := range index {
		r.has[i] = true
		copy(r.row(i), features[k])
	}
	return nil
}

// all returns the rows one after the other, in the order of the pictures, and takes
// their room.
func (r *rows) all() []float32 {
	values := r.value[:0]
	for i, has := range r.has {
		if has {
			values = append(values, r.row(i)...)
		}
	}
	return values
}
