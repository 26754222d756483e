package experience_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/experience"
	"l2mt/data/files"
)

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringN(1, -1, -1)
		records := someRecords(rapid.Uint64().Draw(t, "seed"), name.Draw(t, "problem"), rapid.IntRange(1, 4).Draw(t, "m"), name.Draw(t, "source"))
		failed := *records[1]
		failed.Status, failed.Reason, failed.Result = experience.Failed, name.Draw(t, "reason"), nil
		for _, r := range append(records, &failed) {
			r.Seconds = rapid.Float64Range(0, 1e9).Draw(t, "seconds")
			line := datatest.Must(experience.Encode(r))(t)
			n := bytes.Count(line, []byte("\n"))
			datatest.Need(t, n == 1 && line[len(line)-1] == '\n', "%d newlines in %q", n, line)
			back := datatest.Must(experience.Decode(line[:len(line)-1]))(t)
			datatest.Equal(t, back, r, "changed on the way")
		}
	})
}

// A line is plain JSON for other programs, and they can verify its checksum.
func TestLineIsJSONWithItsChecksum(t *testing.T) {
	line := datatest.Must(experience.Encode(someRecords(1, "p", 2)[0]))(t)
	var fields map[string]any
	datatest.Check(t, json.Unmarshal(line, &fields))
	// As the package comment says it.
	_, content, _ := bytes.Cut(line, []byte(","))
	datatest.Equal[any](t, fields["sum"], fmt.Sprintf("%x", sha256.Sum256(bytes.TrimSpace(content)))[:16], "sum")
	datatest.Holds(t, fields["problem"] == "p" && fields["source"] == "stl" && len(fields["omega"].([]any)) == 2,
		"fields are %v", fields)
}

func TestEveryChangeOfALineIsNoticed(t *testing.T) {
	line := datatest.Must(experience.Encode(someRecords(1, "p", 2, "mtrl")[1]))(t)
	line = line[:len(line)-1]
	for i := range line {
		for bit := range 8 {
			changed := bytes.Clone(line)
			changed[i] ^= 1 << bit
			if _, err := experience.Decode(changed); !errors.Is(err, files.ErrChecksum) && !errors.Is(err, data.ErrFormat) {
				t.Fatalf("bit %d of byte %d, %q: %v", bit, i, line[i], err)
			}
		}
		_, err := experience.Decode(line[:i])
		datatest.Need(t, err != nil, "accepted the first %d bytes", i)
	}
}

func TestIDsDependOnEverythingThatMakesTheTuple(t *testing.T) {
	r := func(v float64) map[string]float64 { return map[string]float64{"r": v} }
	task := func(rows ...int) []*data.Task { return []*data.Task{{Name: "t", Train: rows}} }
	tuple, problem := experience.TupleID, func(fingerprint string, p data.Problem) (string, error) {
		return experience.ProblemID(&p, fingerprint), nil
	}
	seen := map[string]string{}
	for what, id := range map[string]string{
		"a tuple":          datatest.Must(tuple("p", "snr", 0, r(1)))(t),
		"another problem":  datatest.Must(tuple("q", "snr", 0, r(1)))(t),
		"another source":   datatest.Must(tuple("p", "ssnr", 0, r(1)))(t),
		"another draw":     datatest.Must(tuple("p", "snr", 1, r(1)))(t),
		"another value":    datatest.Must(tuple("p", "snr", 0, r(math.Nextafter(1, 2))))(t),
		"another name":     datatest.Must(tuple("p", "snr", 0, map[string]float64{"s": 1}))(t),
		"shifted boundary": datatest.Must(tuple("ps", "nr", 0, r(1)))(t),
		"a problem":        datatest.Must(problem("d", data.Problem{Name: "p", Tasks: task(1, 2)}))(t),
		"another dataset":  datatest.Must(problem("e", data.Problem{Name: "p", Tasks: task(1, 2)}))(t),
		"other rows":       datatest.Must(problem("d", data.Problem{Name: "p", Tasks: task(1, 3)}))(t),
		"other steps":      datatest.Must(problem("d", data.Problem{Name: "p", Tasks: task(1, 2), Prepare: []string{"unit"}}))(t),
		"no rows":          datatest.Must(problem("d", data.Problem{Name: "p", Tasks: task()}))(t),
	} {
		other, ok := seen[id]
		datatest.Holds(t, !ok && len(id) == 32, "%s has the id %q of %s", what, id, other)
		seen[id] = what
	}
	datatest.Refused(tuple("p", "snr", 0, r(math.NaN())))(t, nil)
}

