// Package fault makes errors of a kind. Programs ask for the kind with errors.Is; people read
// the sentence alone.
package fault

import "fmt"

// Kind is a kind of errors.
type Kind struct{ text string }

// New makes a kind. The text is for errors that say nothing more.
func New(text string) *Kind {
	return &Kind{text}
}

// Error returns the text of New.
func (k *Kind) Error() string {
	return k.text
}

// Errorf makes an error of the kind as fmt.Errorf does. The kind is no part of its text.
func (k *Kind) Errorf(format string, args ...any) error {
	return &fault{fmt.Errorf(format, args...), k}
}

type fault struct {
	error
	kind *Kind
}

// Unwrap returns the sentence, with the errors that it wraps, and the kind.
func (f *fault) Unwrap() []error {
	return []error{f.error, f.kind}
}
