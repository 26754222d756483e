package command

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"l2mt/data/files"
)

// flows reports whether others write a file while it is read: a fifo, a terminal.
func flows(info fs.FileInfo) bool {
	return info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice) != 0
}

// apart refuses an output of the wrong kind, or one of the inputs, under any name.
func apart(out string, directory bool, inputs ...string) error {
	written, err := os.Stat(out)
	switch {
	case err != nil:
		return nil // it is not there yet
	case directory && !written.IsDir():
		return fmt.Errorf("--out=%s: it is a file; give a directory", out)
	case !directory && written.IsDir():
		return fmt.Errorf("--out=%s: it is a directory; give a file", out)
	}
	for _, input := range inputs {
		read, err := os.Stat(input)
		if input == "-" {
			read, err = os.Stdin.Stat()
		}
		if err == nil && os.SameFile(read, written) && !flows(written) {
			return fmt.Errorf("--out=%s: it is the input %s; give another name", out, input)
		}
	}
	return nil
}

// stream reads stdin, which is "-", or a file that flows. A read that waits ends with the
// context. Of other files there is none.
func (e *env) stream(path string) io.ReadCloser {
	if info, err := os.Stat(path); path != "-" &&
		(err != nil || !flows(info)) {
		return nil
	}
	r, w := io.Pipe()
	context.AfterFunc(e, func() {
		w.CloseWithError(e.Err())
	})
	go func() {
		in := os.Stdin
		var err error
		if path != "-" {
			in, err = os.Open(path)
		}
		if err == nil {
			_, err = io.Copy(w, in)
		}
		w.CloseWithError(err)
	}()
	return r
}

// keep copies a stream to a file, as some inputs are read more than once. Other files
// are used where they are.
func (e *env) keep(path string) (kept string, remove func(), err error) {
	in := e.stream(path)
	if in == nil {
		return path, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "l2mt-")
	remove = func() {
		_ = os.RemoveAll(dir)
	} // the system removes the rest
	name := "stdin.csv"
	if filepath.Ext(path) != "" {
		name = filepath.Base(path)
	}
	kept = filepath.Join(dir, name)
	if err == nil {
		err = files.Write(kept, func(w io.Writer) error {
			_, err := io.Copy(w, in)
			return err
		})
	}
	if err != nil {
		remove()
	}
	return kept, remove, err
}
