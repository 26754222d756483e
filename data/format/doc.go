// Package format reads the content of files, and writes datasets: OpenRows reads the rows of CSV,
// TSV and Parquet, Read the frame of svmlight and NumPy's .npz. Package table makes datasets and
// problems of either, in one way.
//
// Files may come from anyone: the sizes that they state are not relied on,
// memory grows with the bytes that were read, and errors name file, line and field.
package format
