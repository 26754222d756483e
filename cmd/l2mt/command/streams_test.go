package command

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"l2mt/data/datatest"
)

// fifo makes one, or skips where there are none.
func fifo(t *testing.T, name string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := exec.Command("mkfifo", path).Run(); err != nil {
		t.Skip(err)
	}
	return path
}

func TestAnOutputIsNoInput(t *testing.T) {
	datatest.Long(t)
	table, model := pupils(t, 1), filepath.Join(t.TempDir(), "m")
	mustL2mt(t, fitPupils(table, "stl", model)...)
	before := string(datatest.Must(os.ReadFile(table))(t))
	link := filepath.Join(t.TempDir(), "link.csv")
	datatest.Check(t, os.Symlink(table, link))
	for _, out := range []string{table, link, filepath.Join(model, "model.json"), filepath.Join(model, "weights.safetensors")} {
		refused(t, "it is the input", "predict", table, "--model", model, "--out", out)
	}
	boxed := filepath.Join(t.TempDir(), "x.npz")
	mustL2mt(t, "data", "import", table, "--group", "school", "--label", "y", "--out", boxed)
	refused(t, "it is the input", "data", "import", boxed, "--out", boxed)
	network, _ := tinyNetwork(t)
	refused(t, "it is the input", "fit", table, "--network", network, "--out", network)
	datatest.Equal(t, string(datatest.Must(os.ReadFile(table))(t)), before, "the table is now")
}

func TestADashIsStdout(t *testing.T) {
	table, model := pupils(t, 1), filepath.Join(t.TempDir(), "m")
	t.Chdir(t.TempDir())
	mustL2mt(t, fitPupils(table, "stl", model)...)
	want := mustL2mt(t, "predict", table, "--model", model)
	if got := mustL2mt(t, "predict", table, "--model", model, "--out", "-"); got != want || !strings.HasPrefix(got, "task,prediction") {
		t.Errorf("predict --out - prints %.100q, want %.100q", got, want)
	}
	mustL2mt(t, "data", "import", table, "--group", "school", "--label", "y", "--out", "x.npz")
	if got := mustL2mt(t, "data", "import", table, "--group", "school", "--label", "y", "--out", "-"); got != string(datatest.Must(os.ReadFile("x.npz"))(t)) {
		t.Errorf("data import --out - prints %d other bytes than it writes to a file", len(got))
	}
	if entries := datatest.Must(os.ReadDir("."))(t); len(entries) != 1 {
		t.Errorf("there are %v", entries)
	}
}

func TestPredictionsGoThroughAFifo(t *testing.T) {
	table, model := pupils(t, 1), filepath.Join(t.TempDir(), "m")
	mustL2mt(t, fitPupils(table, "stl", model)...)
	from, to := fifo(t, "from.csv"), fifo(t, "to.csv")
	got := make(chan string)
	go func() {
		raw, _ := os.ReadFile(to)
		got <- string(raw)
	}()
	go os.WriteFile(from, datatest.Must(os.ReadFile(table))(t), 0)
	mustL2mt(t, "-q", "predict", from, "--model", model, "--out", to)
	if info := datatest.Must(os.Lstat(to))(t); info.Mode()&fs.ModeNamedPipe == 0 {
		t.Fatalf("the fifo is %v now", info.Mode())
	}
	datatest.Equal(t, <-got, mustL2mt(t, "-q", "predict", table, "--model", model), "the reader has")
}

// A first signal ends the context, and with it a command for whose table nobody comes.
func TestACommandThatWaitsInAFifoCanBeInterrupted(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m")
	mustL2mt(t, fitPupils(pupils(t, 1), "stl", model)...)
	path, temporary := fifo(t, "fifo.csv"), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for _, args := range [][]string{
		{"fit", path},
		{"predict", path, "--model", model},
		{"data", "info", path},
		{"data", "import", path, "--out", filepath.Join(t.TempDir(), "x.npz")},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var stdout, stderr bytes.Buffer
		code := make(chan int)
		go func() { code <- Run(ctx, args, &stdout, &stderr) }()
		time.Sleep(50 * time.Millisecond)
		cancel()
		select {
		case got := <-code:
			if got != exitInterrupted || !strings.HasSuffix(stderr.String(), "l2mt: interrupted\n") {
				t.Errorf("%v ends with %d and says %q", args, got, &stderr)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%v does not end", args)
		}
	}
	if left := datatest.Must(os.ReadDir(temporary))(t); len(left) != 0 {
		t.Errorf("it leaves %v", left)
	}
}
