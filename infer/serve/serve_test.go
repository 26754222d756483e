package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/infer/serve"
	"l2mt/model/saved"
)

// Models of the tests are fitted once: of numbers, the same for twice as much a degree, of two
// classes, and of three.
var dirs = sync.OnceValue(func() map[string]string {
	root := must(os.MkdirTemp("", "serve"))
	all := map[string]string{}
	for name, text := range map[string]string{
		"numbers": shops(2), "doubled": shops(4),
		"two": classes("no", "yes"), "three": classes("ant", "bee", "cat"),
	} {
		all[name] = filepath.Join(root, name)
		check(os.Mkdir(all[name], 0o755))
		save(all[name], text)
	}
	return all
})

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(filepath.Dir(dirs()["numbers"]))
	os.Exit(code)
}

// classes is a table of shops whose days are of classes, by their heat.
func classes(names ...string) string {
	lines := strings.Split(strings.TrimSpace(shops(1)), "\n")
	for i, line := range lines[1:] {
		cut := strings.LastIndex(line, ",")
		k := (i*i%11 + i%2) * len(names) / 12
		lines[1+i] = line[:cut+1] + names[k]
	}
	return strings.Join(lines, "\n") + "\n"
}

var options = serve.Options{
	Listen: "127.0.0.1:0", MaxBody: 1, MaxRows: 2000, Timeout: 10 * time.Second, Connections: 64,
	Version: "v1", Log: func(string, ...any) {},
}

func start(t *testing.T, o serve.Options, models ...string) (*serve.Server, string) {
	t.Helper()
	s := must(serve.New(models, o))
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return s, server.URL
}

type answered struct {
	Predictions []map[string]any
	Notes       []string
	Code        string `json:"error_code"`
	Message     string
}

