package linalg

// CSRGram adds the lower triangle of S Sᵀ, which is symmetric, to A. It wants the
// transpose of S beside it, whose columns ascend within every row.
func CSRGram[T Float](s, transposed *CSR[T], a []T, lda int) {
	operand("A", NoTrans, s.Rows(), s.Rows(), a, lda)
	for i := range s.Rows() {
		row := a[i*lda:][:i+1]
		for p := s.ptr[i]; p < s.ptr[i+1]; p++ {
			j, v := s.idx[p], s.val[p]
			lo, hi := transposed.ptr[j], transposed.ptr[j+1]
			value := transposed.val[lo:hi]
			for q, k := range transposed.idx[lo:hi] {
				if int(k) > i {
					break
				}
				row[k] += v * value[q]
			}
		}
	}
}
