package command

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/data/safetensors"
	"l2mt/model/saved"
)

// foreign are what stands where a value of a model was.
var foreign = []string{
	"null", "true", "0", "-1", "1", "2", "0.5", "1000000000", "1e308", "-1e308", "1e999", "1e-320",
	`""`, `"bogus"`, "[]", "[null]", "[-1]", "[1e308]", "{}", `{"bogus":1}`,
}

// edit is a value of a document at a path, and what to do with it.
type edit struct {
	path string
	do   func() (undo func())
}

// edits lists what can be changed in a value that set replaces: it, and in turn what it contains.
// Of long lists the first and the last entry are changed, dropped and doubled.
func edits(path string, v any, set func(any)) (all []edit) {
	replace := func(what string, with any) {
		all = append(all, edit{path + " = " + what, func() func() { set(with); return func() { set(v) } }})
	}
	for _, text := range foreign {
		replace(text, json.RawMessage(text))
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			less := maps.Clone(v)
			delete(less, key)
			replace("all but "+key, less)
			all = append(all, edits(path+"."+key, v[key], func(with any) { v[key] = with })...)
		}
	case []any:
		if len(v) == 0 {
			break
		}
		replace("all but the last", v[:len(v)-1])
		replace("one twice", append(slices.Clone(v), v[0]))
		replace("turned", append(slices.Clone(v[1:]), v[0]))
		for _, i := range slices.Compact([]int{0, len(v) - 1}) {
			all = append(all, edits(fmt.Sprintf("%s[%d]", path, i), v[i], func(with any) { v[i] = with })...)
		}
	}
	return all
}

// forgery is a saved model that is edited, and its checksums made right.
type forgery struct {
	dir, table string
	document   any
	tensors    []safetensors.Tensor
}

func (f *forgery) write(t *testing.T) {
	t.Helper()
	text := must(json.Marshal(f.document))(t)
	key := map[string]string{"model.json's sha256": fmt.Sprintf("%x", sha256.Sum256(text))}
	tensors := must(safetensors.Encode(f.tensors, key))(t)
	must(0, os.WriteFile(filepath.Join(f.dir, saved.WeightsFile), tensors, 0o644))(t)
	must(0, os.WriteFile(filepath.Join(f.dir, saved.File), text, 0o644))(t)
}

// undefined are the numbers that nobody may be told.
var undefined = regexp.MustCompile(`\bNaN\b|\bInf\b`)

