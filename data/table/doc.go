// Package table makes multitask problems of labelled tables, as people have
// them:
//
//   - one table with a column that names the task of a row,
//   - one table with a target column for every task, blank where a row has no label,
//   - one table for every task, in which the columns are known by their names.
//
// Tables are CSV and TSV files, whose columns may hold numbers, categories and
// gaps, or datasets in any other format that package format reads, with groups
// for tasks. A Recipe keeps the making of the columns,
// and makes features of the rows of other tables: columns by name in any order,
// a feature for every level of a category, means for gaps, steps.
package table
