package serve

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// metrics count the work of a server.
type metrics struct {
	lock   sync.Mutex
	values map[string]float64 // by name and labels
}

// bounds are seconds that requests are counted by.
var bounds = []float64{
	0.001, 0.003, 0.01, 0.03, 0.1, 0.3,
	1, 3, 10, 30, math.Inf(1),
}

// add counts a request.
func (m *metrics) add(model string, code, rows int, took time.Duration) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.values[fmt.Sprintf("l2mt_requests_total{model=%q,code=\"%d\"}",
		model, code)]++
	m.values[fmt.Sprintf("l2mt_rows_total{model=%q}", model)] += float64(rows)
	m.values["l2mt_request_seconds_sum"] += took.Seconds()
	m.values["l2mt_request_seconds_count"]++
	for _, bound := range bounds {
		if took.Seconds() <= bound {
			m.values[fmt.Sprintf("l2mt_request_seconds_bucket{le=\"%v\"}", bound)]++
		}
	}
}

// serve writes the counts as Prometheus reads them.
func (m *metrics) serve(w http.ResponseWriter, r *http.Request) {
	m.lock.Lock()
	defer m.lock.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	names := slices.Sorted(maps.Keys(m.values))
	for _, family := range []string{"l2mt_request_seconds histogram",
		"l2mt_requests_total counter", "l2mt_rows_total counter"} {
		fmt.Fprintln(w, "# TYPE", family)
		prefix, _, _ := strings.Cut(family, " ")
		for _, name := range names {
			if strings.HasPrefix(name, prefix) {
				fmt.Fprintln(w, name, m.values[name])
			}
		}
	}
}
