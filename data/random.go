package data

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Stream returns the random stream of one purpose and item under a seed. Work
// that draws from a stream of its own does not depend on what ran before it or
// beside it, so results are the same for any number of workers.
func Stream(seed uint64, purpose string, item ...uint64) *rand.Rand {
	h := sha256.New()
	numbers := append([]uint64{seed, uint64(len(purpose))}, item...)
	_ = binary.Write(h, binary.LittleEndian, numbers) // a hash has no errors
	h.Write([]byte(purpose))
	sum := h.Sum(nil)
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum),
		binary.LittleEndian.Uint64(sum[8:])))
}
