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
	d := slices.DeleteFunc(slices.Clone(differences), func(v float64) bool { return v == 0 })
	slices.SortFunc(d, func(a, b float64) int {
		return cmp.Compare(math.Abs(a), math.Abs(b))
	})
	n := len(d)
	if n == 0 {
		return 1
	}
	positive := 0.0
	ties := 0.0 // the rank sum of the positive, and sum (t^3 - t) over groups of t ties
	for i := 0; i < n; {
		j := i + 1
		for j < n && math.Abs(d[j]) == math.Abs(d[i]) {
			j++
		}
		for _, v := range d[i:j] {
			if v > 0 {
				positive += float64(i+j+1) / 2 // the mean of the ranks i+1..j
			}
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	total := float64(n*(n+1)) / 2
	smaller := min(positive, total-positive)
	if n <= exactPairs && ties == 0 {
		return min(1, 2*probabilityUpTo(int(smaller), n))
	}
	deviation := math.Sqrt((total*float64(2*n+1) - ties/4) / 12)
	z := max(0, total/2-smaller-0.5) / deviation
	return math.Erfc(z / math.Sqrt2)
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
