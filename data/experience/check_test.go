package experience_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/experience"
	"l2mt/data/files"
)

// writeRaw makes a store whose only shard has these lines, valid or not.
func writeRaw(t testing.TB, lines ...[]byte) (dir, shard string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	writeStore(t, dir, "one")
	shard = filepath.Join(dir, "one.jsonl")
	datatest.Check(t, os.WriteFile(shard, bytes.Join(lines, nil), 0o644))
	return dir, shard
}

func encodeAll(t testing.TB, records ...*experience.Record) (lines [][]byte) {
	t.Helper()
	for _, r := range records {
		line := datatest.Must(experience.Encode(r))(t)
		lines = append(lines, line)
	}
	return lines
}

func check(t testing.TB, dir string) (records int, faults []*experience.Fault) {
	t.Helper()
	sources, faults, err := datatest.Must(experience.Open(dir))(t).Check()
	datatest.Check(t, err)
	for _, s := range sources {
		records += s.Tuples
	}
	return records, faults
}

// wantFault checks that the store has one fault, at that line.
func wantFault(t *testing.T, name, dir, shard string, line int, want error, says string) {
	t.Helper()
	_, faults := check(t, dir)
	if len(faults) != 1 {
		t.Errorf("%s: %d faults, want 1: %v", name, len(faults), faults)
		return
	}
	if f := faults[0]; f.File != shard || f.Line != line || !errors.Is(f, want) || !strings.Contains(f.Error(), says) {
		t.Errorf("%s: %v\nwant line %d, %s", name, f, line, says)
	}
}

func TestCheckFindsDamagedLines(t *testing.T) {
	good := encodeAll(t, someRecords(1, "p", 2, "mtrl", "snr")...)
	bad := someRecords(1, "p", 2, "mtrl")[1]
	bad.Result.Lambda1 = 0
	flipped := bytes.Clone(good[1])
	flipped[len(flipped)/2] ^= 4
	for _, c := range []struct {
		name string
		line []byte
		want error
		says string
	}{
		{"flipped bit", flipped, files.ErrChecksum, "the line does not begin with a checksum of its content"},
		{"empty line", []byte("\n"), files.ErrChecksum, "the line does not begin with a checksum"},
		{"text", []byte("hello\n"), files.ErrChecksum, "the line does not begin with a checksum"},
		{"carriage return", append(bytes.TrimSuffix(good[1], []byte("\n")), "\r\n"...), files.ErrChecksum, "the line does not begin with a checksum of its content"},
		{"not JSON", files.Seal([]byte("{,]}")), data.ErrFormat, "invalid character"},
		{"unknown field", files.Seal([]byte(`{"omgea":[[1]]}`)), data.ErrFormat, `unknown field "omgea"`},
		{"invalid record", encodeAll(t, bad)[0], data.ErrInvalid, "lambda1 is 0"},
		{"wrong type", files.Seal([]byte(`{"draw":"first"}`)), data.ErrFormat, "cannot unmarshal string"},
	} {
		dir, shard := writeRaw(t, good[0], c.line, good[2])
		wantFault(t, c.name, dir, shard, 2, c.want, c.says)
	}
}

func TestCheckFindsWhatRecordsTellTogether(t *testing.T) {
	p := someRecords(1, "p", 3, "mtrl", "snr")
	q := someRecords(1, "q", 3, "mtrl")

	dir, shard := writeRaw(t, encodeAll(t, p[0], p[1], q[0], p[1], p[2])...)
	wantFault(t, "duplicate", dir, shard, 4, experience.ErrDuplicate, p[1].ID+" is also at "+shard+":2")

	dir, shard = writeRaw(t, encodeAll(t, p[0], p[1], q[1], p[2])...)
	wantFault(t, "no denominator", dir, shard, 3, data.ErrInvalid, `problem "q" has 1 tuples that are ok, but none of source "stl"`)

	p[2].Result.O /= 2
	dir, shard = writeRaw(t, encodeAll(t, p[0], p[1], p[2])...)
	wantFault(t, "another denominator", dir, shard, 3, experience.ErrConflict, " at "+shard+":1, on the same problem")
}

// Check reports everything it finds and goes on after it.
func TestCheckGoesOn(t *testing.T) {
	p := someRecords(1, "p", 3, "mtrl", "snr", "ssnr")
	lines := encodeAll(t, p...)
	dir, shard := writeRaw(t, []byte("x\n"), lines[0], []byte("y\n"), lines[1], lines[1], lines[2], lines[3][:100])
	records, faults := check(t, dir)
	var at []int
	for _, f := range faults {
		at = append(at, f.Line)
	}
	if !slices.Equal(at, []int{1, 3, 5, 7}) || records != 4 {
		t.Errorf("faults in lines %v, %d records", at, records)
	}
	if torn := faults[len(faults)-1]; torn.File != shard || !errors.Is(torn, experience.ErrTorn) {
		t.Errorf("the last is %v", torn)
	}
}
