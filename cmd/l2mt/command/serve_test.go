package command

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"l2mt/data/datatest"
)

// The command answers what predict writes of the same rows, has a page with a form, and ends with
// its context.
func TestServe(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	model := filepath.Join(t.TempDir(), "voices")
	train := filepath.Join(root, "examples", "parkinsons", "train.csv.gz")
	mustL2mt(t, "-q", "fit", train, "--task", "patient", "--target", "motor_UPDRS", "--view", "curves", "--out", model)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, out := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- runHere(ctx, []string{"serve", "--model", model, "--listen", "127.0.0.1:0"}, io.Discard, out)
	}()
	said := bufio.NewReader(in)
	address := regexp.MustCompile(`http://[^/]*`).FindString(datatest.Must(said.ReadString('\n'))(t))
	go io.Copy(io.Discard, said)

	post := func(path, media, body string) string {
		answer := datatest.Must(http.Post(address+path, media, strings.NewReader(body)))(t)
		defer answer.Body.Close()
		text := string(datatest.Must(io.ReadAll(answer.Body))(t))
		datatest.Holds(t, answer.StatusCode == http.StatusOK, "%s: %s %s", body, answer.Status, text)
		return text
	}
	rows := "patient,age,sex,test_time\n1,72,0,60\n2,60,1,30\n"
	got := post("/invocations?interval=0.8&missing_columns=mean", "text/csv", rows)
	predict := []string{"-q", "predict", "--model", model, write(t, "rows.csv", rows), "--interval", "0.8", "--missing-columns", "mean"}
	lines := strings.Split(mustL2mt(t, predict...), "\n")
	for _, line := range lines[1:3] {
		cells := strings.Split(line, ",")
		want := `{"task":"` + cells[0] + `","prediction":` + cells[1] + `,"low":` + cells[2] + `,"high":` + cells[3] + `,"standard_error":` + cells[4] + `}`
		datatest.Holds(t, strings.Contains(got, want), "no %s in %s", want, got)
	}
	// What the page of docs asks is answered with the names that it shows.
	page := readMarkdown(t, filepath.Join(root, "docs", "serve.md"))
	asked := regexp.MustCompile(`(?s)curl (\S+) -H 'Content-Type: (\S+)' -d '(.*?)'\n(.*?)\n\n`).FindAllStringSubmatch(page.code+"\n", -1)
	datatest.Equal(t, len(asked), 2, "requests of the page")
	for _, a := range asked {
		got := post(strings.TrimPrefix(a[1], "http://localhost:5000"), a[2], a[3])
		for _, name := range regexp.MustCompile(`"\w+":`).FindAllString(a[4], -1) {
			datatest.Holds(t, strings.Contains(got, name), "no %s in %s", name, got)
		}
	}
	t.Run("in a browser", func(t *testing.T) {
		proxy := httputil.NewSingleHostReverseProxy(datatest.Must(url.Parse(address))(t))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/probe":
				w.Write(probe)
			case "/favicon.ico":
				w.WriteHeader(http.StatusNoContent)
			default:
				proxy.ServeHTTP(w, r)
			}
		}))
		defer server.Close()
		looksRight(t, server.URL+"/probe#/", "low (90 % lie above it and below high)")
	})
	cancel()
	datatest.Equal(t, <-code, exitDone, "the exit code")
}
