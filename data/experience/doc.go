// Package experience keeps the tuples that a network learns from: a multitask
// problem, a task covariance Omega and the relative test error o with it.
// Making a tuple costs a fit, so the store must never lose a tuple, never hand
// out half of one, and name its origin.
//
// # A store is a directory
//
//	manifest.json        schema, dataset and its fingerprint, configuration, seed, makers
//	NAME.jsonl           a shard: one record a line, only ever appended to
//
// The manifest is written once and never changes. Any number of processes may
// write into one store, each into a shard of its own; a second writer on a shard
// is refused. Readers need no lock.
//
// # A record is written whole or not at all
//
// A line is a JSON object whose first field, "sum", is a checksum: the first 16
// hex digits of the SHA-256 of the text after its comma. Floats are in the shortest
// form that reads back to the same float64.
//
// A record is appended by one write call. If that writes only a part (a full
// disk), the part is cut off again. If the process is killed within the call,
// the line lacks its newline, which is written last: readers skip such a torn
// line and report it, and the next writer cuts it off, so that its tuple is
// made again. The shard is synced to the disk about once a second and when it
// is closed: killing the process loses nothing that Append has returned from,
// and a power cut loses the last second.
//
// # Equal runs give equal stores
//
// Except its seconds a record holds nothing that differs between two runs with the
// same configuration. Load puts records into canonical order (see Compare), so that
// the shards of a run load as the store of an undivided run does.
package experience
