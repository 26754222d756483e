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
	"l2mt/data/files"
	"l2mt/data/safetensors"
	"l2mt/model"
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

// forgery is a directory of files that are edited, and their checksums made right.
type forgery struct {
	dir   string
	files []*forged
	// reads are the commands that read it.
	reads [][]string
}

// forged is a file of a forgery: a document, alone or in the metadata of tensors, or records.
type forged struct {
	path     string
	document any
	tensors  []safetensors.Tensor
	metadata map[string]string
	key      string // of the document in the metadata
	records  bool
	sum      string // of the file as it was, which others may name
}

// open reads a file. Those that name its checksum come later.
func (f *forgery) open(t *testing.T, name, key string) {
	t.Helper()
	file := &forged{path: filepath.Join(f.dir, name), key: key, records: filepath.Ext(name) == ".jsonl"}
	raw := datatest.Must(os.ReadFile(file.path))(t)
	file.sum = fmt.Sprintf("%x", sha256.Sum256(raw))
	if filepath.Ext(name) == ".safetensors" {
		tensors, metadata, err := safetensors.Decode(raw)
		file.tensors, file.metadata = datatest.Must(tensors, err)(t), metadata
		raw = []byte(metadata[key])
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var lines []any
	for d.More() {
		var v any
		datatest.Check(t, d.Decode(&v))
		if fields, ok := v.(map[string]any); ok && file.records {
			delete(fields, "sum")
		}
		lines = append(lines, v)
	}
	if file.document = lines; len(lines) == 1 && !file.records {
		file.document = lines[0]
	}
	f.files = append(f.files, file)
}

// encode is the content of the file.
func (f *forged) encode(t *testing.T) []byte {
	t.Helper()
	text := datatest.Must(json.Marshal(f.document))(t)
	if lines, ok := f.document.([]any); ok && f.records {
		text = nil
		for _, line := range lines {
			text = append(text, files.Seal(datatest.Must(json.Marshal(line))(t))...)
		}
	}
	if f.tensors == nil {
		return text
	}
	metadata := maps.Clone(f.metadata)
	if f.key != "" {
		metadata[f.key] = string(text)
	}
	path := filepath.Join(t.TempDir(), "forged")
	datatest.Check(t, safetensors.Write(path, f.tensors, metadata))
	return datatest.Must(os.ReadFile(path))(t)
}

func (f *forgery) write(t *testing.T) {
	t.Helper()
	var sums []string
	for _, file := range f.files {
		content := []byte(strings.NewReplacer(sums...).Replace(string(file.encode(t))))
		sums = append(sums, file.sum, fmt.Sprintf("%x", sha256.Sum256(content)))
		datatest.Check(t, os.WriteFile(file.path, content, 0o644))
	}
}

// undefined are the numbers that nobody may be told.
var undefined = regexp.MustCompile(`\bNaN\b|\bInf\b`)

// use runs what reads a forgery, and tells what is wrong with what comes of it.
func (f *forgery) use(t *testing.T) (wrong string, refused bool) {
	defer func() {
		if r := recover(); r != nil {
			wrong = fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	for _, args := range f.reads {
		out := filepath.Join(t.TempDir(), "out")
		code, stdout, stderr := l2mt(t, append([]string{"-q"}, strings.Split(strings.ReplaceAll(strings.Join(args, "\n"), "OUT", out), "\n")...)...)
		if args[0] == "report" && code == exitDone {
			stdout += string(datatest.Must(os.ReadFile(filepath.Join(f.dir, reportFile)))(t))
		}
		switch {
		case code != exitDone && (code != exitFailed || !strings.HasPrefix(stderr, "l2mt: ")):
			return fmt.Sprintf("%s: exit code %d, %s", args, code, stderr), false
		case strings.Count(stderr, "\n") > 1 && !strings.Contains(stderr, "tensor"): // each has a line
			return fmt.Sprintf("%s: more than a sentence: %s", args, stderr), false
		case strings.Contains(stderr, "json: unsupported") || inside.MatchString(stderr):
			return fmt.Sprintf("%s: no sentence: %s", args, stderr), false
		case undefined.MatchString(stdout):
			at := undefined.FindStringIndex(stdout)[0]
			return fmt.Sprintf("%s prints %q", args, stdout[max(0, at-80):min(len(stdout), at+20)]), false
		}
		refused = refused || code != exitDone
	}
	return "", refused
}

// forge fits a table, and returns the model to be edited, with the one beside it.
func forge(t *testing.T, name, text string, flags ...string) *forgery {
	t.Helper()
	f := &forgery{dir: filepath.Join(t.TempDir(), name)}
	table := write(t, name+".csv", text)
	mustL2mt(t, slices.Concat([]string{"-q", "fit", table, "--task", "task", "--target", "y", "--out", f.dir}, flags)...)
	f.reads = [][]string{{"predict", table, "--model", f.dir}, {"show", f.dir}, {"--json", "show", f.dir}, {"report", f.dir}}
	f.open(t, saved.ReportFile, "")
	for _, dir := range []string{"stl", ""} {
		if _, err := os.Stat(filepath.Join(f.dir, dir, saved.File)); err == nil {
			f.open(t, filepath.Join(dir, saved.File), "")
			f.open(t, filepath.Join(dir, saved.WeightsFile), "")
		}
	}
	return f
}

// edits are those of all files.
func (f *forgery) edits() (changes []edit) {
	for _, file := range f.files {
		name := strings.TrimPrefix(file.path, f.dir)
		if file.tensors == nil || file.key != "" {
			changes = append(changes, edits(name, file.document, func(with any) { file.document = with })...)
		}
		changes = append(changes, file.weights(name)...)
	}
	return changes
}

// weights are edits of the tensors.
func (f *forged) weights(name string) (all []edit) {
	change := func(what string, i int, with safetensors.Tensor) {
		was := f.tensors[i]
		all = append(all, edit{name + ": " + was.Name + " " + what, func() func() { f.tensors[i] = with; return func() { f.tensors[i] = was } }})
	}
	for i, was := range f.tensors {
		if len(was.Value) == 0 { // a class of which tasks have no part of their own
			continue
		}
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

// forgeries are models of every kind, a network and experience.
func forgeries(t *testing.T) map[string]*forgery {
	date := func(i int, _ string) string { return fmt.Sprintf("2026-%02d-%02d", 1+i*5%12, 1+i) }
	color := newTab().gaps("color", "").of("when", "").set("when", date).text(",")
	word := func(words ...string) func(int, string) string {
		return func(i int, _ string) string { return words[(i*7+i/5)%len(words)] }
	}
	dir := tinyStudy(t)
	experience, problems := filepath.Join(dir, "e"), filepath.Join(dir, "p", "test.json")
	store := &forgery{dir: experience, reads: [][]string{
		{"experience", "check", experience}, {"--json", "experience", "check", experience},
		{"train", "--experience", experience, "--out", "OUT", "--train.epochs=1", "--model.hidden=8"},
	}}
	for _, pattern := range []string{"problems-*.json", "manifest.json", "*.jsonl"} {
		name := datatest.Must(filepath.Glob(filepath.Join(experience, pattern)))(t)[0]
		store.open(t, filepath.Base(name), "")
	}
	network := &forgery{dir: filepath.Join(dir, "n")}
	network.reads = [][]string{{"report", network.dir}, {"fit", "--network", network.dir, "--problems", problems, "--name", "test-0001", "--model", "network"}}
	network.open(t, model.ConfigFile, "")
	network.open(t, metricsFile, "")
	network.open(t, model.WeightsFile, "network")
	return map[string]*forgery{
		"network": network,
		"store":   store,
		"columns": forge(t, "columns", color, "--model", "mtrl", "--lambda1", "0.1"),
		"curves":  forge(t, "curves", newTab().text(","), "--view", "curves"),
		"kernel":  forge(t, "kernel", newTab().text(","), "--view", "kernel"),
		"two":     forge(t, "two", newTab().set("y", word("yes", "no")).text(","), "--model", "stl", "--lambda1", "0.1", "--step", "unit"),
		"three":   forge(t, "three", newTab().set("y", word("red", "blue", "green")).text(","), "--model", "mtrl", "--lambda1", "0.1"),
		"words":   forge(t, "words", newTab().of("x", "1", "0", "3").of("z", "0", "0", "5", "1").text(","), "--model", "stl", "--lambda1", "0.1", "--step", "tfidf", "--step", "standardise"),
	}
}

// Files whose checksums are right may still say anything. They are refused in a sentence, or do
// no harm: nothing panics, and nobody is told a number that is none. With L2MT_LONG in the
// environment all edits are tried, else some of each forgery.
func TestForgedFiles(t *testing.T) {
	datatest.Long(t)
	t.Parallel()
	seed, tried := uint64(time.Now().UnixNano()), 0
	t.Logf("the seed is %d", seed)
	for name, f := range forgeries(t) {
		t.Run(name, func(t *testing.T) {
			f.write(t)
			wrong, refused := f.use(t)
			datatest.Need(t, wrong == "" && !refused, "unedited: %s, refused %t", wrong, refused)
			changes := f.edits()
			data.Stream(seed, name).Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
			if os.Getenv("L2MT_LONG") == "" {
				changes = changes[:25]
			}
			tried += len(changes)
			harmless := 0
			for _, e := range changes {
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
			t.Logf("%d edits, %d of them harmless", len(changes), harmless)
		})
	}
	t.Logf("%d edits in all", tried)
}

// Points of three classes beside a list of none once ended the page in a panic.
func TestPagesHavePointsOfTheModelsClasses(t *testing.T) {
	f := forge(t, "points", newTab().text(","), "--model", "stl", "--lambda1", "0.1")
	f.files[0].document.(map[string]any)["points"] = [][][2]float64{{}, {}}
	f.write(t)
	refused(t, "fit.json has points of 2 classes, and the model has 0", "report", f.dir)
}
