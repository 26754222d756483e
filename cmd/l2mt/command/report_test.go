package command

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"l2mt/data"
	"l2mt/data/datatest"
)

// smallRun has something of everything that a report shows.
func smallRun(t *testing.T) (dir string) {
	t.Helper()
	dir = tinyStudy(t)
	experiment := write(t, "case.toml", `
title = "A small study"
flags = [
  "problems --train 6 --test 1 --min-tasks 3 --max-tasks 3 --train-fraction 0.03 --validation-fraction 0.03",
  "collect --models stl,snr2 --explore 2",
  "train --train.epochs=2 --model.hidden=4",
  "eval --models mtrl",
]
show = ["mtrl/refit", "l2mt"]
`)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, args := range [][]string{
		{"eval", "--network", at("n"), "--problems", at("p/test.json"), "--models", "snr2", "--out", at("evaluation")},
		{"fit", "--network", at("n"), "--problems", at("p/test.json"), "--name", "test-0001", "--out", at("problem")},
		{"sweep", experiment, "--out", at("sweep")},
		{"fit", write(t, "alike.csv", alike()), "--task", "task", "--target", "y", "--out", at("fit")},
	} {
		mustL2mt(t, append([]string{"-q"}, args...)...)
	}
	return dir
}

// alike is a table of tasks that have one model, of few rows each.
func alike() string {
	var b strings.Builder
	b.WriteString("task,a,b,c,d,y")
	r := data.Stream(1, "alike")
	for i := range 40 {
		fmt.Fprintf(&b, "\nt%d", i%4)
		y := 0.3 * r.NormFloat64()
		for _, w := range []float64{1, -1, 0.5, 0} {
			x := r.NormFloat64()
			y += w * x
			fmt.Fprintf(&b, ",%.3f", x)
		}
		fmt.Fprintf(&b, ",%.3f", y)
	}
	return b.String() + "\n"
}

func TestReport(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	dir := smallRun(t)
	mustL2mt(t, "report", dir)
	page := datatest.Must(os.ReadFile(filepath.Join(dir, reportFile)))(t)
	reportShowsEverything(t, string(page))
	found := outside.FindAll(page, -1)
	datatest.Holds(t, found == nil, "the page has %q", found)
	t.Run("in a browser", func(t *testing.T) { reportInABrowser(t, page) })
}

func reportShowsEverything(t *testing.T, page string) {
	for _, want := range []string{
		"Comparison <small>evaluation, 2 problems", "A small study <small>sweep", "Comparison <small>sweep/points, 1 problems", "Fit of test-0001 <small>problem", "Network <small>n",
		"Versions",
		"Relative errors of the methods", "Relative errors with standard errors", "Heat maps of the task correlations by method",
		"Heat map of the task correlations", "Loss, error of what is found and parameters",
		"Fit of alike <small>fit", "What else could be done", "one model for all, at own levels", "Where the target varies", "Predicted and true", "Calibration", "Errors of rows held out, task by task", "What columns add", "What was weighed",
		`--max-tasks 3`, `"epochs": 1`, "This page: l2mt ",
	} {
		datatest.Holds(t, strings.Contains(html.UnescapeString(page), want), "the report does not have %q", want)
	}
	curves := strings.Count(page, `aria-label="Curves of `)
	if n := strings.Count(page, "<svg"); curves != 10 || n != 9+curves { // alike has four columns, the other fit more than six; two comparisons, two of the sweep, four of two fits, a network
		t.Errorf("%d pictures, %d of them curves, want 19 and 10: the runs of the sweep are not for the report", n, curves)
	}
}

// outside is what a page could load something with.
var outside = regexp.MustCompile(`(?i)<(script|link|iframe|img|image|object|embed)\b|\b(src|srcset|href|xlink:href|action)\s*=|url\(|@import`)

// probe loads the page in frames of several widths and writes down what it sees.
//
//go:embed testdata/probe.html
var probe []byte

// seen is what the probe writes down about the page at one width.
type seen struct {
	Width    int      // of the frame
	Overflow int      // pixels that stand out on the right
	Loaded   []string // by the page
	Clipped  []string // texts that stand out of their picture
	Covered  []string // pairs of texts that cover each other
	Faint    []string // texts of little contrast to the page
	Dark     bool
	Said     string // by the form, once it was sent
}

func reportInABrowser(t *testing.T, page []byte) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/probe":
			w.Write(probe)
		case "/report":
			// What the page loads, were it from its own site, is an error on the console.
			w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
			w.Write(page)
		default:
			w.WriteHeader(http.StatusNoContent) // an icon for the tab
		}
	}))
	defer server.Close()
	looksRight(t, server.URL+"/probe", "")
}

// looksRight looks at a page through the probe, in light and dark. A form answers what is said.
func looksRight(t *testing.T, probe, says string) {
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	i := slices.IndexFunc(names, func(name string) bool { _, err := exec.LookPath(name); return err == nil })
	if i < 0 {
		t.Skip("there is no Chromium")
	}
	for _, scheme := range []struct {
		name, setting string
		dark          bool
	}{{"light", "preferredColorScheme=1", false}, {"dark", "preferredColorScheme=0", true}} {
		dom := browse(t, names[i], "--blink-settings="+scheme.setting, "--window-size=1600,1200", "--virtual-time-budget=20000", "--dump-dom", probe)
		var frames []seen
		_, text, _ := strings.Cut(dom, "<pre>")
		text, _, _ = strings.Cut(text, "</pre>")
		err := json.Unmarshal([]byte(html.UnescapeString(text)), &frames)
		datatest.Need(t, err == nil && len(frames) == 3, "%s: the probe wrote %q: %v", scheme.name, text, err)
		for _, f := range frames {
			own := slices.DeleteFunc(f.Loaded, func(url string) bool {
				return strings.HasSuffix(url, "/form.js") || strings.HasSuffix(url, "/invocations")
			})
			if f.Loaded = own; !strings.Contains(f.Said, says) || f.Overflow != 0 || len(f.Loaded)+len(f.Clipped)+len(f.Covered)+len(f.Faint) > 0 || f.Dark != scheme.dark {
				t.Errorf("%s: %+v", scheme.name, f)
			}
		}
	}
}

// browse runs headless Chromium and returns what it prints. Messages on the
// console of a page are errors.
func browse(t *testing.T, chromium string, args ...string) string {
	t.Helper()
	profile := datatest.Must(os.MkdirTemp("", "l2mt-chromium"))(t)
	defer os.RemoveAll(profile) // what a late process writes there does not matter
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir=" + profile, "--enable-logging=stderr",
	}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	datatest.Need(t, err == nil, "%v: %v\n%s", args, err, &stderr)
	for line := range strings.Lines(stderr.String()) {
		datatest.Holds(t, !strings.Contains(line, "CONSOLE"), "%v: on the console: %s", args, line)
	}
	return string(out)
}
