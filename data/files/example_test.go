package files_test

import (
	"fmt"
	"os"
	"path/filepath"

	"l2mt/data/files"
)

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "result.txt")
	if err := files.WriteFile(path, []byte("0.93\n")); err != nil {
		fmt.Println(err)
	}
	raw, err := os.ReadFile(path)
	fmt.Printf("%s%v\n", raw, err)
	// Output:
	// 0.93
	// <nil>
}
