package table

import (
	"slices"
	"strings"
	"testing"

	"l2mt/data/datatest"
)

// A table after an older one has the older features of its rows: its columns are found by name, in
// any order, steps have the numbers of the older rows, and what does not match is said.
func TestTablesAfterAnOlderOne(t *testing.T) {
	before := "size,town,code,y\n10,Rome,1,1\n20,Paris,2,2\n3000,Rome,1,4\n40,Paris,2,3\n"
	o := Options{Targets: []string{"y"}, Categorical: []string{"code"}}
	older := datatest.Must(Read(inFiles(t, "old.csv", before), o))(t)
	if len(older.Recipe.Steps) != 1 {
		t.Fatalf("the older table has %d steps, and is no test", len(older.Recipe.Steps))
	}
	o = Options{Targets: []string{"y"}, After: &older.Recipe}
	again := datatest.Must(Read(inFiles(t, "old.csv", before), o))(t)
	datatest.Equal(t, shown(again.Problem), shown(older.Problem), "the same table")
	same := "code,y,more,town,size\n1,1.5,7,Rome,3000\n2,2.5,7,Oslo,40\n1,0,8,Paris,20\n"
	newer := datatest.Must(Read(inFiles(t, "new.csv", same), o))(t)
	datatest.Equal(t, newer.Problem.Features, older.Problem.Features, "features")
	row := func(p *Table, i int) []float32 { return p.Problem.Tasks[0].TrainSet.X.Row(i).Value }
	if !slices.Equal(row(newer, 0), row(older, 2)) || row(newer, 1)[0] != row(older, 3)[0] {
		t.Errorf("rows %v, %v; they were %v, %v", row(newer, 0), row(newer, 1), row(older, 2), row(older, 3))
	}
	notes := strings.Join(newer.Notes, "\n")
	for _, want := range []string{`the older model has no column more: left out`, `1 rows have the level "Oslo" in column "town"`} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes\n%s\nwant %s", notes, want)
		}
	}
	lacks := inFiles(t, "lacks.csv", "code,y,town\n1,1,Rome\n2,2.5,Paris\n1,0,Paris\n")
	datatest.Refused(Read(lacks, o))(t, nil, `lacks.csv: there is no column size`)
	o.MissingColumns = Mean
	filled := datatest.Must(Read(lacks, o))(t)
	datatest.Equal(t, row(filled, 0)[0], 0, "a column that is missing")
	bare := inFiles(t, "bare.csv", "1,2,3\n4,5,6\n7,8,9\n")
	o.Targets = []string{"2"}
	datatest.Refused(Read(bare, o))(t, nil, "it has no header")
	numbered := datatest.Must(Read(bare, Options{Targets: []string{"1"}}))(t)
	o = Options{Targets: []string{"1"}, After: &numbered.Recipe}
	if got := datatest.Must(Read(bare, o))(t); shown(got.Problem) != shown(numbered.Problem) {
		t.Errorf("by numbers:\n%s, and was\n%s", shown(got.Problem), shown(numbered.Problem))
	}
}