func ask(t testing.TB, url, media, body string) (status int, a answered) {
	t.Helper()
	r, err := http.Post(url, media, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, a
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	datatest.Holds(t, err == nil, "%s: %d, %q: %v", body, r.StatusCode, text, err)
	return r.StatusCode, a
}

const (
	isJSON = "application/json; charset=utf-8"
	isCSV  = "text/csv"
)

// All forms of a table have the predictions of Fit.Predict, its probabilities and intervals.
func TestAnswersAreThoseOfTheModel(t *testing.T) {
	for name, dir := range dirs() {
		_, url := start(t, options, dir)
		fit := must(saved.Load(dir))
		level := ""
		if name == "numbers" || name == "doubled" {
			level = `, "params": {"interval": 0.8}`
		}
		for form, body := range map[string]string{
			"split":     `{"dataframe_split": {"index": [0, 1], "columns": ["weekday", "shop", "heat"], "data": [["sunday, free", "b", 3.5],["monday","c",8e0]]}` + level + `}`,
			"records":   `{"dataframe_records": [{"heat": 3.5, "weekday": "sunday, free", "shop": "b"}, {"shop": "c", "heat": 8, "weekday": "monday", "more": null}]` + level + `}`,
			"instances": `{"instances": [ ["b", 3.5, "sunday, free"], ["c", 8.0, "monday"] ]` + level + `}`,
		} {
			status, a := ask(t, url+"/invocations", isJSON, body)
			datatest.Need(t, status == http.StatusOK && len(a.Predictions) == 2 && len(a.Notes) <= 0,
				"%s, %s: %d %+v", name, form, status, a)
			compare(t, fit, a, name+", "+form)
		}
		body := "heat,weekday,shop\n3.5,\"sunday, free\",b\n8,monday,c\n"
		if status, a := ask(t, url+"/invocations?interval=0.8", isCSV, body); fit.Residuals == nil {
			datatest.Holds(t, status == http.StatusBadRequest && strings.Contains(a.Message, "no errors of rows held out"),
				"an interval of classes: %d %+v", status, a)
		} else {
			compare(t, fit, a, name+", CSV")
		}
	}
}

// compare compares with the rows shop b of 3.5 degrees on a free Sunday and shop c of 8 on a Monday.
func compare(t *testing.T, fit *saved.Fit, a answered, what string) {
	t.Helper()
	rows := []map[string]float32{{"heat": 3.5, "weekday=sunday, free": 1}, {"heat": 8, "weekday=monday": 1}}
	for i, row := range rows {
		var values []float32
		for _, feature := range fit.Recipe.Features() {
			values = append(values, row[feature])
		}
		task := []string{"b", "c"}[i]
		scores := must(fit.Predict(task, must(dense(values))))
		got := a.Predictions[i]
		datatest.Equal[any](t, got["task"], task, "%s: row %d is of task", what, i)
		if fit.Residuals != nil {
			near(t, what, got["prediction"], scores[0], 1e-6)
			near(t, what, (got["low"].(float64)+got["high"].(float64))/2, scores[0], 1e-6)
			half := fit.Interval(0.8) * got["standard_error"].(float64)
			near(t, what, got["high"], scores[0]+half, 1e-2)
			continue
		}
		p := make([]float64, max(2, len(fit.Classes)))
		data.Probabilities(p, scores, fit.Temperature)
		names := fit.ClassesOf(0)
		best := 0
		for k, name := range names {
			if p[k] > p[best] {
				best = k
			}
			if len(names) > 2 || k == 1 {
				near(t, what, got["probability of "+name], p[k], 1e-5)
			}
		}
		datatest.Holds(t, got["prediction"] == names[best],
			"%s: row %d is of class %v, want %s of %v", what, i, got["prediction"], names[best], p)
	}
}

func near(t *testing.T, what string, got any, want, tolerance float64) {
	t.Helper()
	v, ok := got.(float64)
	datatest.Holds(t, ok && math.Abs(v-want) <= tolerance, "%s: %v, want %v", what, got, want)
}

// What is wrong with a request is said in a sentence, by a code that says that it is the request.
func TestWrongRequests(t *testing.T) {
	_, url := start(t, options, "shop="+dirs()["numbers"])
	row := `["a", 1, "monday"]`
	for _, c := range []struct {
		body   string
		status int
		says   string
	}{
		{``, 400, `^the body is empty; give an object with rows`},
		{`{`, 400, `^the object is cut short$`},
		{`{"instances": [["a", NaN, "monday"]]}`, 400, `^byte 22: invalid character 'N' .*a missing value is null$`},
		{`{"instances": [["a", 1e999, "monday"]]}`, 400, `column "heat": it is 1e999; numbers must be finite`},
		{`{"instances": [["a", "warm", "monday"]]}`, 400, `^request: line 2: column "heat": "warm" is not a number`},
		{`{"instances": [["a", 1]]}`, 400, `^request: line 2: it has 2 columns but the first line has 3$`},
		{`{"instances": [` + row + `, []]}`, 400, `^row 2 is empty; a missing value is null$`},
		{`{"instances": [` + row + `, 5]}`, 400, `^row 2: it must be a list of numbers, texts`},
		{`{"instances": [["a", [1], "monday"]]}`, 400, `^row 1: it must be a list of numbers`},
		{`{"dataframe_records": [{"shop": {"a": 1}}]}`, 400, `^row 1: it must be a list of numbers`},
		{`{"instances": 5}`, 400, `^rows must be a list of lists or of objects$`},
		{`{"instances": []}`, 400, `^there are no rows; give some as dataframe_split`},
		{`{"dataframe_split": 5}`, 400, `field "dataframe_split" cannot be a number$`},
		{`{"dataframe_splits": {}}`, 400, `^unknown field "dataframe_splits"$`},
		{`{"instances": [` + row + `]} x`, 400, `^there is more text after the object`},
		{`{"dataframe_records": [{"shop": "a", "heat": 1}]}`, 400, `^request: there is no column weekday; there are heat, shop`},
		{`{"dataframe_records": [{"heat": 1, "weekday": "monday"}]}`, 400, `^request: its rows name no task: there is no column "shop"`},
		{`{"instances": [` + row + `], "params": {"interval": 7}}`, 400, `^--interval=7: it must be between 0 and 1$`},
		{`{"instances": [` + strings.Repeat(row+",", 2000) + row + `]}`, 413, `^it has 2001 rows; a request may have 2000`},
		{`{"instances": [["` + strings.Repeat("a", 1<<20) + `", 1, "monday"]]}`, 413, `^the body is larger than a request may be, 1 MiB`},
		{`{"instances": [` + row + `], "adapt": {"instances": [["a", 1, "monday"]]}}`, 400, `^adapt: the model has the task "a" already`},
		{`{"instances": [["x\u0000", 1, "monday"]]}`, 400, `^request: it has zero bytes`},
	} {
		status, a := ask(t, url+"/invocations", isJSON, c.body)
		datatest.Holds(t, status == c.status && regexp.MustCompile(c.says).MatchString(a.Message) && a.Code != "",
			"%.80s: %d %+v, want %d %s", c.body, status, a, c.status, c.says)
	}
	for _, c := range []struct {
		path, media, body string
		status            int
		says              string
	}{
		{"/models/shops/invocations", isJSON, "{}", 404, `^there is no model "shops"; GET /models lists`},
		{"/invocations", "text/plain", "x", 415, `^the content type is "text/plain"; it must be`},
		{"/invocations", isCSV, "shop,heat,weekday\n" + strings.Repeat("a,1,monday\n", 2001), 413, `^it has more rows than a request may have, 2000`},
		{"/invocations", isCSV, "", 400, `^request: it is empty; it needs a header$`},
		{"/invocations?interval=much", isCSV, "", 400, `^interval=much: it must be a number`},
	} {
		status, a := ask(t, url+c.path, c.media, c.body)
		datatest.Holds(t, status == c.status && regexp.MustCompile(c.says).MatchString(a.Message),
			"%s %.40s: %d %+v, want %d %s", c.path, c.body, status, a, c.status, c.says)
	}
}

// Requests of any bytes are answered, or refused in words as what they are: none is the server's fault.
func TestMutatedRequests(t *testing.T) {
	handler := must(serve.New([]string{dirs()["numbers"]}, options)).Handler()
	bodies := []string{
		`{"dataframe_split": {"index": [0], "columns": ["weekday", "shop", 7], "data": [["sunday, \u0066ree", "b", 3.5]]}, "params": {"interval": 0.8}}`,
		`{"dataframe_records": [{"heat": 3.5, "weekday": null, "shop": "b"}, {}], "params": {"missing_columns": "mean", "task": ""}}`,
		`{"instances": [["b", 3.5e0, true]], "adapt": {"dataframe_records": [{"shop": "new", "heat": 1, "weekday": "monday", "sold": 52}]}}`,
	}
	pieces := []string{`"`, `\`, `[`, `]`, `{`, `}`, `,`, `:`, `null`, `-1e308`, `1e999`, "\n", "\x00", "\xff", `""`, `[]`, `{}`, ` `}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	codes := map[int]int{}
	for range 2000 {
		body := bodies[r.IntN(len(bodies))]
		for range 1 + r.IntN(2) {
			i := r.IntN(len(body))
			j := min(len(body), i+r.IntN(8))
			body = body[:i] + pieces[r.IntN(len(pieces))] + body[j:]
		}
		request := httptest.NewRequest("POST", "/invocations", strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, request)
		codes[w.Code]++
		datatest.Holds(t, w.Code < 500 && json.Valid(w.Body.Bytes()) && (w.Code == http.StatusOK || strings.Contains(w.Body.String(), `"message"`)),
			"seed %d: %s: %d %s", seed, body, w.Code, w.Body)
	}
	datatest.Holds(t, codes[http.StatusOK] >= 20 && codes[http.StatusBadRequest] >= 20,
		"seed %d: codes %v", seed, codes)
}

// What the model has not seen is said by column and level.
func TestWhatIsNotSeenIsSaid(t *testing.T) {
	_, url := start(t, options, dirs()["numbers"])
	_, a := ask(t, url+"/invocations", isJSON, `{"instances": [["z", 99, "friday"], ["a", null, "a \"b\",\nc"]]}`)
	said := strings.Join(a.Notes, "\n")
	for _, want := range []string{
		`cells of column "heat" outside`, `the level "friday" in column "weekday"`, `the task "z", which the model does not know`,
		`no value in column "heat"`, `the level "a \"b\",\nc" in column "weekday"`,
	} {
		datatest.Holds(t, strings.Contains(said, want), "notes do not have %q: %q", want, a.Notes)
	}
}

// Rows of a new task give it the posterior that predict --adapt gives it.
func TestAdapt(t *testing.T) {
	dir := dirs()["numbers"]
	_, url := start(t, options, dir)
	table := "shop,heat,weekday,sold\nnew,1,monday,52\nnew,5,monday,60\nnew,9,\"sunday, free\",68\n"
	path := filepath.Join(t.TempDir(), "new.csv")
	check(os.WriteFile(path, []byte(table), 0o644))
	fit := must(must(saved.Load(dir)).Adapt(t.Context(), path, saved.RowOptions{}))
	row := map[string]float32{"heat": 4, "weekday=monday": 1}
	var values []float32
	for _, feature := range fit.Recipe.Features() {
		values = append(values, row[feature])
	}
	want := must(fit.Predict("new", must(dense(values))))[0]
	status, a := ask(t, url+"/invocations", isJSON, `{"instances": [["new", 4, "monday"]], "adapt": {"dataframe_split":
		{"columns": ["shop", "heat", "weekday", "sold"], "data": [["new", 1, "monday", 52], ["new", 5, "monday", 60], ["new", 9, "sunday, free", 68]]}}}`)
	datatest.Need(t, status == http.StatusOK && len(a.Notes) <= 0, "%d %+v", status, a)
	near(t, "adapted", a.Predictions[0]["prediction"], want, 1e-6)
	if _, b := ask(t, url+"/invocations", isJSON, `{"instances": [["new", 4, "monday"]]}`); b.Predictions[0]["prediction"] == a.Predictions[0]["prediction"] {
		t.Error("a request adapts the model for those after it")
	}
}

// A model that is replaced while it is asked answers every request, and the new one afterwards.
func TestReplacedModel(t *testing.T) {
	dir := t.TempDir()
	older := must(saved.Load(dirs()["numbers"]))
	newer := must(saved.Load(dirs()["doubled"]))
	check(older.Save(dir))
	var log atomic.Value
	o := options
	o.Log = func(format string, args ...any) { log.Store(fmt.Sprintf(format, args...)) }
	s, url := start(t, o, "m="+dir)
	body := `{"instances": [["a", 8, "monday"]]}`
	predicted := func() float64 {
		status, a := ask(t, url+"/invocations", isJSON, body)
		if status != http.StatusOK {
			t.Errorf("%d %+v", status, a)
			return 0
		}
		return a.Predictions[0]["prediction"].(float64)
	}
	before := predicted()
	var group sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					predicted()
				}
			}
		})
	}
	for i := range 6 {
		check([]*saved.Fit{newer, older}[i%2].Save(dir))
		s.Reload()
	}
	check(newer.Save(dir))
	s.Reload()
	close(stop)
	group.Wait()
	after := predicted()
	datatest.Holds(t, math.Abs(after-before) >= 10,
		"%v is predicted, and %v before the model was replaced", after, before)
	check(os.WriteFile(filepath.Join(dir, saved.File), []byte("{"), 0o644))
	s.Reload()
	if got := predicted(); got != after || !strings.Contains(log.Load().(string), "the earlier model goes on answering") {
		t.Errorf("%v is predicted with a damaged model, want %v; log %q", got, after, log.Load())
	}
}

// A client that sends nothing is left after the time for it, others do not wait for it, and a
// request that has come in before the end is answered.
func TestSlowClientsAndTheEnd(t *testing.T) {
	datatest.Long(t)
	o := options
	o.Timeout = time.Second
	where := make(chan string, 1)
	o.Log = func(format string, args ...any) {
		if len(args) == 1 {
			where <- fmt.Sprint(args[0])
		}
	}
	s := must(serve.New([]string{dirs()["numbers"]}, o))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	address := <-where

	const head = "POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 36\r\n\r\n"
	slow := must(net.Dial("tcp", address))
	defer slow.Close()
	fmt.Fprint(slow, head+"{")
	status, _ := ask(t, "http://"+address+"/invocations", isJSON, `{"instances": [["a", 8, "monday"]]}`)
	datatest.Holds(t, status == http.StatusOK, "beside a slow client the code is %d", status)
	text := string(must(io.ReadAll(slow)))
	datatest.Holds(t, strings.HasPrefix(text, "HTTP/1.1 408 "), "a slow client is answered %q, want 408", text)

	last := must(net.Dial("tcp", address))
	defer last.Close()
	fmt.Fprint(last, head+`{"instances": [["a", `)
	time.Sleep(100 * time.Millisecond) // the server has begun to read
	cancel()
	time.Sleep(100 * time.Millisecond)
	fmt.Fprint(last, ` 8, "monday"]]}`)
	text = string(must(io.ReadAll(last)))
	datatest.Holds(t, strings.HasPrefix(text, "HTTP/1.1 200 "), "the last request is answered %q", text)
	datatest.Check(t, <-ended)
	datatest.Refused(net.Dial("tcp", address))(t, nil)
}

// Neither requests nor their mistakes stay in memory.
func TestMemoryDoesNotGrow(t *testing.T) {
	datatest.Long(t)
	handler := must(serve.New([]string{dirs()["numbers"]}, options)).Handler()
	work := func(n int) uint64 {
		for i := range n {
			row := fmt.Sprintf(`["task %d", 8, "level %d"],`, i, i)
			body := `{"instances": [` + strings.Repeat(row, 99) + `["a", 8, "monday"]]}`
			if i%7 == 0 {
				body = body[:len(body)/2]
			}
			r := httptest.NewRequest("POST", "/invocations", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			handler.ServeHTTP(httptest.NewRecorder(), r)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := work(50)
	after := work(500)
	datatest.Holds(t, after <= before+1<<20, "%d bytes after 50 requests, %d after 550", before, after)
}

func TestPagesAboutTheServer(t *testing.T) {
	_, url := start(t, options, "a="+dirs()["numbers"], "b="+dirs()["three"])
	ask(t, url+"/models/b/invocations", isJSON, `{"instances": [["a", 8, "monday"], ["b", 8, "monday"]]}`)
	ask(t, url+"/invocations", isJSON, `{`)
	for path, wants := range map[string][]string{
		"/ping": {`^\n$`}, "/health": {`^\n$`}, "/version": {`^v1$`},
		"/models":   {`^{"models":\["a","b"\]}\n$`},
		"/models/a": {`"kind":"regression"`, `"header":\["shop","heat","weekday"\]`, `"highest_interval":0.9`},
		"/models/b": {`"classes":\["ant","bee","cat"\]`},
		"/metrics": {
			`(?m)^l2mt_requests_total{model="a",code="400"} 1$`, `(?m)^l2mt_requests_total{model="b",code="200"} 1$`,
			`(?m)^l2mt_rows_total{model="b"} 2$`, `(?m)^l2mt_request_seconds_bucket{le="\+Inf"} 2$`, `(?m)^l2mt_request_seconds_count 2$`,
		},
		"/": {`<option>monday</option>`, `<input name="heat" type="number"`, `<option>a</option>`, `/models/a/invocations`},
	} {
		r := must(http.Get(url + path))
		text := must(io.ReadAll(r.Body))
		r.Body.Close()
		for _, want := range wants {
			datatest.Holds(t, regexp.MustCompile(want).Match(text) && r.StatusCode == http.StatusOK,
				"%s: %d, no %s in %s", path, r.StatusCode, want, bytes.TrimSpace(text))
		}
	}
	datatest.Refused(serve.New([]string{"a=" + dirs()["two"], "a=" + dirs()["three"]}, options))(t, nil, `two models are called "a"`)
}
