package serve_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"l2mt/data"
	"l2mt/data/table"
	"l2mt/infer/serve"
	"l2mt/infer/solve"
	"l2mt/model/pretrained"
)

// A model is saved and asked over HTTP.
func Example() {
	dir := must(os.MkdirTemp("", "shops"))
	defer os.RemoveAll(dir)
	save(dir, shops(2))

	s := must(serve.New([]string{dir}, serve.Options{MaxBody: 1, MaxRows: 100, Timeout: 1e10, Connections: 1}))
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	ask := `{"dataframe_split": {"columns": ["shop", "heat", "weekday"], "data": [["a", 3, "monday"], ["b", 3, "monday"]]}}`
	answer := must(http.Post(server.URL+"/invocations", "application/json", strings.NewReader(ask)))
	defer answer.Body.Close()
	text := must(io.ReadAll(answer.Body))
	fmt.Println(answer.Status, strings.Count(string(text), `"prediction":`))
	// Output:
	// 200 OK 2
}

// shops is a table of three shops, in which a day sells so much for a degree.
func shops(degree float64) string {
	text := "shop,heat,weekday,sold\n"
	for i := range 36 {
		heat := float64(i * i % 11)
		sold := float64(i%3) + degree*heat + float64(i*7%5)/10
		text += fmt.Sprintf("%c,%v,%s,%v\n", 'a'+i%3, heat, []string{"\"sunday, free\"", "monday"}[i%2], sold)
	}
	return text
}

// save fits a table of shops and saves the model.
func save(dir, text string) {
	path := filepath.Join(dir, "table.csv")
	check(os.WriteFile(path, []byte(text), 0o644))
	t := must(table.Read([]string{path}, table.Options{Task: "shop", Targets: []string{"sold"}}))
	finder := solve.NewFinder(must(pretrained.Load()))
	fitted := must(solve.Fit(context.Background(), finder, t.Problem, solve.Options{}))
	check(must(fitted.Saved(t.Recipe)).Save(dir))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

// dense is a row of features.
func dense(values []float32) (data.Matrix, error) { return data.NewDense(1, len(values), values) }
