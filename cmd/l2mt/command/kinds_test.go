package command

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"l2mt/data/datatest"
)

// tab is a table, the first row its names.
type tab [][]string

// newTab has three tasks of eight rows.
func newTab() tab {
	t := tab{{"task", "x", "z", "y"}}
	for i := range 24 {
		x, z := float64(i%7)+0.5, float64(i*5%11)
		t = append(t, []string{string(rune('a' + i%3)), fmt.Sprint(x), fmt.Sprint(z), fmt.Sprintf("%.2f", x-z/3+float64(i%3)+0.1*float64(i*7%5))})
	}
	return t
}

// set changes a column, or adds it.
func (t tab) set(name string, cell func(i int, was string) string) tab {
	at := slices.Index(t[0], name)
	if at < 0 {
		at = len(t[0])
		for i := range t {
			t[i] = append(t[i], "")
		}
	}
	t[0][at] = name
	for i, row := range t[1:] {
		row[at] = cell(i, row[at])
	}
	return t
}

// of takes the cells of a column in turn.
func (t tab) of(name string, cells ...string) tab {
	return t.set(name, func(i int, _ string) string { return cells[i%len(cells)] })
}

// gaps puts a cell in every fifth row, of a new column of words or of one that is there.
func (t tab) gaps(name, cell string) tab {
	return t.set(name, func(i int, was string) string {
		if i%5 == 1 {
			return cell
		}
		return cmp.Or(was, []string{"red", "blue", "green"}[i*7%3])
	})
}

func (t tab) text(separator string) string {
	var b strings.Builder
	for _, row := range t {
		b.WriteString(strings.Join(row, separator) + "\n")
	}
	return b.String()
}

// commas writes the numbers of x and y with decimal commas.
func (t tab) commas() tab {
	for _, name := range []string{"x", "y"} {
		t.set(name, func(_ int, was string) string { return strings.ReplaceAll(was, ".", ",") })
	}
	return t
}

