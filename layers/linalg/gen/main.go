// Command gen writes the vector kernels of package linalg in Go assembly.
//
// A kernel exists for every element type and width in vector registers. That of the
// dense product exists for two instruction sets, AVX2 with FMA and AVX-512F: they add up
// in the same order with fused multiply-adds, so they give the same bits, and AVX-512 is
// faster by a third. The others wait for memory, and AVX2 serves them as well.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// An element is the type of the numbers in a matrix, with its instructions.
type element struct {
	name, goType          string
	shift                 uint64 // log2 of the size in bytes
	load, add, fma, bcast func(...Op)
	maskLoad              func(mem, k, z Op) // AVX-512, zeroing
	maskMove              func(a, mask, b Op)
}

var elements = []element{
	{"F32", "float32", 2, VMOVUPS, VADDPS, VFMADD231PS, VBROADCASTSS, VMOVUPS_Z, VMASKMOVPS},
	{"F64", "float64", 3, VMOVUPD, VADDPD, VFMADD231PD, VBROADCASTSD, VMOVUPD_Z, VMASKMOVPD},
}

func (e element) size() int { return 1 << e.shift }

const widestCSR = 8 // vectors

// A set is an instruction set. A partial vector, the last of a row whose length
// is no multiple of the vector, is loaded and stored under a mask; lanes outside the
// mask are neither read nor written.
type set struct {
	name      string
	bytes     int // in a vector register
	rows      int // of C in a GEMM tile
	broadcast int // registers that hold broadcast entries of A
	vector    func() reg.VecVirtual
	zero      func(v Op)
	masks     func(e element, cols reg.GPVirtual, n int) []Op
	load      func(e element, mem, mask, v Op)
	store     func(e element, v, mask, mem Op)
}

func main() {
	ConstraintExpr("amd64,!noasm")
	narrow := avx2()
	for _, e := range elements {
		for _, s := range []set{narrow, avx512()} {
			for width := 1; width <= 2; width++ {
				gemm(s, e, width)
			}
			copyPanels(s, e)
		}
		for width := 1; width <= widestCSR; width++ {
			csr(narrow, e, width)
		}
	}
	dotMixed(narrow)
	axpyMixed(narrow)
	distance(narrow)
	Generate()
}

func avx512() set {
	return set{
		name: "AVX512", bytes: 64, rows: 12, broadcast: 4,
		vector: ZMM,
		zero:   func(v Op) { VPXORD(v, v, v) },
		// A mask register has a bit per lane: the low cols bits, cut in vectors.
		masks: func(e element, cols reg.GPVirtual, n int) []Op {
			bits := GP64()
			MOVQ(cols, reg.RCX)
			MOVQ(U32(1), bits)
			SHLQ(reg.CL, bits)
			DECQ(bits)
			masks := make([]Op, n)
			for i := range masks {
				k := K()
				KMOVW(bits.As32(), k)
				SHRQ(U8(64/e.size()), bits)
				masks[i] = k
			}
			return masks
		},
		load:  func(e element, mem, mask, v Op) { e.maskLoad(mem, mask, v) },
		store: func(e element, v, mask, mem Op) { e.load(v, mask, mem) },
	}
}

func avx2() set {
	// A vector mask has its sign bits set in the lanes it lets through. Loaded
	// from b bytes before the middle of this table, it lets b bytes through.
	table := GLOBL("lanes", RODATA|NOPTR)
	for i := range 16 {
		if i < 8 {
			DATA(8*i, U64(1<<64-1))
		} else {
			DATA(8*i, U64(0))
		}
	}
	return set{
		name: "AVX2", bytes: 32, rows: 6, broadcast: 2,
		vector: YMM,
		zero:   func(v Op) { VXORPS(v, v, v) },
		masks: func(e element, cols reg.GPVirtual, n int) []Op {
			base := GP64()
			SHLQ(U8(e.shift), cols)
			NEGQ(cols)
			LEAQ(table, base)
			masks := make([]Op, n)
			for i := range masks {
				masks[i] = YMM()
				VMOVUPS(Mem{Base: base, Index: cols, Scale: 1, Disp: 64 + 32*i}, masks[i])
			}
			return masks
		},
		load:  func(e element, mem, mask, v Op) { e.maskMove(mem, mask, v) },
		store: func(e element, v, mask, mem Op) { e.maskMove(v, mask, mem) },
	}
}

