"""C identifiers: how a name of the IR is spelled, which identifiers are taken, and the one allocator of a scope.

The rule: a character that C does not have becomes ``_``, and what is taken or reserved gets a number, ``x_2``. Exported
symbols never get one; that they are free is for their users to check (`is_reserved`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

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

LIBRARY: Final = LIBM | frozenset(
    "fpclassify isfinite isinf isnan isnormal signbit isgreater isless isunordered signgam gamma drem significand "
    "j0 j1 jn y0 y1 yn exp10 pow10 sincos finite NAN INFINITY HUGE_VAL NULL I offsetof "
    "abort abs atexit atof atoi atol atoll bsearch calloc div exit free getenv labs ldiv llabs lldiv malloc mblen "
    "qsort rand realloc srand strtod strtof strtol strtoul system main memchr memcmp memcpy memmove memset strcat "
    "strchr strcmp strcoll strcpy strcspn strerror strlen strncat strncmp strncpy strpbrk strrchr strspn strstr strtok "
    "clearerr fclose feof ferror fflush fgetc fgets fopen fprintf fputc fputs fread freopen fscanf fseek ftell fwrite "
    "getc getchar gets perror printf putc putchar puts remove rename rewind scanf setbuf snprintf sprintf sscanf "
    "stderr stdin stdout tmpfile ungetc vfprintf vprintf vsnprintf vsprintf assert errno isalnum isalpha isblank "
    "iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit tolower toupper asctime clock ctime "
    "difftime gmtime localtime mktime strftime time raise signal setjmp longjmp bcmp bcopy bzero index rindex ffs "
    "read write open close creal cimag cabs carg conj cproj alloca "
    "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t uintmax_t size_t "
    "ssize_t ptrdiff_t float_t double_t div_t FILE".split()
)
"""What the C library calls its own."""

INTERFACE: Final = frozenset("arg res iw w mem double2".split())
"""What the text of every procedure may use."""

_not_c: Final = re.compile(r"[^A-Za-z0-9_]")
_is_generated: Final = re.compile(r"k[0-9]+").fullmatch
_is_private: Final = re.compile(r"_[A-Z]|SCALY_|scaly_").match


def exported(name: str) -> str:
    """Return the identifier of an exported symbol: no more is changed than C demands."""
    text = _not_c.sub("_", name)
    return text if text[:1] and not text[0].isdigit() else f"_{text}"


def is_reserved(identifier: str) -> bool:
    """Tell whether the language, its library or the generated text has a meaning for an identifier."""
    return identifier in KEYWORDS or identifier in LIBRARY or _is_private(identifier) is not None


def spelled(name: str) -> str:
    """Return the identifier that a name would have if nothing else had it."""
    text = re.sub("__+", "_", exported(name))
    if _is_private(text):
        text = f"x{text}" if text.startswith("_") else f"x_{text}"
    return text


class Names:
    """The identifiers of one scope inside another; `of` gives the identifier of a name of the IR."""

    def __init__(self, outer: Names | None = None, taken: Collection[str] = ()) -> None:
        self.of: dict[str, str] = {}
        self._outer = outer
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def is_taken(self, identifier: str) -> bool:
        """Tell whether an identifier has a meaning here or around here."""
        if identifier in self._taken or (self._outer is not None and self._outer.is_taken(identifier)):
            return True
        return is_reserved(identifier) or identifier in INTERFACE

    def take(self, identifier: str) -> None:
        """Keep an identifier from being given away."""
        self._taken.add(identifier)

    def fresh(self, wanted: str) -> str:
        """Return and take a free identifier: the one wanted, or that with a number."""
        found = wanted
        if self.is_taken(found):
            stem = wanted.rstrip("_") or "x"
            stem = f"x_{stem}" if _is_private(f"{stem}_2") else stem  # a number would not make it free
            number = self._next.get(stem, 2)
            while self.is_taken(found := f"{stem}_{number}"):
                number += 1
            self._next[stem] = number + 1
        self.take(found)
        return found

    def give(self, names: Iterable[tuple[str, bool]]) -> None:
        """Give each name of the IR its identifier; those that need no change come first, so that they keep theirs.

        Each name comes with whether it is that of a table: ``k0``, ``k1``, ... are meant for those.
        """
        changed = []
        for name, is_table in names:
            if name in self.of:
                continue
            if self.is_taken(name) or spelled(name) != name or (_is_generated(name) and not is_table):
                changed.append(name)
            else:
                self.of[name] = self.fresh(name)
        for name in changed:
            if name not in self.of:
                text = spelled(name)
                self.of[name] = self.fresh(f"{text}_2" if _is_generated(text) else text)
