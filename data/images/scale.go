package images

import (
	"image"
	"math"
)

// Pictures are scaled as Pillow does with its bilinear filter, and so
// torchvision, to the last bit: a triangle as wide as two pixels of the coarser
// picture, in fixed point, first along the rows and then along the columns, with
// the pixels rounded in between.

const (
	colours = 3
	// fractionBits is the precision of the weights of pixels.
	fractionBits = 22
)

// scaled returns the middle, side x side pixels, of a picture whose shorter side
// is scaled to short.
func scaled(picture image.Image, short, side int) []byte {
	width := picture.Bounds().Dx()
	height := picture.Bounds().Dy()
	columns := middle(width, scaledLength(width, height, short), side)
	rows := middle(height, scaledLength(height, width, short), side)
	top := rows[0].first
	end := rows[side-1].first + len(rows[side-1].weight)

	// The rows that the result depends on, scaled along the rows alone.
	narrow := make([]byte, (end-top)*side*colours)
	row := make([]byte, width*colours)
	for y := top; y < end; y++ {
		readRow(picture, y, row)
		for x, s := range columns {
			s.average(row[s.first*colours:], colours,
				narrow[((y-top)*side+x)*colours:])
		}
	}
	result := make([]byte, side*side*colours)
	for y, s := range rows {
		for x := range side {
			s.average(narrow[((s.first-top)*side+x)*colours:], side*colours,
				result[(y*side+x)*colours:])
		}
	}
	return result
}

// scaledLength is the new length of a side when the shorter of the two sides
// becomes short.
func scaledLength(side, across, short int) int {
	if side <= across {
		return short
	}
	return int(float64(short) * float64(side) / float64(across))
}

// A span is the pixels of the source that a pixel of the result depends on, with
// their weights.
type span struct {
	first  int
	weight []int32
}

// middle returns the spans of the n pixels in the middle of to, scaled from a
// length of from.
func middle(from, to, n int) []span {
	spans := make([]span, n)
	start := int(math.RoundToEven(float64(to-n) / 2)) // as Python rounds
	scale := float64(from) / float64(to)
	for i := range spans {
		spans[i] = spanOf(float64(start+i), scale, from)
	}
	return spans
}

func spanOf(pixel, scale float64, length int) span {
	reach := max(scale, 1)
	centre := (pixel + 0.5) * scale
	first := max(0, int(centre-reach+0.5))
	end := min(length, int(centre+reach+0.5))
	weight := make([]float64, end-first)
	total := 0.0
	for i := range weight {
		distance := (float64(first+i) - centre + 0.5) * (1 / reach)
		weight[i] = max(0, 1-math.Abs(distance))
		total += weight[i]
	}
	s := span{first, make([]int32, len(weight))}
	for i, w := range weight {
		s.weight[i] = int32(0.5 + w/total*(1<<fractionBits))
	}
	return s
}

// average sets the pixel dst to the weighted mean of the pixels of src, each
// stride bytes after the other.
func (s span) average(src []byte, stride int, dst []byte) {
	const half = 1 << (fractionBits - 1)
	for colour := range colours {
		sum := half
		for i, w := range s.weight {
			sum += int(src[i*stride+colour]) * int(w)
		}
		dst[colour] = byte(min(255, sum>>fractionBits))
	}
}