// gemm writes the kernel of one tile of C, s.rows rows by width vectors. The
// tile stays in registers while k outer products are added to it.
func gemm(s set, e element, width int) {
	name := fmt.Sprintf("gemm%s%sx%d", e.name, s.name, width)
	begin(name, fmt.Sprintf("func(k int, a *%[1]s, rs, cs int, b, c *%[1]s, ldc, rows, cols int, add bool)", e.goType),
		fmt.Sprintf("%s computes a tile of up to %d x %d entries of C = A B, or adds it to C.", name, s.rows, width*s.bytes/e.size()),
		"Entry (i, p) of A is a[i*rs+p*cs]; B is packed; k, rows and cols are positive.",
	)
	k, b := load("k"), load("b")
	cs := stride(e, "cs")
	rs := stride(e, "rs")
	// Each pointer reaches three rows of A by scaled indexing.
	rows := make([]reg.Register, s.rows/3)
	rows[0] = load("a")
	rs3 := GP64()
	LEAQ(Mem{Base: rs, Index: rs, Scale: 2}, rs3)
	for i := 1; i < len(rows); i++ {
		next := GP64()
		LEAQ(Mem{Base: rows[i-1], Index: rs3, Scale: 1}, next)
		rows[i] = next
	}
	tile := make([][]Op, s.rows)
	for i := range tile {
		tile[i] = vectors(s, width)
		for _, v := range tile[i] {
			s.zero(v)
		}
	}

	panel, broadcast := vectors(s, width), vectors(s, s.broadcast)
	Label("loop")
	for j, v := range panel {
		e.load(past(b, j*s.bytes), v)
	}
	for i, row := range tile {
		entry := Mem{Base: rows[i/3]}
		if i%3 > 0 {
			entry.Index, entry.Scale = rs, uint8(i%3)
		}
		x := broadcast[i%len(broadcast)]
		e.bcast(entry, x)
		for j, v := range row {
			e.fma(panel[j], x, v)
		}
	}
	ADDQ(I32(2*s.bytes), b)
	for _, p := range rows {
		ADDQ(cs, p)
	}
	DECQ(k)
	JNZ(LabelRef("loop"))

	cols := load("cols").(reg.GPVirtual)
	masks := s.masks(e, cols, width)
	c, n := load("c"), load("rows")
	ldc := stride(e, "ldc")
	add := Load(Param("add"), GP8())
	TESTB(add, add)
	JZ(LabelRef("set"))
	store := func(before func(mem, mask, v Op)) {
		for _, row := range tile {
			for j, v := range row {
				mem := past(c, j*s.bytes)
				before(mem, masks[j], v)
				s.store(e, v, masks[j], mem)
			}
			ADDQ(ldc, c)
			DECQ(n)
			JZ(LabelRef("done"))
		}
		JMP(LabelRef("done"))
	}
	old := panel[0] // free now
	store(func(mem, mask, v Op) {
		s.load(e, mem, mask, old)
		e.add(old, v, v)
	})
	Label("set")
	store(func(mem, mask, v Op) {})
	Label("done")
	end()
}

