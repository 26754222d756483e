// Package settings makes a table of a configuration: the fields of a struct by
// name, to be listed, set from texts, checked and compared. All
// that is to be known of a setting stands once, in the tags of its field:
//
//	Hidden int `json:"hidden" min:"1" help:"Width h of the layers."`
//
// json names it and help says what it means. Numbers lie between min and max, or
// above above, and zero says what 0 stands for. A field without help is checked and compared like the others, but
// nobody sets it: it follows from something else.
package settings

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Table are the settings of a configuration, in the order of its fields.
type Table []Setting

// Setting is one of them. It is a view of the configuration that its table was
// made of.
type Setting struct {
	// Name is SECTION.FIELD.
	Name string
	// Meaning is the help of the field.
	Meaning string
	// Zero says what a value of 0 stands for, where it is something else.
	Zero string
	// Names are what a text may be; any if there are none.
	Names []string

	tag   reflect.StructTag
	value reflect.Value
}

// Of is the table of a configuration, a pointer to a struct, whose names begin
// with the section's. Names has what the fields that are names may be. Fields
// that are structs have tables of their own.
func Of(section string, config any, names map[string][]string) (t Table) {
	v := reflect.ValueOf(config).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Type.Kind() == reflect.Struct {
			continue
		}
		field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		t = append(t, Setting{section + "." + field, f.Tag.Get("help"), f.Tag.Get("zero"), names[field], f.Tag, v.Field(i)})
	}
	return t
}

// Value is the setting as a text.
func (s Setting) Value() string { return fmt.Sprint(s.value.Interface()) }

// Valid says in words what the setting may be.
func (s Setting) Valid() string {
	kind, lowest := "a number", s.tag.Get("min")
	switch s.value.Kind() {
	case reflect.String:
		if len(s.Names) == 0 {
			return "a text"
		}
		return "one of " + strings.Join(s.Names, ", ")
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Uint64:
		kind = "a whole number"
	}
	switch above, most := s.tag.Get("above"), s.tag.Get("max"); {
	case above != "":
		return kind + " above " + above
	case most != "":
		return kind + " from " + lowest + " to " + most
	case lowest != "":
		return kind + " of at least " + lowest
	}
	return kind
}

// Fault says what is wrong with the value, or is nil.
func (s Setting) Fault() error {
	if text := s.Value(); !s.allowed() {
		if s.value.Kind() == reflect.String {
			text = strconv.Quote(text)
		}
		return fmt.Errorf("%s is %s; it must be %s", s.Name, text, s.Valid())
	}
	return nil
}

func (s Setting) allowed() bool {
	x := 0.0
	switch {
	case s.value.Kind() == reflect.String:
		return len(s.Names) == 0 || slices.Contains(s.Names, s.value.String())
	case s.value.CanInt():
		x = float64(s.value.Int())
	case s.value.CanFloat():
		x = s.value.Float()
	}
	bound := func(tag string, without float64) float64 {
		if b, err := strconv.ParseFloat(s.tag.Get(tag), 64); err == nil {
			return b
		}
		return without
	}
	return x >= bound("min", math.Inf(-1)) && x <= bound("max", math.MaxFloat64) && (s.tag.Get("above") == "" || x > bound("above", 0))
}

// set gives the setting the value of a text, or leaves it unchanged.
func (s Setting) set(text string) error {
	v, err := reflect.New(s.value.Type()).Elem(), error(nil)
	switch {
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Bool && (text == "true" || text == "false"):
		v.SetBool(text == "true")
	case v.CanInt():
		var i int64
		i, err = strconv.ParseInt(text, 10, 64)
		v.SetInt(i)
	case v.CanUint():
		var i uint64
		i, err = strconv.ParseUint(text, 10, 64)
		v.SetUint(i)
	case v.CanFloat():
		var x float64
		x, err = strconv.ParseFloat(text, 64)
		v.SetFloat(x)
	default:
		err = strconv.ErrSyntax
	}
	if err != nil {
		return fmt.Errorf("%s is %q; it must be %s", s.Name, text, s.Valid())
	}
	tried := s
	tried.value = v
	if err := tried.Fault(); err != nil {
		return err
	}
	s.value.Set(v)
	return nil
}

// Faults says what is wrong with the values.
func (t Table) Faults() (faults []error) {
	for _, s := range t {
		if err := s.Fault(); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}

// Difference is a setting that two configurations have different values of.
type Difference struct{ Name, Here, There string }

// Differences compares with the table of another configuration of the same type.
func (t Table) Differences(there Table) (d []Difference) {
	for i, s := range t {
		if !s.value.Equal(there[i].value) {
			d = append(d, Difference{s.Name, s.Value(), there[i].Value()})
		}
	}
	return d
}

// Open are the settings that can be set.
func (t Table) Open() Table {
	return slices.DeleteFunc(slices.Clone(t), func(s Setting) bool { return s.Meaning == "" })
}

// Set gives the setting of that name the value of a text.
func (t Table) Set(name, text string) error {
	t = t.Open()
	i := slices.IndexFunc(t, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return fmt.Errorf("there is no setting %q; %s", name, t.near(name))
	}
	return t[i].set(text)
}

// near says which names are like one that there is not, the nearest first.
func (t Table) near(name string) string {
	const farthest = 2 // letters
	letters := map[string]int{}
	var all, near []string
	for _, s := range t {
		_, field, _ := strings.Cut(s.Name, ".")
		letters[s.Name] = min(Distance(name, s.Name), Distance(name[strings.LastIndex(name, ".")+1:], field))
		all = append(all, s.Name)
		if letters[s.Name] <= farthest {
			near = append(near, s.Name)
		}
	}
	if near == nil {
		return "there are " + strings.Join(all, ", ")
	}
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(letters[a], letters[b]) })
	return "near it: " + strings.Join(near, ", ")
}

// Distance of two names is Levenshtein's: the fewest letters to insert, delete or replace.
func Distance(a, b string) int {
	row := make([]int, len(b)+1) // of the table, for the letters of a so far
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
