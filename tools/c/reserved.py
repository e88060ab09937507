"""The identifiers that C, C++ and the headers of generated files have a meaning for, as tables and patterns.

The headers are ``math.h``, ``stddef.h`` and ``stdint.h``, with what they declare beside the standard; as C++ they bring
``stdlib.h`` along. That nothing is missing is tested against the preprocessor. `library_names.py` has what the rest of
the library calls its own.
"""

from __future__ import annotations

import re
from typing import Final

from scaly_ir.tools.c import library_names

KEYWORDS: Final = frozenset(
    # C99 to C23
    "auto break case char const constexpr continue default do double else enum extern float for goto if inline int "
    "long nullptr register restrict return short signed sizeof static static_assert struct switch thread_local true "
    "false bool typedef typeof typeof_unqual union unsigned void volatile while alignas alignof asm "
    # C++, as which the text compiles too
    "and and_eq bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield compl concept "
    "const_cast consteval constinit decltype delete dynamic_cast explicit export friend mutable namespace new noexcept "
    "not not_eq operator or or_eq private protected public reinterpret_cast requires static_cast template this throw "
    "try typeid typename using virtual wchar_t xor xor_eq "
    # macros that compilers define beside the standard
    "linux unix i386 near far min max interface small huge".split()
)

_MATH: Final = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma "
    "fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan "
    "nearbyint nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc"
).split()
LIBM: Final = frozenset([name + kind for name in _MATH for kind in ("", "f", "l")])
"""The functions that ``math.h`` declares."""

_MORE_MATH: Final = (
    "acospi asinpi atan2pi atanpi canonicalize compoundn cospi drem exp10 exp10m1 exp2m1 finite fmaximum fmaximum_mag "
    "fmaximum_mag_num fmaximum_num fmaxmag fminimum fminimum_mag fminimum_mag_num fminimum_num fminmag fromfp fromfpx "
    "gamma getpayload isinf isnan j0 j1 jn llogb log10p1 log2p1 logp1 nextdown nextup pown powr rootn roundeven rsqrt "
    "scalb setpayload setpayloadsig significand sincos sinpi strfrom strto tanpi totalorder totalordermag ufromfp "
    "ufromfpx y0 y1 yn"
).split()
"""What ``math.h`` declares beyond C99, and ``stdlib.h``, for each floating type."""

LIBRARY: Final = frozenset(
    # math.h
    "fpclassify isfinite isnormal signbit isgreater isgreaterequal isless islessequal islessgreater isunordered "
    "iscanonical iseqsig issignaling issubnormal iszero math_errhandling signgam float_t double_t INFINITY MAXFLOAT "
    "NAN "
    # stddef.h
    "NULL offsetof size_t ptrdiff_t max_align_t nullptr_t std "
    # stdlib.h as C++ sees it, which brings sys/types.h, sys/select.h and endian.h
    "a64l abort abs aligned_alloc alloca arc4random arc4random_buf arc4random_uniform atexit atof atoi atol atoll "
    "bsearch calloc canonicalize_file_name clearenv comparison_fn_t div div_t drand48 ecvt erand48 exit fcvt free "
    "gcvt getenv getloadavg getpt getsubopt grantpt initstate jrand48 l64a labs lcong48 ldiv ldiv_t llabs lldiv "
    "lldiv_t lrand48 malloc mblen mbstowcs mbtowc mkdtemp mkostemp mkostemp64 mkostemps mkostemps64 mkstemp mkstemp64 "
    "mkstemps mkstemps64 mktemp mrand48 nrand48 on_exit posix_memalign posix_openpt pselect ptsname putenv qecvt "
    "qfcvt qgcvt qsort qsort_r quick_exit rand rand_r random realloc reallocarray realpath rpmatch secure_getenv "
    "seed48 select setenv setstate srand srand48 srandom strfromd strtod strtold strtoll strtoq strtoul strtoull "
    "strtouq system unlockpt unsetenv valloc wcstombs wctomb "
    "EXIT_FAILURE EXIT_SUCCESS MB_CUR_MAX RAND_MAX NFDBITS BIG_ENDIAN BYTE_ORDER LITTLE_ENDIAN PDP_ENDIAN "
    "fd_mask fd_set u_char u_int u_long u_short uint ulong ushort "
    "blkcnt64_t blkcnt_t blksize_t caddr_t clock_t clockid_t daddr_t dev_t fsblkcnt64_t fsblkcnt_t fsfilcnt64_t "
    "fsfilcnt_t fsid_t gid_t id_t ino64_t ino_t key_t locale_t loff_t mode_t nlink_t off64_t off_t pid_t quad_t "
    "register_t sigset_t ssize_t suseconds_t time_t timer_t u_quad_t uid_t useconds_t".split()
)
"""What the headers declare beside `LIBM` and what comes in series."""

_FLOATS: Final = r"(?:f|l|f(?:16|32|64|128)x?)?"
_ARITHMETIC: Final = r"(?:add|div|fma|mul|sqrt|sub)"

_is_in_family: Final = re.compile(
    "|".join(
        [
            rf"(?:{'|'.join([*_MATH, *_MORE_MATH])}){_FLOATS}",
            rf"lgamma{_FLOATS}_r|strto{_FLOATS}_l",
            # Arithmetic that is rounded to a narrower type.
            rf"f{_ARITHMETIC}l?|d{_ARITHMETIC}l|f(?:32|64)x?{_ARITHMETIC}f(?:32|64|128)x?",
            r"(?:M|FP|MATH)_\w*|(?:HUGE_VAL|SNAN)\w*",
            r"U?INT\w*_(?:MAX|MIN|WIDTH|C)|(?:SIZE|PTRDIFF|SIG_ATOMIC|WCHAR|WINT)_(?:MAX|MIN|WIDTH)",
            r"u?_?int\w*_t|pthread_\w*",
            r"(?:be|le)(?:16|32|64)toh|hto[bl]e(?:16|32|64)|FD_(?:CLR|ISSET|SET|SETSIZE|ZERO)",
            r"W(?:CONTINUED|EXITED|EXITSTATUS|NOHANG|NOWAIT|STOPPED|STOPSIG|TERMSIG|UNTRACED)",
            r"WIF(?:CONTINUED|EXITED|SIGNALED|STOPPED)",
            r"(?:drand48|ecvt|erand48|fcvt|initstate|jrand48|lcong48|lrand48|mrand48|nrand48|ptsname|qecvt|qfcvt|random)_r",
            r"(?:seed48|setstate|srand48|srandom)_r|strto(?:d|f|l|ld|ll|ul|ull)_l",
        ]
    )
).fullmatch
"""Names that come in series: functions for each floating type, limits and types of integers, macros by prefix."""

is_private: Final = re.compile(r"_[A-Z]|SCALY_|scaly_").match
"""Tells whether an identifier begins as those of compilers, or of the generated text."""


def is_reserved(identifier: str) -> bool:
    """Tell whether the language, its library or the generated text has a meaning for an identifier."""
    if identifier in KEYWORDS or identifier in LIBRARY or identifier in library_names.NAMES:
        return True
    families = (is_private, _is_in_family, library_names.is_in_series)
    return "__" in identifier or any([is_one_of(identifier) is not None for is_one_of in families])
