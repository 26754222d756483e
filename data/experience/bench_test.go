package experience_test

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"

	"l2mt/data/experience"
	"l2mt/data/experience/experiencetest"
)

func BenchmarkAppend(b *testing.B) {
	w := open(b, filepath.Join(b.TempDir(), "store"), "one")
	defer w.Close()
	r := experiencetest.Problem(1, "p", 6, "mtrl")[1]
	for b.Loop() {
		r.Draw++
		r.ID, _ = experience.TupleID(r.ProblemID, r.Source, r.Draw, r.Hyper)
		if err := w.Append(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "store")
	var records []*experience.Record
	for i := range 50 {
		records = append(records, experiencetest.Problem(1, strconv.Itoa(i), 6, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j")...)
	}
	experiencetest.Write(b, dir, "one", records...)
	s, err := experience.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	perRecord := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(records)), "ns/record")
	}
	b.Run("Load", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := s.Load(); err != nil {
				b.Fatal(err)
			}
		}
		perRecord(b)
	})
	b.Run("Check", func(b *testing.B) {
		for b.Loop() {
			if report, err := s.Check(context.Background()); err != nil || report.Err() != nil {
				b.Fatal(err, report.Err())
			}
		}
		perRecord(b)
	})
}