// Tables as people have them: each works, or one line says what and where it is,
// and what would be right.
func TestTablesOfAllKinds(t *testing.T) {
	datatest.Long(t)
	csv := func(t tab) string { return t.text(",") }
	plain := csv(newTab())
	replace := func(before, after string, n int) string { return strings.Replace(plain, before, after, n) }
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, plain)
	z.Close()
	date := func(layout string) func(int, string) string {
		return func(i int, _ string) string { return fmt.Sprintf(layout, 1+i, 1+i*5%12) }
	}
	wide := newTab()
	for k := range 300 {
		wide.set(fmt.Sprint("w", k), func(i int, _ string) string { return fmt.Sprint((i * (k + 3)) % 13) })
	}
	var utf16 strings.Builder
	for _, c := range "\ufeff" + plain {
		utf16.WriteString(string([]byte{byte(c), byte(c >> 8)}))
	}
	for _, c := range []struct {
		name, text, args string
		want             string // of an error; empty if it works
	}{
		{"plain", plain, "", ""},
		{"a mark", "\ufeff" + plain, "", ""},
		{"no last line break", strings.TrimSpace(plain), "", ""},
		{"blank lines", strings.ReplaceAll(plain, "\n", "\n\n"), "", ""},
		{"blank lines at the end", plain + "\n\n\r\n", "", ""},
		{"spaces", strings.ReplaceAll(plain, ",", " , "), "", ""},
		{"quotes", `"` + strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(plain), ",", `","`), "\n", "\"\n\"") + `"`, "", ""},
		{"gzip", packed.String(), "", ""},
		{"tabs", newTab().text("\t"), "", ""},
		{"a separator that is said", newTab().text("#"), "--separator #", ""},
		{"a separator that is not there", plain, "--separator ; --target 0", `t.csv: --task: there is no column "task"; there are task,x,z,y`},
		{"a separator of two", plain, "--separator ;;", `separator ";;": it must be a character, or tab`},
		{"decimal commas", newTab().commas().text(";"), "", ""},
		{"decimals that are said", newTab().of("x", "1,234", "2,345", "3,456").text("\t"), "--decimal ,", ""},
		{"decimals that cannot be", plain, "--decimal ;", `decimal ";": it must be a point or a comma`},
		{"numbers", csv(newTab().of("thousands", `"1,000"`, `"2,500.5"`, `"12,345,678"`, "7").of("percent", "1%", "2.5%", "7 %", "3%").of("exponents", "1e-3", "2E2", "3.5e+1", "4").
			of("signs", "+1", "-2", "-0", "+3.5").of("zeros", "007", "01", "0.50").of("constant", "7").of("bit", "0", "1", "1").of("large", "1e12", "2e12", "5e11").of("small", "1e-12", "2e-12", "5e-11")), "", ""},
		{"words", csv(newTab().of("c", "red", "green", "blue", "red", "blue").gaps("gaps", "").of("two", "TRUE", "FALSE", "FALSE").of("one", "red").of("scripts", "赤", "青", "naïve", "🙂")), "", ""},
		{"words for nothing", csv(newTab().of("a", "", "1", "2", "4").of("b", "NA", "1", "2", "4").of("c", "NaN", "1", "2", "4").of("d", "null", "1", "2", "4").of("e", "#N/A", "1", "2", "4").of("f", "?", "1", "2", "4")), "", ""},
		{"dates", csv(newTab().set("day", date("2024-%02[2]d-%02[1]d")).set("points", date("%d.%d.2024")).set("first", date("%d/%d/2024")).set("short", date("%d/%d/24")).set("times", date("2024-%02[2]d-%02[1]d %02[2]d:30:00")).
			of("minutes", "2024-01-05 10:30", "2024-01-05 12:00", "2024-01-06 23:59").of("web", "2024-01-05T10:30:00Z", "2023-01-05T12:00:00+02:00").of("gaps", "2024-01-05", "", "2024-02-07")), "", ""},
		{"a word that means nothing", csv(newTab().gaps("x", "old")), "--na old", ""},
		{"mixed by wish", csv(newTab().gaps("x", "old")), "--categorical x", ""},
		{"numbers as categories", csv(newTab().of("zip", "101", "202", "303")), "--categorical zip", ""},
		{"an identifier left out", csv(newTab().set("id", func(i int, _ string) string { return fmt.Sprint("id", i) })), "--ignore id", ""},
		{"-999", csv(newTab().gaps("x", "-999")), "--na=-999", ""},
		{"blanks refused", csv(newTab().gaps("x", "")), "--strict", `t.csv: line 3: column "x": the value is missing (""); fill it in, or fit without --strict`},
		{"a class none", csv(newTab().of("y", "none", "some")), "--na=", ""},
		{"a class none, unsaid", csv(newTab().of("y", "none", "some")), "", `t.csv: line 2: column "y", the target: it is missing ("none"); fill it in, leave such rows out with --skip-unlabelled, or say with --na`},
		{"a task NA", csv(newTab().of("task", "NA", "SA", "EU")), "--na=", ""},
		{"a task NA, unsaid", csv(newTab().of("task", "NA", "SA", "EU")), "", `t.csv: line 2: column "task", the task: it is missing ("NA"); every row needs one, or say with --na`},
		{"Yes and yes", csv(newTab().of("c", "Yes", "yes", "No", "no", "no")), "", ""},
		{"Yes and yes as one", csv(newTab().of("y", "Yes", "yes", "No", "no", "no")), "", ""},
		{"T0 and t0", csv(newTab().of("task", "T0", "t0", "t1")), "", ""},
		{"T0 and t0 as one", csv(newTab().of("task", "T0", "t0", "t1")), "", ""},
		{"dates refused", csv(newTab().set("when", date("2024-%02[2]d-%02[1]d"))), "--strict", `t.csv: line 2: column "when": "2024-01-01" is not a number`},
		{"infinity", replace("\na,0.5", "\na,inf", 1), "", `t.csv: line 2: column "x": it is inf; numbers must be finite`},
		{"too large a number", replace("\na,0.5", "\na,1e99", 1), "", `t.csv: line 2: column "x": it is 1e+99; numbers must be finite`},
		{"names in other scripts", replace("x,z", "größe,高さ", 1), "", ""},
		{"names with spaces", replace("x,z", "the size , z 2", 1), "", ""},
		{"names with commas", replace("x,z", `"size, in cm","a ""b"""`, 1), "", ""},
		{"line breaks in quotes", csv(newTab().of("c", "\"a\nb\"", "\"c\n\nd\"", "e")), "", ""},
		{"a long name", replace("x,z", strings.Repeat("x", 5000)+",z", 1), "", ""},
		{"many columns", csv(wide), "", ""},
		{"a column called prediction", replace("x,z", "prediction,low", 1), "", ""},
		{"names that are numbers", replace("task,x,z,y", "0,1,2,3", 1), "--task 0 --target 3", ""},
		{"a header with years", replace("x,z", "2019,2020", 1), "--header yes", ""},
		{"twins", plain + strings.TrimPrefix(plain, "task,x,z,y\n"), "", ""},
		{"one task", csv(newTab().of("task", "a")), "", ""},
		{"numbers for tasks", csv(newTab().of("task", "1", "2", "10")), "", ""},
		{"tasks with commas", csv(newTab().of("task", `"a, b"`, `"c ""d"""`, "e f")), "", ""},
		{"tasks called as columns", csv(newTab().of("task", "x", "z", "y")), "", ""},
		{"no task", plain, "--task= --ignore task", ""},
		{"words instead of a task", plain, "--task=", ""},
		{"several targets", csv(newTab().of("y2", "1.5", "2.5", "4", "7")), "--task= --ignore task --target y*", ""},
		{"several targets with blanks", csv(newTab().of("y2", "1.5", "", "4", "7")), "--task= --ignore task --target y*", ""},
		{"zeros and ones as targets", csv(newTab().of("y", "0", "1", "1", "0", "1")), "", ""},
		{"whole numbers as targets", csv(newTab().of("y", "3", "1", "4", "1", "5")), "", ""},
		{"targets of a billion", csv(newTab().of("y", "3e9", "1e9", "4e9", "1.5e9")), "", ""},
		{"targets of a billionth", csv(newTab().of("y", "3e-9", "1e-9", "4e-9", "1.5e-9")), "", ""},
		{"targets in percent", csv(newTab().of("y", "3%", "10%", "4.5%", "7%")), "", ""},
		{"a word among targets", csv(newTab().gaps("y", "high")), "", `t.csv: line 3: column "y": "high": it is a word among numbers; correct it, or say --kind`},
		{"equal targets", csv(newTab().of("y", "2.5")), "", `task "a": all its 8 rows are "2.5", and so are all others; some rows must have another class (--skip-tasks`},
		{"rows without a target left out", csv(newTab().gaps("y", "")), "--skip-unlabelled", ""},
		{"a task of one row", plain + "d,1,2,3\n", "", ""},
		{"a task of one row left out", plain + "d,1,2,3\n", "--skip-tasks", ""},
		{"a feature that is the target", csv(newTab().set("again", func(i int, _ string) string { return newTab()[i+1][3] })), "", `column "again": it equals the target "y"; leave it out with --ignore`},
		{"an index without a name", strings.ReplaceAll("\n"+strings.TrimSpace(plain), "\n", "\n5,")[1:] + "\n", "--ignore 5", ""},
		{"a header alone", "task,x,y\n", "", "t.csv: it has no labelled rows"},
		{"no features", "task,y\na,1\na,2\n", "", "t.csv: no column is left for features"},
		{"a long row", plain + "a,1,2,3,4\n", "", "t.csv: line 26: it has 5 columns but the first line has 4"},
		{"a quote that is not closed", plain + "\"a,1,2,3\n", "", "t.csv: line 26"},
		{"bytes that are no text", "PK\x03\x04\x00\x00" + plain, "", "t.csv: it has zero bytes, so that it is no text"},
		{"UTF-16", "\xff\xfe" + plain, "", "t.csv: line 1: it is UTF-16; save it as UTF-8"},
		{"a target in another case", plain, "--target Y", `t.csv: --target: there is no column "Y"; it is called "y"`},
		{"the task as target", plain, "--target task", `t.csv: column "task": it cannot be the task and a target`},
		{"the target ignored", plain, "--ignore y", "t.csv: the target is among the columns to --ignore"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, model := write(t, "t.csv", c.text), t.TempDir()
			args := append([]string{"-q", "fit", file, "--model", "stl", "--folds", "2", "--out", model}, strings.Fields(c.args)...)
			for flag, value := range map[string]string{"--task": "task", "--target": "y"} {
				if !strings.Contains(c.args, flag) {
					args = append(args, flag, value)
				}
			}
			code, _, stderr := l2mt(t, args...)
			if c.want != "" {
				datatest.Holds(t, code != exitDone && strings.Contains(stderr, c.want) && strings.Count(strings.TrimSpace(stderr), "\n") <= 0,
					"exit code %d, %swant %s", code, stderr, c.want)
				return
			}
			if code != exitDone {
				t.Fatal(stderr)
			}
			predict := []string{"-q", "predict", "--model", model, file}
			for _, cells := range []string{"--separator", "--decimal", "--header"} {
				if _, after, said := strings.Cut(c.args, cells+" "); said {
					predict = append(predict, cells, strings.Fields(after)[0])
				}
			}
			code, stdout, stderr := l2mt(t, predict...)
			if code != exitDone {
				t.Fatal(stderr)
			}
			for _, row := range csvRows(t, strings.NewReader(stdout)) {
				v, err := strconv.ParseFloat(row[1], 64)
				datatest.Need(t, err != nil || !math.IsNaN(v) && !math.IsInf(v, 0), "predicted %q", row)
			}
			n := strings.Count(stdout, "\n")
			datatest.Holds(t, n >= 25, "%d lines of predictions", n)
		})
	}
}