// An id must not change from one version of the program to the next, or stores
// cannot be resumed. The constant is from
//
//	printf '["p","snr",2,{"a":0.5,"r":1}]' | sha256sum | cut -c1-32
func TestIDIsStable(t *testing.T) {
	const want = "64edb65a61f10757539602647bfedeb6"
	id, err := experience.TupleID("p", "snr", 2, map[string]float64{"r": 1, "a": 0.5})
	datatest.Holds(t, err == nil && id == want, "id %s, %v; want %s", id, err, want)
}

func TestRelativeErrorNeedsADenominator(t *testing.T) {
	r := experience.Result{Test: []float64{0.1, 0.5}}
	datatest.Says(t, r.Relate(0), data.ErrInvalid)
	if err := r.Relate(0.375); err != nil || r.MeanTest() != 0.3 || math.Abs(r.O-0.8) > 1e-15 {
		t.Errorf("%+v, %v", r, err)
	}
}

// invalid lists ways to spoil a valid record, and what must be said about it.
var invalid = []struct {
	name  string
	spoil func(r *experience.Record)
	says  string
}{
	{"foreign id", func(r *experience.Record) { r.ID = strings.Repeat("0", 32) }, `id is "00000000000000000000000000000000"; its problem`},
	{"no problem", func(r *experience.Record) { r.Problem = "" }, `problem is ""`},
	{"no source", func(r *experience.Record) { r.Source = "" }, `source "" and draw 0; they must be texts`},
	{"negative draw", func(r *experience.Record) { r.Draw = -1 }, "draw -1; they must be texts and a number from 0"},
	{"unknown status", func(r *experience.Record) { r.Status = "maybe" }, `status is "maybe"; it must be "ok" or "failed"`},
	{"unexplained failure", func(r *experience.Record) { r.Status, r.Result = experience.Failed, nil }, `status is "failed", and the reason for failure ""`},
	{"failure with a result", func(r *experience.Record) { r.Status, r.Reason = experience.Failed, "diverged" }, `status is "failed", but whether there is a result is true`},
	{"success with a reason", func(r *experience.Record) { r.Reason = "diverged" }, `status is "ok", and the reason for failure "diverged"`},
	{"no Omega", func(r *experience.Record) { r.Omega = nil }, "omega: it has no rows"},
	{"empty Omega", func(r *experience.Record) { r.Omega = [][]float64{} }, "omega: it has no rows"},
	{"no result", func(r *experience.Record) { r.Result = nil }, `status is "ok", but whether there is a result is false`},
	{"ragged Omega", func(r *experience.Record) { r.Omega[1] = r.Omega[1][:1] }, "omega: row 1 has 1 entries; a matrix of 3 rows needs 3"},
	{"asymmetric Omega", func(r *experience.Record) { r.Omega[2][0] += 1e-6 }, "omega: it is not symmetric: entry (2, 0) is"},
	{"trace not 1", func(r *experience.Record) { r.Omega[0][0] += 1e-6 }, "omega: its trace is 1.000"},
	{"indefinite Omega", func(r *experience.Record) { r.Omega = [][]float64{{0.5, 0.6, 0}, {0.6, 0.5, 0}, {0, 0, 0}} }, "omega: it is not positive semidefinite: its eigenvalues reach from -0.1 to 1.1"},
	{"lambda1 of zero", func(r *experience.Record) { r.Result.Lambda1 = 0 }, "lambda1 is 0; it must be positive and finite"},
	{"error missing", func(r *experience.Record) { r.Result.Test = r.Result.Test[:2] }, "2 test and 3 validation errors; Omega has 3 tasks"},
	{"negative error", func(r *experience.Record) { r.Result.Test[1] = -0.1 }, "an error is -0.1; it must be"},
	{"o without errors", func(r *experience.Record) { clear(r.Result.Test) }, "the mean test error is 0"},
	{"no errors", func(r *experience.Record) { r.Result = &experience.Result{Lambda1: 1} }, "0 test and 0 validation errors; Omega has 3 tasks"},
	{"tiny o", func(r *experience.Record) { r.Result.O = 1e-320 }, "o is 1e-320, but the mean test error is "},
	{"no o", func(r *experience.Record) { r.Result.O = 0 }, "o is 0, but the mean test error is "},
}

func TestValidate(t *testing.T) {
	for _, c := range invalid {
		r := someRecords(1, "p", 3, "mtrl")[1]
		datatest.Check(t, r.Validate())
		c.spoil(r)
		err := r.Validate()
		datatest.Holds(t, errors.Is(err, data.ErrInvalid) && strings.Contains(fmt.Sprint(err), c.says) && !strings.Contains(fmt.Sprint(err), "NaN"),
			"%s: %v\nwant %s", c.name, err, c.says)
	}
	stl := someRecords(1, "p", 3)[0]
	stl.Result.O = 0.5
	datatest.Says(t, stl.Validate(), nil, `o of source "stl" is 0.5; it must be 1`)
}

