package format

import "l2mt/data"

// A table takes memory for its cells, and for its rows and columns however few cells they
// have. A few bytes, packed well, can be millions of any.
const (
	// freeCells is the number of cells that any file may have.
	freeCells = 4 << 20
	// cellsPerByte is the number of cells that a file may have for each byte on disk: packed
	// pictures have 3, plain text has at most 1.
	cellsPerByte = 4
	// cellsOfRow and cellsOfColumn are the memory of a row and of a column, in cells.
	cellsOfRow    = 8
	cellsOfColumn = 32
)

// bounded refuses a table that takes more than a file of so many bytes may.
func bounded(rows, cols, cells int, stored int64) error {
	size := float64(cells) + cellsOfRow*
		float64(rows) + cellsOfColumn*float64(cols)
	if size <= max(freeCells, cellsPerByte*float64(stored)) {
		return nil
	}
	return data.Invalid("it has %d cells, in %d rows and %d columns, more than a file of %d bytes may have; divide the file, or unpack it if it is packed", cells, rows, cols, stored)
}
