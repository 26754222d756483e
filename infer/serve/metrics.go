package serve

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// metrics count the work of a server.
type metrics struct {
	lock      sync.Mutex
	requests  map[string]int // by labels
	rows      map[string]int
	latencies map[string]int // requests that took at most the seconds of their label
	seconds   float64
	answered  int
}

// bounds are seconds that requests are counted by.
var bounds = []float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30}

// add counts a request.
func (m *metrics) add(model string, code, rows int, took time.Duration) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.requests == nil {
		m.requests = map[string]int{}
		m.rows = map[string]int{}
		m.latencies = map[string]int{}
	}
	m.requests[fmt.Sprintf("{model=%q,code=\"%d\"}", model, code)]++
	m.rows[fmt.Sprintf("{model=%q}", model)] += rows
	m.seconds += took.Seconds()
	m.answered++
	for _, bound := range bounds {
		if took.Seconds() <= bound {
			m.latencies[fmt.Sprintf("{le=\"%v\"}", bound)]++
		}
	}
}

// serve writes the counts as Prometheus reads them.
func (m *metrics) serve(w http.ResponseWriter, r *http.Request) {
	m.lock.Lock()
	defer m.lock.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	series := func(name string, counts map[string]int) {
		for _, labels := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(w, "%s%s %d\n", name, labels, counts[labels])
		}
	}
	fmt.Fprint(w, "# HELP l2mt_requests_total Requests to predict.\n# TYPE l2mt_requests_total counter\n")
	series("l2mt_requests_total", m.requests)
	fmt.Fprint(w, "# HELP l2mt_rows_total Rows predicted.\n# TYPE l2mt_rows_total counter\n")
	series("l2mt_rows_total", m.rows)
	fmt.Fprint(w, "# HELP l2mt_request_seconds How long requests took.\n# TYPE l2mt_request_seconds histogram\n")
	series("l2mt_request_seconds_bucket", m.latencies)
	fmt.Fprintf(w, "l2mt_request_seconds_bucket{le=\"+Inf\"} %d\n", m.answered)
	fmt.Fprintf(w, "l2mt_request_seconds_sum %v\nl2mt_request_seconds_count %d\n", m.seconds, m.answered)
}
