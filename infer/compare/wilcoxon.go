package compare

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// exactPairs is the number of differences up to which Wilcoxon counts instead
// of approximating.
const exactPairs = 50

// Wilcoxon returns the p value of the two-sided signed-rank test that paired
// differences are symmetric about zero. Differences of zero are left out; with
// none left p is 1.
//
// Up to 50 differences of distinct size p is exact: under the hypothesis each
// of the 2^n ways to sign the ranks is equally likely. Otherwise the rank sum
// is taken as normal, with a correction for continuity and for ties.
func Wilcoxon(differences []float64) float64 {
	d := slices.DeleteFunc(slices.Clone(differences), func(v float64) bool {
		return v == 0
	})
	n := len(d)
	var positive, squares float64 // sums of the ranks of the positive, and of all squared
	for _, v := range d {
		rank := 0.5 // ties have the mean of their ranks
		for _, w := range d {
			rank += float64(1+cmp.Compare(math.Abs(v), math.Abs(w))) / 2
		}
		squares += rank * rank
		if v > 0 {
			positive += rank
		}
	}
	total := float64(n*(n+1)) / 2
	smaller := min(positive, total-positive)
	ties := squares < total*float64(2*n+1)/3
	if n <= exactPairs && !ties {
		return min(1, 2*probabilityUpTo(int(smaller), n))
	}
	return math.Erfc(max(0, total/2-smaller-0.5) * math.Sqrt(2/squares))
}

// probabilityUpTo is the probability that the ranks 1..n, each taken with
// probability 1/2, have a sum of at most s.
func probabilityUpTo(s, n int) float64 {
	exactly := make([]float64, s+1) // the probability of each sum
	exactly[0] = 1
	for rank := 1; rank <= n; rank++ {
		for sum := s; sum >= 0; sum-- {
			exactly[sum] /= 2
			if sum >= rank {
				exactly[sum] += exactly[sum-rank] / 2
			}
		}
	}
	return floats.Sum(exactly)
}
