package table_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"l2mt/data/format"
	"l2mt/data/table"
)

// Two assays of the same molecules, each with gaps.
func Example() {
	dir, err := os.MkdirTemp("", "table")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "assays.csv")
	os.WriteFile(path, []byte("weight,solvent,tox1,tox2\n18,water,0,\n46,ethanol,1,1\n32,,,0\n"), 0o644)

	t, err := table.Read([]string{path}, table.Options{
		Targets: []string{"tox*"}, Steps: []string{table.None},
	})
	if err != nil {
		panic(err)
	}
	for _, task := range t.Problem.Tasks {
		fmt.Println(task.Name, task.TrainSet.Y)
	}
	fmt.Println(t.Recipe.Features())

	at, err := t.Recipe.Bind([]string{"solvent", "weight"}, false, false)
	if err != nil {
		panic(err)
	}
	columns, notes := t.Recipe.ColumnsAt(at), map[string]int{}
	for _, c := range columns {
		c.Add([]string{"acetone", "58"}[c.At])
	}
	x, faults := t.Recipe.Make(columns, 1, notes)
	fmt.Println(len(faults), x, notes)
	// Output:
	// tox1 [-1 1]
	// tox2 [1 -1]
	// [weight solvent=ethanol solvent=water solvent is missing]
	// 0 [58 0 0 0] map[rows with the level "acetone" in column "solvent", which the model has not seen (it adds nothing):1]
}

// A table in memory: the columns that are neither label nor group are features.
func ExampleDataset() {
	text := "length,width,kind\n1.5,0.5,long\n1.0,1.0,square\n"
	in := io.NopCloser(strings.NewReader(text))
	d, err := table.Dataset("shapes", table.Options{Format: format.Options{From: in, Label: "kind"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Features, d.Classes, d.Label)
	// Output: [length width] [long square] [0 1]
}
