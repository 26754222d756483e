package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/files"
	"l2mt/model/saved"
)

// pupils is a table of three schools, whose targets follow two columns.
func pupils(t testing.TB, slope float64) (path string) {
	t.Helper()
	var text strings.Builder
	text.WriteString("school,x,z,y\n")
	random := data.Stream(1, "pupils")
	for i := range 24 {
		x, z := random.NormFloat64(), random.NormFloat64()
		fmt.Fprintf(&text, "%c,%.4f,%.4f,%.4f\n", "abc"[i%3], x, z, x+slope*z+0.1*random.NormFloat64())
	}
	path = filepath.Join(t.TempDir(), "pupils.csv")
	datatest.Check(t, os.WriteFile(path, []byte(text.String()), 0o644))
	return path
}

// fitPupils is the command line that fits them.
func fitPupils(table, model, out string) []string {
	return []string{"-q", "fit", table, "--task", "school", "--target", "y", "--model", model, "--out", out}
}

// refused checks that a command fails, prints nothing and says why.
func refused(t *testing.T, says string, args ...string) {
	t.Helper()
	code, stdout, stderr := l2mt(t, args...)
	if code != exitFailed || stdout != "" || !strings.Contains(stderr, says) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("%v: exit code %d, stdout %q, stderr %q; want %q", args, code, stdout, stderr, says)
	}
}

func TestTheFilesOfAModelBelongTogether(t *testing.T) {
	table := pupils(t, 1)
	one, two := t.TempDir(), t.TempDir()
	mustL2mt(t, fitPupils(table, "pooled", one)...)
	mustL2mt(t, fitPupils(pupils(t, 5), "pooled", two)...)
	for _, names := range [][]string{
		{saved.ReportFile},
		{saved.File, saved.WeightsFile},
		{"stl/" + saved.File, "stl/" + saved.WeightsFile},
	} {
		mixed := t.TempDir()
		datatest.Check(t, os.CopyFS(mixed, os.DirFS(one)))
		for _, name := range names {
			raw := datatest.Must(os.ReadFile(filepath.Join(two, name)))(t)
			datatest.Check(t, os.WriteFile(filepath.Join(mixed, name), raw, 0o644))
		}
		refused(t, "is of another fit", "show", mixed)
		refused(t, "is of another fit", "report", mixed)
		refused(t, "is of another fit", "predict", table, "--model", mixed)
	}
}

func TestADirectoryTakesOneFitAtATime(t *testing.T) {
	table, out := pupils(t, 1), t.TempDir()
	folder := datatest.Must(files.Claim(out))(t)
	refused(t, "another process is writing it", fitPupils(table, "stl", out)...)
	datatest.Check(t, folder.Close())
	mustL2mt(t, fitPupils(table, "stl", out)...)
}

// What an older model had and the new one has not is gone.
func TestAModelTakesThePlaceOfAnOlderOne(t *testing.T) {
	table, out := pupils(t, 1), t.TempDir()
	for _, c := range []struct {
		model, title string
		files        int
	}{{"pooled", "one model for all", 5}, {"stl", "every task on its own", 4}, {"pooled", "one model for all", 5}} {
		mustL2mt(t, fitPupils(table, c.model, out)...)
		if entries := datatest.Must(os.ReadDir(out))(t); len(entries) != c.files {
			t.Errorf("after a fit of %s there are %v", c.model, entries)
		}
		if shown := mustL2mt(t, "show", out); !strings.Contains(shown, "\nthe method: "+c.title+"\n") {
			t.Errorf("after a fit of %s: %s", c.model, shown)
		}
		mustL2mt(t, "-q", "predict", table, "--model", out)
	}
}
