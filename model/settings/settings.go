// Package settings makes a table of a configuration: the fields of a struct by
// name, to be checked and compared. The tags of a field describe its setting:
//
//	Hidden int `json:"hidden" min:"1"`
//
// json names it. Numbers lie between min and max, or above above. Texts are among names.
package settings

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Table are the settings of a configuration, in the order of its fields.
type Table []Setting

// Setting is a view of a field of the configuration that its table was made of.
type Setting struct {
	// Name is SECTION.FIELD.
	Name string

	names []string // the texts that are allowed; any if there are none
	tag   reflect.StructTag
	value reflect.Value
}

// New is the table of a configuration, a pointer to a struct, whose names begin
// with the section's. Names has the allowed texts of fields, beside their tags'. Fields that are
// structs have tables of their own.
func New(section string, config any, names map[string][]string) (t Table) {
	for f, value := range reflect.ValueOf(config).Elem().Fields() {
		if f.Type.Kind() == reflect.Struct {
			continue
		}
		field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		allowed := append(names[field], strings.Fields(f.Tag.Get("names"))...)
		t = append(t, Setting{section + "." + field, allowed, f.Tag, value})
	}
	return t
}

// Register makes a choice of a kind available under a name. It is for init alone, and panics if
// the name is taken.
func Register[T any](choices map[string]T, kind, name string, choice T) {
	_, taken := choices[name]
	if taken || name == "" {
		panic(fmt.Sprintf("the %s is registered as %q, a name that is taken or empty; take another", kind, name))
	}
	choices[name] = choice
}

// Value is the setting as a text.
func (s Setting) Value() string {
	return fmt.Sprint(s.value)
}

// refused describes the values that the setting may have, if it has another, else it is empty.
func (s Setting) refused() string {
	kind := "a number"
	x := 0.0
	switch {
	case s.names != nil && !slices.Contains(s.names, s.Value()):
		return "one of " + strings.Join(s.names, ", ")
	case s.value.CanInt():
		kind = "a whole number"
		x = float64(s.value.Int())
	case s.value.CanFloat():
		x = s.value.Float()
	default:
		return ""
	}
	above := s.tag.Get("above")
	bound := cmp.Or(above, s.tag.Get("min"), "-Inf")
	last := s.tag.Get("max")
	low, _ := strconv.ParseFloat(bound, 64)
	high, _ := strconv.ParseFloat(cmp.Or(last, "1e308"), 64)
	switch {
	case x >= low && x <= high && (above == "" || x > low):
		return ""
	case above != "":
		return kind + " above " + above
	case last != "":
		return kind + " from " + bound + " to " + last
	}
	return kind + " of at least " + bound
}

// Faults are the errors of the values.
func (t Table) Faults() (faults []error) {
	for _, s := range t {
		valid := s.refused()
		if valid != "" {
			faults = append(faults,
				fmt.Errorf("%s is %#v; it must be %s", s.Name, s.value, valid))
		}
	}
	return faults
}

// Differences tells the settings that have other values in the table of another configuration of
// the same type.
func (t Table) Differences(u Table) (differences []string) {
	for i, s := range t {
		if !s.value.Equal(u[i].value) {
			differences = append(differences,
				fmt.Sprintf("%s is %v there and %v here", s.Name,
					u[i].value, s.value))
		}
	}
	return differences
}
