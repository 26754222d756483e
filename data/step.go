package data

// Step is one transformation of the features, with what was fitted on the
// rows it was fitted on, so that new rows can be treated alike.
type Step struct {
	// Kind names the transformation: "standardise", "unit", "tfidf", "select", ...
	Kind string `json:"kind"`
}
