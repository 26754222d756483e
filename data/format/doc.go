// Package format reads datasets from files and writes them: svmlight, CSV and
// TSV, and NumPy's .npz.
//
// Read takes a file in any of the Formats. Every reader makes a table, which turns
// into a data.Dataset in one place, the same for all formats.
//
// Files may come from anyone: the sizes that they state are not relied on,
// memory grows with the bytes that were read, and errors name file, line and field.
package format
