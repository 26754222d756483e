package multitask

// Multitask relationship learning: Omega is learned under a trace constraint.
//
//	sum of losses + Lambda1/2 tr(W Omega^-1 W') subject to tr(Omega) = 1
//	= sum of losses + Lambda1/2 (trace norm of W)^2
//
//	g(Omega)    0 where tr(Omega) <= 1, +Inf elsewhere
//	Omega step  (W'W)^(1/2) / tr (W'W)^(1/2)
//	source      Zhang, Yeung, "A convex formulation for learning task
//	            relationships in multi-task learning", UAI 2010
//
// It is SSNR with r = 1.

func init() { Register(ssnr{name: "mtrl", title: "MTRL", source: "Zhang and Yeung 2010", r: 1}) }
