#if HAS_SINGLE
#define SQRT(x) sqrtf(x)
#define ABS(x) fabsf(x)
#define POW(x, y) powf((x), (y))
#define FINITE(x) (((x) - (x)) == 0.0F)
#define NUMBER(x) x##F
#else
#define SQRT(x) sqrt(x)
#define ABS(x) fabs(x)
#define POW(x, y) pow((x), (y))
#define FINITE(x) (((x) - (x)) == 0.0)
#define NUMBER(x) x
#endif

/* a b + c: with one rounding where the processor has an instruction for it, else with two. */
#if HAS_SINGLE
#if defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA) || (defined(__riscv_flen) && __riscv_flen >= 32)
#define FUSED 1
#define FMA(a, b, c) fmaf((a), (b), (c))
#endif
#else
#if defined(FP_FAST_FMA) || defined(__FMA__) || (defined(__riscv_flen) && __riscv_flen >= 64) || \
    (defined(__ARM_FEATURE_FMA) && defined(__ARM_FP) && (__ARM_FP & 8))
#define FUSED 1
#define FMA(a, b, c) fma((a), (b), (c))
#endif
#endif
#if !defined(FUSED)
#define FUSED 0
#define FMA(a, b, c) ((a) * (b) + (c))
#endif
#if defined(__GNUC__)
#define UNUSED __attribute__((unused))
#else
#define UNUSED
#endif

#if HAS_SINGLE
/* Sine and cosine of an angle. */
UNUSED static void turn(real x, real *sine, real *cosine)
{
    *sine = sinf(x);
    *cosine = cosf(x);
}
#else
/* Sine and cosine of an angle: reduced to |r| <= pi/4 by parts of pi/2, then two polynomials. The same operations as in
   dalembert's kernels, so that results do not depend on a C library. Large angles and numbers that are not finite go to
   the library, and so do machines that compute with more than a double's precision. */
UNUSED static void turn(real x, real *sine, real *cosine)
{
#if (defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0) || defined(__FAST_MATH__)
    *sine = sin(x);
    *cosine = cos(x);
#else
    const real magic = 6755399441055744.0; /* 1.5 2^52: adding it rounds to a whole number */
    const real size = fabs(x);
    if (!(size <= 1.0e5)) {
        *sine = sin(x);
        *cosine = cos(x);
    } else {
        const real shifted = FMA(size, 0.63661977236758134308, magic);
        const real minus = magic - shifted;
        const long quadrant = (long)(-minus) & 3L;
#if FUSED
        const real r = FMA(minus, -1.4973849048591698e-33,
                           FMA(minus, 6.123233995736766e-17, FMA(minus, 1.5707963267948966, size)));
#else
        const real r = size + minus * 1.57079632673412561417e+00 + minus * 6.07710050630396597660e-11
                     + minus * 2.02226624871116645580e-21 + minus * 8.47842766036889956997e-32;
#endif
        const real z = r * r, z2 = z * z;
        const real s0 = FMA(8.33333333332248946124e-03, z, -1.66666666666666324348e-01);
        const real s1 = FMA(2.75573137070700676789e-06, z, -1.98412698298579493134e-04);
        const real s2 = FMA(1.58969099521155010221e-10, z, -2.50507602534068634195e-08);
        const real c0 = FMA(-1.38888888888741095749e-03, z, 4.16666666666666019037e-02);
        const real c1 = FMA(-2.75573143513906633035e-07, z, 2.48015872894767294178e-05);
        const real c2 = FMA(-1.13596475577881948265e-11, z, 2.08757232129817482790e-09);
        const real s = FMA(z * r, FMA(FMA(s2, z2, s1), z2, s0), r);
        const real one = FMA(z, -0.5, 1.0);
        const real lost = FMA(z, -0.5, 1.0 - one);
        const real c = one + FMA(z2, FMA(FMA(c2, z2, c1), z2, c0), lost);
        const real a = (quadrant & 1L) ? c : s, b = (quadrant & 1L) ? s : c;
        const int down = (quadrant & 2L) != 0L, left = (quadrant == 1L) || (quadrant == 2L);
        *sine = (down != (signbit(x) != 0)) ? -a : a;
        *cosine = left ? -b : b;
    }
#endif
}
#endif

UNUSED static void clear(real *y, int start, int stop)
{
    for (int i = start; i < stop; ++i) {
        y[i] = NUMBER(0.0);
    }
}
