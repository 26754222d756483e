// Package files is how everything of this module gets to the disk and back:
// files that are written whole or not at all, logs that lose no record that was
// accepted, locks between processes, checksums, and JSON that is read strictly.
// It works alike on Unix and Windows.
package files
