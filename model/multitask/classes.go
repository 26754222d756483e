package multitask

// Where tasks have C > 2 classes the scores of their rows stand row by row, C for
// each, -Inf for a class that the task cannot have, and y has the number of the class.
// Where they have two, there is one score a row, and y is -1 or +1.

// ClassScores picks the scores of one class.
func ClassScores(scores []float64, class, classes int) []float64 {
	if classes == 1 {
		return scores
	}
	var c []float64
	for j := class; j < len(scores); j += classes {
		c = append(c, scores[j])
	}
	return c
}

// LabelOf is the number of the class that y is, for so many scores a row.
func LabelOf(y float64, classes int) int {
	if classes > 1 {
		return int(y)
	}
	return int(1+y) / 2
}
