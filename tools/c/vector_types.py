"""Vector types of lanes, and the functions on these that a C file defines: what GNU C has no operator for.

A file has those that it uses. Vectors are passed by value, and in the type with their natural alignment: some compilers
fail on others. Source: lowering specification 5.7.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from string import Template
from typing import Final, NamedTuple

from scaly_ir.graph import Node
from scaly_ir.tools.c import spelling, vector_math
from scaly_ir.tools.c.names import Names, spelled
from scaly_ir.tools.c.vector_math import FUNCTIONS
from scaly_ir.tools.c.widths import LANE_COUNTS, PREFIX
from scaly_ir.types import BOOL

MOST_LANES: Final = LANE_COUNTS[-1]

_TYPES: Final = Template("""\
typedef double $vec __attribute__((vector_size(8 * $width)));
typedef double $mem __attribute__((vector_size(8 * $width), aligned(8), may_alias));
typedef long long $mask __attribute__((vector_size(8 * $width)));
""")

_WITHOUT_WARNING: Final = """\
/* Functions that pass vectors are inlined, so no calling convention matters. */
#if !defined(__clang__) || __clang_major__ >= 12
#pragma GCC diagnostic ignored "-Wpsabi"
#endif
"""

_EACH: Final = "for (long long lane = 0; lane < $width; ++lane)"
_FUNCTIONS: Final[dict[str, tuple[str, str, str]]] = {
    "splat": (
        "$vec",
        "double x",
        f"""\
  double lanes[{MOST_LANES}];
  {_EACH} {{
    lanes[lane] = x;
  }}
  return *(const $mem*)lanes;
""",
    ),
    "all": ("$mask", "int condition", "  $mask none = {0};\n  return none - (long long)(condition != 0);\n"),
    "from": ("$vec", "const double* lanes", "  return *(const $mem*)lanes;\n"),
    "load": (
        "$vec",
        "const double* p, long long valid",
        f"""\
  double lanes[{MOST_LANES}];
  if (valid == $width) {{
    return *(const $mem*)p;
  }}
  {_EACH} {{
    lanes[lane] = p[lane < valid ? lane : valid - 1];
  }}
  return *(const $mem*)lanes;
""",
    ),
    "load_stride": (
        "$vec",
        "const double* p, long long stride, long long valid",
        f"""\
  double lanes[{MOST_LANES}];
  {_EACH} {{
    lanes[lane] = p[stride * (lane < valid ? lane : valid - 1)];
  }}
  return *(const $mem*)lanes;
""",
    ),
    "store": (
        "void",
        "double* p, $vec x, long long valid",
        """\
  if (valid == $width) {
    *($mem*)p = x;
    return;
  }
  for (long long lane = 0; lane < valid; ++lane) {
    p[lane] = x[lane];
  }
""",
    ),
    "store_stride": (
        "void",
        "double* p, long long stride, $vec x, long long valid",
        """\
  for (long long lane = 0; lane < valid; ++lane) {
    p[stride * lane] = x[lane];
  }