func TestWriteAndRead(t *testing.T) {
	dir := storeDir(t)
	records := slices.Concat(someRecords(1, "b", 2, "mtrl", "snr"), someRecords(1, "a", 3, "mtrl"))
	failed := *records[1]
	failed.Draw, failed.Status, failed.Reason, failed.Omega, failed.Result = 1, experience.Failed, "the line search found no step", nil, nil
	failed.ID, _ = experience.TupleID(failed.ProblemID, failed.Source, failed.Draw, failed.Hyper)
	records = append(records, &failed)
	writeStore(t, dir, "one", records[:2]...)
	writeStore(t, dir, "two", records[2:]...)

	got := load(t, dir)
	var order []string
	for _, r := range got {
		order = append(order, fmt.Sprintf("%s %s %d", r.Problem, r.Source, r.Draw))
	}
	datatest.Equal(t, order, []string{"a mtrl 0", "a stl 0", "b mtrl 0", "b mtrl 1", "b snr 0", "b stl 0"}, "the canonical order")
	slices.SortFunc(records, experience.Compare)
	datatest.Equal(t, got, records, "values")
	s := datatest.Must(experience.Open(dir))(t)
	want := someManifest()
	want.Schema, want.Config["lambda1"] = experience.Schema, []any{1e-6, 1e-5}
	datatest.Equal(t, s.Manifest, want, "values")
	w := open(t, dir, "one")
	defer w.Close()
	datatest.Refused(experience.OpenWriter(dir, "one", someManifest()))(t, files.ErrLocked, filepath.Join(dir, "one.jsonl"))
	for _, r := range records {
		datatest.Holds(t, w.Has(r.ID), "tuple %s of another shard or run is not known", r.ID)
		datatest.Says(t, w.Append(r), experience.ErrDuplicate)
	}
	for _, r := range records {
		if got := w.STL(r.ID); (got != nil) != (r.Source == experience.STL) || got != nil && cmp.Diff(r, got) != "" {
			t.Errorf("the tuple of single-task learning of %s is %+v", r.Source, got)
		}
	}
	invalid := *someRecords(1, "c", 2)[0]
	if invalid.Result.Lambda1 = 0; !errors.Is(w.Append(&invalid), data.ErrInvalid) {
		t.Error("an invalid record is taken")
	}
	datatest.Holds(t, !w.Has("") && !w.Has(invalid.ID) && !w.Torn,
		"there is more than was written")
}

// Two collections that are started on the same new directory at a time cannot
// both have it.
func TestOneManifestWins(t *testing.T) {
	for range 20 {
		dir := storeDir(t)
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() {
				m := someManifest()
				m.Seed = uint64(i % 2)
				w, err := experience.OpenWriter(dir, fmt.Sprint("shard-", i), m)
				if errs[i] = err; err == nil {
					w.Close()
				}
			})
		}
		wg.Wait()
		s := datatest.Must(experience.Open(dir))(t)
		for i, err := range errs {
			if mine := s.Manifest.Seed == uint64(i%2); mine && err != nil || !mine && !errors.Is(err, experience.ErrConflict) {
				t.Errorf("seed %d won, writer %d with seed %d got %v", s.Manifest.Seed, i, i%2, err)
			}
		}
	}
}

func TestForeignStoreIsRefusedAndUntouched(t *testing.T) {
	dir := storeDir(t)
	writeStore(t, dir, "one", someRecords(1, "p", 2)...)
	before := contents(t, dir)
	m := someManifest()
	m.Seed, m.Dataset.SHA256, m.Config = 2, "0000", map[string]any{"o": "model", "loss": "squared"}
	_, err := experience.OpenWriter(dir, "two", m)
	datatest.Says(t, err, experience.ErrConflict)
	there := " in " + dir + "/manifest.json but "
	for _, says := range []string{
		"the seed is 1" + there + "2 in this run",
		"the dataset's fingerprint is 5f1a" + there + "0000 in this run",
		`config.o is "refit"` + there + `"model" in this run`,
		`config.loss is absent` + there + `"squared" in this run`,
		`config.lambda1 is [0.000001,0.00001]` + there + `absent in this run`,
	} {
		datatest.Says(t, err, nil, says)
	}
	datatest.Equal(t, contents(t, dir), before, "the store changed")
	m = someManifest()
	m.Dataset.Path = "elsewhere/digits.csv"
	m.Config["lambda1"] = [2]any{1e-6, 1e-5}
	m.CreatedBy = []string{"a later version"}
	w, err := experience.OpenWriter(dir, "two", m)
	datatest.Need(t, err == nil, "the same configuration written differently: %v", err)
	w.Close()
}
