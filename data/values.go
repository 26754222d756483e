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
	distinct := Distinct(values)
	ranks := make([]float64, len(values))
	for i, v := range values {
		k, _ := slices.BinarySearch(distinct, v)
		ranks[i] = float64(k)
	}
	return ranks
}
