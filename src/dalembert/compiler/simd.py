"""Sine and cosine together, of several arguments at once in vector registers.

Cody & Waite (Software Manual for the Elementary Functions, 1980, ch. 8): with k = round(2|x|/π),

    r = |x| − k π/2,    π/2 = P1 + P2 + P3 (+ P4),    |r| ≤ π/4,

the first difference exact and the sum of the parts good to 150 bits, since up to 60 bits cancel beside
multiples of π/2. Processors with fused multiply-add take three parts of 53 bits: |x| − k P1 is a multiple of 2⁻⁵³ below
one, so it needs no rounding. The others take parts of 33 bits, so that k Pi is exact for k < 2²⁰. Then

    sin r = r + r³ S(r²),    cos r = 1 − r²/2 + r⁴ C(r²)

with the minimax polynomials of fdlibm (Sun Microsystems 1993, k_sin.c and k_cos.c, error < 2⁻⁵⁸) in
pairs, the rounding of 1 − r²/2 put back, and the quadrant k mod 4 exchanges and negates the two.
sin(−x) = −sin(x) holds exactly.

Beyond |x| = 10⁵, and for infinities and NaN, the C library computes sine and cosine: a branch not taken
in ordinary use, inside the function, so that the code calling it stays one block. It comes first, for then
the rest needs no register for |x|.
"""

from __future__ import annotations

from .ir import splat

LIMIT = 1.0e5
_SIN = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_COS = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
_HALF_PI_53 = tuple(map(float.fromhex, ("0x1.921fb54442d18p0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110")))
_HALF_PI_33 = (
    1.57079632673412561417e00,
    6.07710050630396597660e-11,
    2.02226624871116645580e-21,
    8.47842766036889956997e-32,
)
_MAGIC = 6755399441055744.0  # 1.5·2⁵²: adding it rounds to an integer, left in the low bits
_SIGN = -(1 << 63)


def sincos_ir(width: int, fused: bool) -> str:
    """LLVM IR of `void sincos_<width>(<width x double> x, ptr sine, ptr cosine)`; `fused`: the target has FMA."""
    return _Sincos(width, fused).text()


class _Sincos:
    """Writes the vector code; V, I and B stand for the vector types of doubles, integers and bits."""

    def __init__(self, width: int, fused: bool) -> None:
        self.n = width
        self.types = {"V": f"<{width} x double>", "I": f"<{width} x i64>", "B": f"<{width} x i1>"}
        self.half_pi = _HALF_PI_53 if fused else _HALF_PI_33
        self.lines: list[str] = []

    def op(self, operation: str, *operands: str) -> str:
        """Append `operation` (its last word a type) on operands, return the name of its result."""
        name = f"%t{len(self.lines)}"
        words = [self.types.get(word, word) for word in operation.split()]
        self.lines.append(f"  {name} = {' '.join(words)} {', '.join(operands)}")
        return name

    def c(self, value: float) -> str:
        return splat(value, self.n)

    def i(self, value: int) -> str:
        return "<" + ", ".join([f"i64 {value}"] * self.n) + ">"

    def cast(self, value: str, kind: str, to: str) -> str:
        return self.op(f"bitcast {kind}", f"{value} to {self.types[to]}")

    def muladd(self, a: str, b: str, c: str) -> str:
        v = self.types["V"]
        return self.op("call V", f"@llvm.fmuladd.v{self.n}f64({v} {a}, {v} {b}, {v} {c})")

    def poly(self, z: str, z2: str, c: tuple[float, ...]) -> str:
        """(c0 + c1 z) + z² ((c2 + c3 z) + z² (c4 + c5 z)): three operations deep instead of five."""
        pairs = [self.muladd(self.c(high), z, self.c(low)) for low, high in zip(c[::2], c[1::2])]
        return self.muladd(self.muladd(pairs[2], z2, pairs[1]), z2, pairs[0])

    def text(self) -> str:
        op, muladd, c, i = self.op, self.muladd, self.c, self.i
        v = self.types["V"]
        x = op("call V", f"@llvm.fabs.v{self.n}f64({v} %x)")
        large = op("fcmp ugt V", x, c(LIMIT))
        any_large = op(f"icmp ne i{self.n}", op("bitcast B", f"{large} to i{self.n}"), "0")
        self.lines.append(f"  br i1 {any_large}, label %cold, label %ordinary\nordinary:")
        shifted = muladd(x, c(0.63661977236758134308), c(_MAGIC))
        minus_k = op("fsub V", c(_MAGIC), shifted)
        r = x
        for part in self.half_pi:
            r = muladd(minus_k, c(part), r)
        z = op("fmul V", r, r)
        z2 = op("fmul V", z, z)
        sine = muladd(op("fmul V", z, r), self.poly(z, z2, _SIN), r)
        w = muladd(z, c(-0.5), c(1.0))
        lost = muladd(z, c(-0.5), op("fsub V", c(1.0), w))
        cosine = op("fadd V", w, muladd(z2, self.poly(z, z2, _COS), lost))
        # quadrant: odd k exchanges the two; bit 1 of k negates the sine, bits 0 and 1 together the cosine
        k = self.cast(shifted, "V", "I")
        bit0, bit1 = op("shl I", k, i(63)), op("shl I", k, i(62))
        odd = op("icmp slt I", bit0, i(0))
        sign_s = op("and I", op("xor I", self.cast("%x", "V", "I"), bit1), i(_SIGN))
        sign_c = op("and I", op("xor I", bit0, bit1), i(_SIGN))
        for target, even, other, sign in (("%sine", sine, cosine, sign_s), ("%cosine", cosine, sine, sign_c)):
            value = op("select B", odd, f"{v} {other}", f"{v} {even}")
            value = op("xor I", self.cast(value, "V", "I"), sign)
            self.lines.append(f"  store {self.types['I']} {value}, ptr {target}, align 8")
        return _TEMPLATE.format(n=self.n, body="\n".join(self.lines), large=large)


_TEMPLATE = """
define internal void @sincos_{n}(<{n} x double> %x, ptr noalias %sine, ptr noalias %cosine) nounwind "stackrealign" {{
{body}
  ret void
cold:
  call void @sincos_large_{n}(<{n} x double> %x, <{n} x i1> {large}, ptr %sine, ptr %cosine)
  ret void
}}
define internal void @sincos_large_{n}(<{n} x double> %x, <{n} x i1> %large, ptr %sine, ptr %cosine) cold nounwind {{
start:
  %rest = select <{n} x i1> %large, <{n} x double> zeroinitializer, <{n} x double> %x
  call void @sincos_{n}(<{n} x double> %rest, ptr %sine, ptr %cosine)
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %step ]
  %is.large = extractelement <{n} x i1> %large, i64 %i
  br i1 %is.large, label %call, label %step
call:
  %a = extractelement <{n} x double> %x, i64 %i
  %s = call double @sin(double %a)
  %c = call double @cos(double %a)
  %ps = getelementptr double, ptr %sine, i64 %i
  %pc = getelementptr double, ptr %cosine, i64 %i
  store double %s, ptr %ps, align 8
  store double %c, ptr %pc, align 8
  br label %step
step:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {n}
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
