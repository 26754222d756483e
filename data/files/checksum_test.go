package files

import (
	"os"
	"path/filepath"
	"testing"
)

// The sum of "abc" is in FIPS 180-2, appendix B.1.
func TestSHA256(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if sum, err := SHA256(path); err != nil || sum != want {
		t.Errorf("the sum is %s, %v; want %s", sum, err, want)
	}
	if _, err := SHA256(path + ".not"); err == nil {
		t.Error("a file that does not exist has a sum")
	}
}
