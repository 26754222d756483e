//go:build unix

package solve

import (
	"fmt"
	"syscall"
	"testing"

	"gonum.org/v1/gonum/mat"

	"l2mt/model/multitask"
)

// BenchmarkScaling is Omega from a problem with many tasks, and the fit with that
// Omega. It reports processor time.
//
//	go test -run '^$' -bench Scaling -benchtime 1x ./infer
func BenchmarkScaling(b *testing.B) {
	cpu := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
	}
	n := defaultNetwork(b)
	for _, m := range []int{6, 60, 600} {
		p := sparse(b, m, 100, 1000, 0.03)
		var omega *mat.SymDense
		b.Run(fmt.Sprintf("m=%d/infer", m), func(b *testing.B) {
			begin := cpu()
			for b.Loop() {
				found, err := n.Omega(p)
				if err != nil {
					b.Fatal(err)
				}
				omega = found.Omega
			}
			b.ReportMetric((cpu()-begin)/float64(b.N), "cpu-ms/op")
		})
		b.Run(fmt.Sprintf("m=%d/fit", m), func(b *testing.B) {
			training, err := multitask.Training(p, "")
			if err != nil {
				b.Fatal(err)
			}
			begin := cpu()
			for b.Loop() {
				if _, err := multitask.FitFixed(b.Context(), omega, training, 0.01, multitask.Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpu()-begin)/float64(b.N), "cpu-ms/op")
		})
	}
}
