package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// One command line, whose result goes to a program.
func Example() {
	var stdout strings.Builder
	if code := Run(context.Background(), []string{"--json", "data", "info", "digits"}, &stdout, os.Stderr); code != exitDone {
		return
	}
	var described datasetInfo
	if err := json.Unmarshal([]byte(stdout.String()), &described); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(described.Rows, described.Features, described.Classes.Count)
	// Output: 1797 64 10
}
