package progress_test

import (
	"fmt"

	"l2mt/data/progress"
)

// lines prints every call.
type lines struct{ done, total int }

func (l *lines) Start(stage string, total int) {
	l.done, l.total = 0, total
	fmt.Println(stage)
}

func (l *lines) Advance(n int, status string) {
	l.done += n
	fmt.Printf("%d/%d %s\n", l.done, l.total, status)
}

func (l *lines) Finish() { fmt.Println("done") }

func work(report progress.Reporter) {
	report.Start("fitting", 2)
	defer report.Finish()
	for i := range 2 {
		report.Advance(1, fmt.Sprint("problem ", i))
	}
}

func Example() {
	work(progress.Silent())
	work(new(lines))
	// Output:
	// fitting
	// 1/2 problem 0
	// 2/2 problem 1
	// done
}
