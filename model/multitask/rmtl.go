package multitask

// Regularised multitask learning: tasks pull each other's weights together.
//
//	sum of losses + Lambda1/2 tr(W (L + eps I) W')
//
//	g(Omega)    0 at (L + eps I)^-1, +Inf elsewhere
//	Omega step  (L + eps I)^-1 = (I + 11'/eps) / (m + eps)
//	source      Evgeniou, Pontil, "Regularized multi-task learning", KDD 2004
//
// L is the Laplacian of tasks that are all equally similar, m I - 11', so that
// tr(W L W') = 1/2 sum_ij ||w_i - w_j||^2. L has no inverse; eps > 0, a
// hyperparameter, stands for how much a task may differ from the rest.

import "gonum.org/v1/gonum/mat"

func init() {
	Register(held{
		info: Info{
			Name: "rmtl", Title: "RMTL",
			Ranges: []Range{lambda1Range, {"eps", 0.1, 1e-2, 10}},
		},
		omega: func(m int, p Params) *mat.SymDense {
			eps := p.Get("eps")
			share := 1 / (float64(m) + eps)
			omega := identity(m, share+share/eps)
			for i := range m {
				for j := range i {
					omega.SetSym(i, j, share/eps)
				}
			}
			return omega
		},
	})
}