// use runs what reads a model, and tells what is wrong with what comes of it.
func (f *forgery) use(t *testing.T) (wrong string, refused bool) {
	defer func() {
		if r := recover(); r != nil {
			wrong = fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	for _, args := range [][]string{{"predict", f.table, "--model", f.dir}, {"show", f.dir}, {"--json", "show", f.dir}, {"report", f.dir}} {
		code, stdout, stderr := l2mt(t, append([]string{"-q"}, args...)...)
		if args[0] == "report" && code == exitDone {
			stdout += string(must(os.ReadFile(filepath.Join(f.dir, reportFile)))(t))
		}
		switch {
		case code != exitDone && (code != exitFailed || strings.Count(stderr, "\n") != 1):
			return fmt.Sprintf("%s: exit code %d, %s", args, code, stderr), false
		case strings.Contains(stderr, "json: unsupported") || strings.Contains(stderr, "template: "):
			return fmt.Sprintf("%s: no sentence: %s", args, stderr), false
		case undefined.MatchString(stdout):
			at := undefined.FindStringIndex(stdout)[0]
			return fmt.Sprintf("%s prints %q", args, stdout[max(0, at-80):min(len(stdout), at+20)]), false
		}
		refused = refused || code != exitDone
	}
	return "", refused
}

// forge fits a table, and returns the model to be edited.
func forge(t *testing.T, name, text string, flags ...string) *forgery {
	t.Helper()
	f := &forgery{dir: filepath.Join(t.TempDir(), name), table: write(t, name+".csv", text)}
	mustL2mt(t, slices.Concat([]string{"-q", "fit", f.table, "--task", "task", "--target", "y", "--out", f.dir}, flags)...)
	d := json.NewDecoder(bytes.NewReader(must(os.ReadFile(filepath.Join(f.dir, saved.File)))(t)))
	d.UseNumber()
	must(0, d.Decode(&f.document))(t)
	tensors, _, err := safetensors.Read(filepath.Join(f.dir, saved.WeightsFile), nil)
	f.tensors = must(tensors, err)(t)
	must(0, os.RemoveAll(filepath.Join(f.dir, "stl")))(t)
	if wrong, refused := f.use(t); wrong != "" || refused {
		t.Fatalf("%s, unedited: %s, refused %t", name, wrong, refused)
	}
	return f
}

// weights are edits of the tensors.
func (f *forgery) weights() (all []edit) {
	change := func(what string, i int, with safetensors.Tensor) {
		was := f.tensors[i]
		all = append(all, edit{was.Name + " " + what, func() func() { f.tensors[i] = with; return func() { f.tensors[i] = was } }})
	}
	for i, was := range f.tensors {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, -1e9, 0} {
			for _, at := range []int{0, len(was.Value) - 1} {
				with := was
				with.Value = slices.Clone(was.Value)
				with.Value[at] = v
				change(fmt.Sprintf("[%d] = %v", at, v), i, with)
			}
		}
		with := was
		with.Shape = []int{len(was.Value)}
		change("flat", i, with)
		with.Shape = append([]int{1}, was.Shape...)
		change("of another dimension", i, with)
		with.Shape = slices.Clone(was.Shape)
		slices.Reverse(with.Shape)
		change("the other way round", i, with)
		with.Shape = []int{1}
		with.Value = was.Value[:1]
		change("of one number", i, with)
		with = was
		with.Name = "other"
		change("under another name", i, with)
	}
	return all
}

// forgeries are models of every kind.
func forgeries(t *testing.T) map[string]*forgery {
	date := func(i int, _ string) string { return fmt.Sprintf("2026-%02d-%02d", 1+i*5%12, 1+i) }
	color := newTab().gaps("color", "").of("when", "").set("when", date).text(",")
	word := func(words ...string) func(int, string) string {
		return func(i int, _ string) string { return words[(i*7+i/5)%len(words)] }
	}
	return map[string]*forgery{
		"columns": forge(t, "columns", color, "--model", "mtrl", "--lambda1", "0.1"),
		"curves":  forge(t, "curves", newTab().text(","), "--view", "curves"),
		"kernel":  forge(t, "kernel", newTab().text(","), "--view", "kernel"),
		"two":     forge(t, "two", newTab().set("y", word("yes", "no")).text(","), "--model", "stl", "--lambda1", "0.1", "--step", "unit"),
		"three":   forge(t, "three", newTab().set("y", word("red", "blue", "green")).text(","), "--model", "mtrl", "--lambda1", "0.1"),
		"words":   forge(t, "words", newTab().of("x", "1", "0", "3").of("z", "0", "0", "5", "1").text(","), "--model", "stl", "--lambda1", "0.1", "--step", "tfidf", "--step", "standardise"),
	}
}

// A model whose checksums are right may still say anything. It is refused in a sentence, or does
// no harm: nothing panics, and nobody is told a number that is none. With L2MT_LONG in the
// environment all edits are tried, else some of each model.
func TestForgedModels(t *testing.T) {
	datatest.Long(t)
	seed, tried := uint64(time.Now().UnixNano()), 0
	t.Logf("the seed is %d", seed)
	for name, f := range forgeries(t) {
		t.Run(name, func(t *testing.T) {
			all := append(edits("model", f.document, func(with any) { f.document = with }), f.weights()...)
			data.Stream(seed, name).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			if os.Getenv("L2MT_LONG") == "" {
				all = all[:30]
			}
			tried += len(all)
			harmless := 0
			for _, e := range all {
				undo := e.do()
				f.write(t)
				wrong, refused := f.use(t)
				if undo(); wrong != "" {
					t.Errorf("%s: %s", e.path, wrong)
				}
				if !refused {
					harmless++
				}
			}
			t.Logf("%d edits, %d of them harmless", len(all), harmless)
		})
	}
	t.Logf("%d edits in all", tried)
}