// copyPanels writes the kernel that packs a block of A or B. It reads the block
// row by row: columns of a panel are few, and jumping from row to row would touch
// a page of memory for each few.
func copyPanels(s set, e element) {
	name := fmt.Sprintf("copy%s%s", e.name, s.name)
	begin(name, fmt.Sprintf("func(k int, src *%[1]s, ld int, dst *%[1]s, width, whole, cols int)", e.goType),
		fmt.Sprintf("%s copies k rows of src to panels of width columns, at most %d, and then to", name, 2*s.bytes/e.size()),
		"one that has cols, and zeros after them; k and cols are positive.",
	)
	all := s.masks(e, load("width").(reg.GPVirtual), 2)
	part := s.masks(e, load("cols").(reg.GPVirtual), 2)
	k, src, dst := load("k"), load("src"), load("dst")
	panels := load("whole")
	ld, width := stride(e, "ld"), stride(e, "width")
	panel := GP64()
	MOVQ(k, panel)
	IMULQ(width, panel)
	row := vectors(s, 2)
	from, to, n := GP64(), GP64(), GP64()
	move := func(masks []Op) {
		for j, v := range row {
			s.load(e, past(from, j*s.bytes), masks[j], v)
			s.store(e, v, all[j], past(to, j*s.bytes))
		}
	}
	Label("row")
	MOVQ(src, from)
	MOVQ(dst, to)
	MOVQ(panels, n)
	JMP(LabelRef("test"))
	Label("panel")
	move(all)
	ADDQ(width, from)
	ADDQ(panel, to)
	Label("test")
	DECQ(n)
	JGE(LabelRef("panel"))
	move(part)
	ADDQ(ld, src)
	ADDQ(width, dst)
	DECQ(k)
	JNZ(LabelRef("row"))
	end()
}

// csr writes the kernel that multiplies rows of a sparse matrix by width
// vectors of columns of a dense one.
func csr(s set, e element, width int) {
	name := fmt.Sprintf("csr%sx%d", e.name, width)
	begin(name, fmt.Sprintf("func(rows int, ptr, idx *int32, val, l *%[1]s, ldl int, y *%[1]s, ldy, cols int, add bool)", e.goType),
		fmt.Sprintf("%s computes rows of Y = S L, or adds them to Y, in %d vectors of columns", name, width),
		"of which the last has cols; idx and val begin at entry ptr[0]; rows is positive.",
	)
	last := width - 1
	mask := s.masks(e, load("cols").(reg.GPVirtual), 1)[0]
	rows, ptr := load("rows"), load("ptr")
	idx, val := load("idx"), load("val")
	l, y := load("l"), load("y")
	ldl, ldy := stride(e, "ldl"), stride(e, "ldy")
	add := Load(Param("add"), GP8())
	sum := vectors(s, width)

	Label("row")
	n, begin := GP64(), GP64()
	MOVLQSX(Mem{Base: ptr}, begin)
	ADDQ(I8(4), ptr)
	MOVLQSX(Mem{Base: ptr}, n)
	for _, v := range sum {
		s.zero(v)
	}
	TESTB(add, add)
	JZ(LabelRef("count"))
	for j, v := range sum[:last] {
		e.load(past(y, j*s.bytes), v)
	}
	s.load(e, past(y, last*s.bytes), mask, sum[last])
	Label("count")
	SUBQ(begin, n)
	JZ(LabelRef("store"))

	Label("entry")
	col, x := GP64(), s.vector()
	MOVLQSX(Mem{Base: idx}, col)
	IMULQ(ldl, col)
	e.bcast(Mem{Base: val}, x)
	for j, v := range sum[:last] {
		e.fma(Mem{Base: l, Index: col,
			Scale: 1, Disp: j * s.bytes}, x, v)
	}
	part := s.vector()
	s.load(e,
		Mem{Base: l, Index: col, Scale: 1, Disp: last * s.bytes}, mask, part)
	e.fma(part, x, sum[last])
	ADDQ(I8(4), idx)
	ADDQ(I8(e.size()), val)
	DECQ(n)
	JNZ(LabelRef("entry"))

	Label("store")
	for j, v := range sum[:last] {
		e.load(v, past(y, j*s.bytes))
	}
	s.store(e, sum[last], mask, past(y, last*s.bytes))
	ADDQ(ldy, y)
	DECQ(rows)
	JNZ(LabelRef("row"))
	end()
}

// dotMixed writes the kernel that multiplies float32 with float64 numbers.
func dotMixed(s set) {
	sumKernel(s, "dotMixed", "func(n int, x *float32, y, sum *float64)", "<x, y>", 8, func(x, y Mem, sum Op) {
		wide := s.vector()
		VCVTPS2PD(x, wide)
		VFMADD231PD(y, wide, sum)
	})
}

