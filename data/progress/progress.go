// Package progress is how long work says how far it has come. Libraries report
// and never print; the command turns reports into a bar or lines.
package progress

// Reporter follows one stage of work at a time. Its methods may be called
// from several goroutines.
type Reporter interface {
	// Start begins a stage of total items; 0 means that the number is unknown.
	Start(stage string, total int)
	// Advance says that n more items are done. Status is a short text beside
	// the bar, such as a loss or a count of failures; it may be empty.
	Advance(n int, status string)
	// Finish ends the stage.
	Finish()
}

// Silent returns a Reporter that does nothing.
func Silent() Reporter { return silent{} }

type silent struct{}

func (silent) Start(string, int)   {}
func (silent) Advance(int, string) {}
func (silent) Finish()             {}