""",
    ),
    "abs": ("$vec", "$vec x", "  return ($vec)(($mask)x & 0x7fffffffffffffffLL);\n"),
    "isfinite": (
        "$mask",
        "$vec x",
        "  return ($mask)((($mask)x & 0x7ff0000000000000LL) != 0x7ff0000000000000LL);\n",
    ),
    "select": (
        "$vec",
        "$mask condition, $vec x, $vec y",
        "  return ($vec)((($mask)x & condition) | (($mask)y & ~condition));\n",
    ),
    "select_mask": (
        "$mask",
        "$mask condition, $mask x, $mask y",
        "  return (x & condition) | (y & ~condition);\n",
    ),
}
"""Result, parameters and body by name. Where lanes are loaded, those behind the valid ones repeat the last of these."""


class VectorType(NamedTuple):
    """The types of as many lanes as one width has: `vec` in registers, `mem` in memory, `mask` of truth values."""

    width: str
    stem: str
    vec: str
    mem: str
    mask: str

    def fill(self, text: str) -> str:
        """Return text about vectors in general for this type."""
        return Template(text).substitute(self._asdict())

    def name_of(self, function: str) -> str:
        """Return the name of a function on this type; nothing else may be called so."""
        return f"scaly_{self.stem}_{function}"

    def of(self, scalar: Node) -> str:
        """Return the type of the lanes of a scalar."""
        return self.mask if scalar.type is BOOL else self.vec


@dataclass(slots=True)
class Vectors:
    """The vector types that a file may use, by the macro of their width, and what it does use of them."""

    types: dict[str, VectorType] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    functions: dict[str, str] = field(default_factory=dict)
    math: bool = False
    """Whether functions of the vector math library are called."""
    math_functions: set[str] = field(default_factory=set)
    """Those that are."""

    def name(self, width: str, names: Names) -> None:
        """Choose the identifiers of the types of a width."""
        stem = spelled(f"lanes_{width.removeprefix(PREFIX)}")
        self.types[width] = VectorType(width, stem, *[names.fresh(f"{stem}_{part}") for part in ("vec", "mem", "mask")])

    def type_of(self, width: str) -> VectorType:
        """Return the type for a width; it is used from now on."""
        self.used.add(width)
        return self.types[width]

    def function(self, kind: VectorType, what: str) -> str:
        """Return the name of a function of the table; it is defined from now on."""
        name = kind.name_of(what)
        if name not in self.functions:
            result, params, body = [kind.fill(text) for text in _FUNCTIONS[what]]
            self.functions[name] = _definition(name, result, params, body)
        return name

    def lane_by_lane(self, kind: VectorType, call: Node, found: spelling.Spelling) -> str:
        """Return the name of a function that applies the operator of a call to each lane."""
        operands = [operand.type for operand in call.args]
        what = "_".join([_words(call.op.name), *(["mask"] if call.type is BOOL else [])])
        name = kind.name_of(f"each_{what}")
        params = ", ".join([f"{kind.of(operand)} x{at}" for at, operand in enumerate(call.args)])
        lanes = [f"(x{at}[lane] != 0)" if dtype is BOOL else f"x{at}[lane]" for at, dtype in enumerate(operands)]
        value = "".join([part if isinstance(part, str) else lanes[part] for part in found.plain])
        body = kind.fill(_lane_loop(value, is_mask=call.type is BOOL))
        function = found.function if self.math else ""
        if function in FUNCTIONS and FUNCTIONS[function].arity == len(operands) and BOOL not in [call.type, *operands]:
            self.math_functions.add(function)
            body = vector_math.body(function, kind.width, body)
        while self.functions.setdefault(name, (text := _definition(name, kind.of(call), params, body))) != text:
            name += "_"  # another operator has the same name in C
        return name

    def definitions(self) -> str:
        """Return the definitions of the types that are used."""
        kinds = [self.types[width] for width in sorted(self.used)]
        return "".join([_WITHOUT_WARNING, *[_TYPES.substitute(kind._asdict()) for kind in kinds]]) if kinds else ""


def function_for(text: str, call: Node) -> str:
    """Return the function of the table that the C text of an operator on vectors names; it may have a form for masks.

    `SpellingError` when there is none, or none that takes the operands of the call and gives its result.
    """
    wanted = [_kind(call), *[_kind(operand) for operand in call.args]]
    for name in (text, f"{text}_mask"):
        if name in _FUNCTIONS:
            result, params, _ = _FUNCTIONS[name]
            if [result, *[param.rpartition(" ")[0] for param in params.split(", ")]] == wanted:
                return name
    called = f"the C text of operator '{call.op.name}' on vectors is '{text}'"
    raise spelling.SpellingError(f"{called}, and there is no such function of its operands")


def _kind(scalar: Node) -> str:
    return "$mask" if scalar.type is BOOL else "$vec"


def _lane_loop(value: str, *, is_mask: bool) -> str:
    if is_mask:
        body = f"  $mask lanes = {{0}};\n  {_EACH} {{\n    lanes[lane] = -(long long)({value} != 0);\n  }}\n"
        return f"{body}  return lanes;\n"
    body = f"  double lanes[{MOST_LANES}];\n  {_EACH} {{\n    lanes[lane] = {value};\n  }}\n"
    return f"{body}  return *(const $mem*)lanes;\n"


def _definition(name: str, result: str, params: str, body: str) -> str:
    return f"static inline __attribute__((always_inline)) {result} {name}({params}) {{\n{body}}}\n"


def _words(name: str) -> str:
    return spelled(name.removeprefix("prog.").removeprefix("prim."))
