//go:build faults

package train

import (
	"path/filepath"
	"testing"
	"time"

	"l2mt/data"
	"l2mt/data/safetensors"
	"l2mt/model"
)

// Whenever the process is killed, every file that is there is whole, and the
// same call goes on to the same bytes.
func TestFaultsOfKillsAreUninterrupted(t *testing.T) {
	whole := t.TempDir()
	begin := time.Now()
	if out, err := child(t, whole).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	length := time.Since(begin)

	dir, r, kills, moved := t.TempDir(), data.Stream(1, "kill"), 0, 0
	for before := ""; moved < 4 && kills < 40; kills++ {
		p := child(t, dir)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(time.Duration(r.Float64()*float64(length)/2), func() { _ = p.Process.Kill() })
		finished := p.Wait() == nil
		kill.Stop()
		loads(t, dir)
		if finished {
			break
		}
		if now := contents(t, dir)[StateFile]; now != before {
			before = now
			moved++
		}
	}
	if out, err := child(t, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	compareFiles(t, "killed and resumed", dir, whole)
	if t.Logf("killed %d times, %d of them further on", kills, moved); moved == 0 {
		t.Error("the process was never killed while it trained")
	}
}

// loads expects every file of a run that is there to be whole.
func loads(t testing.TB, dir string) {
	t.Helper()
	there := contents(t, dir)
	if there[StateFile] != "" {
		if _, _, err := safetensors.Read(filepath.Join(dir, StateFile)); err != nil {
			t.Error(err)
		}
	}
	switch {
	case there[model.ConfigFile] != "": // it is written last
		if _, err := model.Load(dir); err != nil {
			t.Error(err)
		}
	case there[StateFile] != "":
		t.Error("there is a state without a network")
	}
}
