package experience_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"l2mt/data"
	"l2mt/data/experience"
	"l2mt/data/experience/experiencetest"
	"l2mt/data/files"
)

// killedWriter is set in the process that TestKill kills: the store to write to.
const killedWriter = "L2MT_TEST_KILLED_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedWriter); dir != "" {
		writeUntilKilled(dir)
		return
	}
	os.Exit(m.Run())
}

// writeUntilKilled goes on with the store where it stands, and prints the id
// of every record that Append has accepted. A shard that writes at the pace of
// a bad disk makes it likely that the kill comes within a record.
func writeUntilKilled(dir string) {
	fmt.Println("ready")
	w, err := openOn(dir, func(_ string, f *os.File) files.File { return slow{f} })
	for i := 0; err == nil; i++ {
		for _, r := range killedProblem(i) {
			if w.Has(r.ID) {
				continue
			}
			if err = w.Append(r); err != nil {
				break
			}
			fmt.Println(r.ID)
		}
	}
	fmt.Println("error:", err)
	os.Exit(1)
}

func killedProblem(i int) []*experience.Record {
	return experiencetest.Problem(1, fmt.Sprintf("problem %03d", i), 6, "mtrl", "snr", "cmtl")
}

// slow is a file that takes its time within a write.
type slow struct{ *os.File }

func (s slow) WriteAt(b []byte, offset int64) (n int, err error) {
	for len(b) > 0 && err == nil {
		time.Sleep(100 * time.Microsecond)
		var part int
		part, err = s.File.WriteAt(b[:min(len(b), 256)], offset+int64(n))
		n, b = n+part, b[part:]
	}
	return n, err
}

func TestKill(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills 50 processes")
	}
	const seed = 3
	rng := data.Stream(seed, "kill")
	dir := experiencetest.Dir(t)
	accepted := map[string]bool{}
	torn := 0
	for kill := range 50 {
		for _, id := range runAndKill(t, dir, rng) {
			accepted[id] = true
		}
		s, err := experience.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // killed before the store was made
		}
		if err != nil {
			t.Fatal(err)
		}
		report, err := s.Check(context.Background())
		if err != nil || report.Err() != nil {
			t.Fatalf("seed %d, kill %d: %v, %v", seed, kill, err, report.Err())
		}
		torn += len(report.Warnings)
		have := map[string]bool{}
		for _, r := range load(t, dir) {
			have[r.ID] = true
		}
		for id := range accepted {
			if !have[id] {
				t.Fatalf("seed %d, kill %d: accepted record %s is lost", seed, kill, id)
			}
		}
	}
	t.Logf("%d records accepted, %d kills left a torn line", len(accepted), torn)
	if len(accepted) == 0 || torn == 0 {
		t.Error("the kills came at the wrong times: the test tests nothing")
	}

	// Finish what was begun: it must equal a store that was never interrupted.
	w := open(t, dir, "one")
	uninterrupted := experiencetest.Dir(t)
	whole := open(t, uninterrupted, "one")
	for i := 0; i == 0 || w.Has(killedProblem(i)[0].ID); i++ {
		for _, r := range killedProblem(i) {
			if !w.Has(r.ID) {
				if err := w.Append(r); err != nil {
					t.Fatal(err)
				}
			}
			if err := whole.Append(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), whole.Close()); err != nil {
		t.Fatal(err)
	}
	if a, b := tree(t, dir)["/one.jsonl"], tree(t, uninterrupted)["/one.jsonl"]; a != b {
		t.Error("killed and resumed differs from uninterrupted")
	}
}

// runAndKill runs this test binary as a writer, kills it after a random time
// and returns the ids that it printed.
func runAndKill(t *testing.T, dir string, rng *rand.Rand) (ids []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), killedWriter+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	if line, err := r.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the writer began with %q, %v", line, err)
	}
	kill := time.AfterFunc(time.Duration(rng.IntN(50_000))*time.Microsecond, func() { cmd.Process.Kill() })
	defer kill.Stop()
	for {
		id, err := r.ReadString('\n')
		if err == io.EOF {
			break // an id without newline was not yet accepted for sure
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(id, "error:") {
			t.Fatal(id)
		}
		ids = append(ids, strings.TrimSpace(id))
	}
	cmd.Wait() // it was killed, so it reports an error
	return ids
}
