package data

import (
	"cmp"
	"slices"
)

// Picked are the values in some places.
func Picked[T any, I int | int32](values []T, places []I) []T {
	picked := make([]T, len(places))
	for i, place := range places {
		picked[i] = values[place]
	}
	return picked
}

// Distinct are the distinct values in ascending order.
func Distinct[T cmp.Ordered](values []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(values)))
}

// Ranks number the distinct values in ascending order.
func Ranks(values []float64) []float64 {
	_, ranks := ranked[float64, float64](values)
	return ranks
}

// ranked returns the distinct values, and the number among them of each value.
func ranked[T cmp.Ordered, N int32 | float64](values []T) (
	distinct []T, ranks []N) {
	distinct = Distinct(values)
	ranks = make([]N, len(values))
	for i, v := range values {
		k, _ := slices.BinarySearch(distinct, v)
		ranks[i] = N(k)
	}
	return distinct, ranks
}