// distance writes the kernel that adds up how far float32 numbers are apart.
func distance(s set) {
	sumKernel(s, "distance", "func(n int, x, y *float32, sum *float64)", "|x - y|", 4, func(x, y Mem, sum Op) {
		a, b, c := s.vector(), s.vector(), s.vector()
		VCVTPS2PD(x, a)
		VCVTPS2PD(y, b)
		VSUBPD(a, b, c)
		VSUBPD(b, a, a)
		VMAXPD(a, c, c)
		VADDPD(c, sum, sum)
	})
}

// sumKernel writes a kernel that adds up terms of float32 numbers x and of numbers y of some
// bytes, eight at a time. Four sums hide the latency of the additions.
func sumKernel(s set, name, signature, what string, bytes int, term func(x, y Mem, sum Op)) {
	const sums, lanes = 4, 8
	begin(name, signature, fmt.Sprintf("%s sets sum to %d parts of %s: those of the entries with one index modulo %d,", name, lanes, what, lanes),
		fmt.Sprintf("of which n is a multiple. %d entries have sums of their own as long as there are so many.", sums*lanes))
	n, x, y := load("n"), load("x"), load("y")
	width := 8 * lanes / s.bytes // vectors that hold eight
	sum := make([][]Op, sums)
	for i := range sum {
		sum[i] = vectors(s, width)
		for _, v := range sum[i] {
			s.zero(v)
		}
	}
	add := func(count int) {
		for i := range count {
			for j, v := range sum[i] {
				at := (i*width + j) * s.bytes / 8
				term(past(x, 4*at), past(y, bytes*at), v)
			}
		}
		ADDQ(I32(4*lanes*count), x)
		ADDQ(I32(bytes*lanes*count), y)
	}
	Label("block")
	SUBQ(I8(sums*lanes), n)
	JL(LabelRef("rest"))
	add(sums)
	JMP(LabelRef("block"))
	Label("rest")
	ADDQ(I8(sums*lanes), n)
	Label("eight")
	SUBQ(I8(lanes), n)
	JL(LabelRef("done"))
	add(1)
	JMP(LabelRef("eight"))
	Label("done")
	out := load("sum")
	for j := range width {
		VADDPD(sum[1][j], sum[0][j], sum[0][j])
		VADDPD(sum[3][j], sum[2][j], sum[2][j])
		VADDPD(sum[2][j], sum[0][j], sum[0][j])
		VMOVUPD(sum[0][j], past(out, j*s.bytes))
	}
	end()
}

// axpyMixed writes the kernel that adds float32 to float64 numbers, eight at a time.
func axpyMixed(s set) {
	const lanes = 8
	begin("axpyMixed", "func(n int, a float64, x *float32, y *float64)", fmt.Sprintf("axpyMixed adds a x to y; n is a multiple of %d.", lanes))
	n, x, y := load("n"), load("x"), load("y")
	a := s.vector()
	VBROADCASTSD(NewParamAddr("a", 8), a)
	Label("eight")
	SUBQ(I8(lanes), n)
	JL(LabelRef("done"))
	for j := range 8 * lanes / s.bytes {
		wide, sum := s.vector(), s.vector()
		VCVTPS2PD(past(x, j*s.bytes/2), wide)
		VMOVUPD(past(y, j*s.bytes), sum)
		VFMADD231PD(wide, a, sum)
		VMOVUPD(sum, past(y, j*s.bytes))
	}
	ADDQ(I8(4*lanes), x)
	ADDQ(I8(8*lanes), y)
	JMP(LabelRef("eight"))
	Label("done")
	end()
}

// begin begins a kernel.
func begin(name, signature string, lines ...string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(lines...)
}

// end ends a kernel.
func end() {
	VZEROUPPER()
	RET()
}

// past is the memory so many bytes behind a pointer.
func past(base reg.Register, bytes int) Mem { return Mem{Base: base, Disp: bytes} }

// load loads a parameter.
func load(param string) reg.Register { return Load(Param(param), GP64()) }

// stride loads a parameter that counts elements and turns it into bytes.
func stride(e element, param string) reg.Register {
	r := load(param)
	SHLQ(U8(e.shift), r)
	return r
}

func vectors(s set, n int) []Op {
	v := make([]Op, n)
	for i := range v {
		v[i] = s.vector()
	}
	return v
}
