// Package settings makes a table of a configuration: the fields of a struct by
// name, to be checked and compared. The tags of a field describe its setting:
//
//	Hidden int `json:"hidden" min:"1"`
//
// json names it. Numbers lie between min and max, or above above.
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
