// Package settings makes a table of a configuration: the fields of a struct by
// name, to be listed, set from texts, checked and compared. The tags of a field
// describe its setting:
//
//	Hidden int `json:"hidden" min:"1" help:"Width h of the layers."`
//
// json names it and help explains it. Numbers lie between min and max, or above
// above, and zero explains 0. A field without help is checked and compared like the
// others, but nobody sets it: it follows from something else.
package settings

import (
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
	// Zero is the meaning of 0, where it is no number.
	Zero string
	// Names are the texts that are allowed; any if there are none.
	Names []string

	tag   reflect.StructTag
	value reflect.Value
}

// New is the table of a configuration, a pointer to a struct, whose names begin
// with the section's. Names has the allowed texts of fields. Fields that are
// structs have tables of their own.
func New(section string, config any, names map[string][]string) (t Table) {
	v := reflect.ValueOf(config).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Type.Kind() == reflect.Struct {
			continue
		}
		field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		s := Setting{Names: names[field], tag: f.Tag, value: v.Field(i)}
		s.Name = section + "." + field
		s.Meaning = f.Tag.Get("help")
		s.Zero = f.Tag.Get("zero")
		t = append(t, s)
	}
	return t
}

// Value is the setting as a text.
func (s Setting) Value() string { return fmt.Sprint(s.value.Interface()) }

// Valid describes the values that the setting may have.
func (s Setting) Valid() string {
	kind := "a number"
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
	above := s.tag.Get("above")
	low := s.tag.Get("min")
	high := s.tag.Get("max")
	switch {
	case above != "":
		return kind + " above " + above
	case high != "":
		return kind + " from " + low + " to " + high
	case low != "":
		return kind + " of at least " + low
	}
	return kind
}

// Fault is the error of a value that is not valid, or nil.
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
	if s.tag.Get("above") != "" && !(x > bound("above", 0)) {
		return false
	}
	return x >= bound("min", math.Inf(-1)) && x <= bound("max", math.MaxFloat64)
}

// set gives the setting the value of a text, or leaves it unchanged.
func (s Setting) set(text string) error {
	v := reflect.New(s.value.Type()).Elem()
	var err error
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
	trial := s
	trial.value = v
	if err := trial.Fault(); err != nil {
		return err
	}
	s.value.Set(v)
	return nil
}

// Faults are the errors of the values.
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
func (t Table) Differences(u Table) (d []Difference) {
	for i, s := range t {
		if !s.value.Equal(u[i].value) {
			d = append(d, Difference{s.Name, s.Value(), u[i].Value()})
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
		return fmt.Errorf("there is no setting %q; %s", name, t.suggestion(name))
	}
	return t[i].set(text)
}

// suggestion lists the names that are up to two letters from a wrong one, the nearest first,
// or all names.
func (t Table) suggestion(name string) string {
	letters := map[string]int{}
	var names []string
	for _, s := range t {
		_, field, _ := strings.Cut(s.Name, ".")
		suffix := name[strings.LastIndex(name, ".")+1:]
		letters[s.Name] = min(Distance(name, s.Name), Distance(suffix, field))
		names = append(names, s.Name)
	}
	list := strings.Join(names, ", ")
	names = slices.DeleteFunc(names, func(s string) bool { return letters[s] > 2 })
	if len(names) == 0 {
		return "there are " + list
	}
	slices.SortStableFunc(names, func(a, b string) int { return letters[a] - letters[b] })
	return "near it: " + strings.Join(names, ", ")
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
