"""How operations of `prog` are written, with an example of each: what ``scaly-opt --describe`` shows.

Attributes are not repeated here; they are those of the operators in `ops.py`.
"""

from __future__ import annotations

from textwrap import indent
from typing import Final

from scaly_ir.dialects.prog import ops
from scaly_ir.manual import Entry, applied, sample_types
from scaly_ir.op import Op

_VALUE: Final = ("VALUE", "a scalar: a number, the name of a variable, or an operation on scalars")
_PLACE: Final = ("%BUFFER[INDEX]", "a place in a buffer; the index is flat and int64")


def _procedure(*lines: str, params: str = "%x: memref<8xfloat64>, %y: memref<8xfloat64>") -> str:
    return f"prog.proc @example({params}) {{\n{indent(chr(10).join(lines), '  ')}\n}}\n"


_DOUBLE: Final = """\
prog.proc @double(%x: memref<8xfloat64>, %y: memref<8xfloat64>) {input_count=1} {
  prog.for %i = 0 to 8 step 1 {kind=global} {
    prog.store prog.mul(2, prog.load %x[%i]), %y[%i] : float64
  }
}
"""
_STORE_CONSTANT: Final = _procedure("prog.store 0.5, %y[7] : float64")
_STORE_LOAD: Final = _procedure("prog.store prog.load %x[0], %y[7] : float64")
_LOOP: Final = _procedure(
    "prog.for %i = 0 to 8 step 2 {kind=global} {",
    "  prog.store prog.load %x[%i], %y[%i] : float64",
    "}",
)

_ENTRIES: Final[dict[str, Entry]] = {
    "program": Entry(
        ("prog.module {ATTRIBUTES}? { PROCEDURE... }",),
        regions="procedures, each after those that it calls",
        example=f"prog.module {{\n{indent(_DOUBLE, '  ')}}}\n",
        also=("prog.module",),
    ),
    "proc": Entry(
        ("prog.proc @NAME(%PARAMETER: MEMREF, ...) {ATTRIBUTES}? { STATEMENT... }",),
        regions="statements, which may use the parameters",
        example=_DOUBLE,
    ),
    "buffer": Entry(
        (
            "%NAME = prog.buffer : MEMREF",
            "%NAME = prog.buffer : MEMREF = prog.alias %BUFFER offset INTEGER",
            "%NAME = prog.buffer : MEMREF = prog.workspace offset INTEGER",
            "%NAME = prog.buffer : MEMREF = dense<[NUMBER, ...]>",
        ),
        result="storage, or another name for storage; with `dense`, a constant table",
        example=_procedure(
            "%t = prog.buffer : memref<2x4xfloat64, private>",
            "%row = prog.buffer : memref<4xfloat64, private> = prog.alias %t offset 4",
            "%k = prog.buffer : memref<2xfloat64, constant> = dense<[0.5, 1.5]>",
            "prog.store prog.load %k[1], %row[0] : float64",
            "prog.store prog.load %t[4], %y[0] : float64",
        ),
        also=("prog.alias", "prog.workspace"),
    ),
    "view": Entry(
        ("%BUFFER[INDEX]",),
        (("INDEX", "a scalar of int64, row-major over the shape"),),
        "a place in a buffer",
        example=_STORE_LOAD,
    ),
    "load": Entry(("prog.load %BUFFER[INDEX]",), (_PLACE,), "the element there", example=_STORE_LOAD),
    "store": Entry(("prog.store VALUE, %BUFFER[INDEX] : DTYPE",), (_VALUE, _PLACE), example=_STORE_CONSTANT),
    "store_pair": Entry(
        ("prog.store_pair VALUE, VALUE, %BUFFER[INDEX] : float64",),
        (_VALUE, ("VALUE", "the same for the next element"), _PLACE),
        example=_procedure("prog.store_pair prog.load %x[1], prog.load %x[0], %y[0] : float64"),
    ),
    "assign": Entry(
        ("%NAME = prog.assign VALUE : DTYPE {declare=True}?",),
        (_VALUE,),
        "a variable; `declare=True` where it is new",
        example=_procedure(
            "%s = prog.assign 0 : float64 {declare=True}",
            "prog.for %i = 0 to 8 step 1 {kind=reduce} {",
            "  %s = prog.assign prog.add(%s, prog.load %x[%i]) : float64",
            "}",
            "prog.store %s, %y[0] : float64",
        ),
    ),
    "block": Entry(
        ("STATEMENT...",),
        regions="statements without a procedure: a file of them is a fragment",
        example="prog.store 1, %y[0] : float64\n",
    ),
    "range": Entry(
        ("%NAME = START to STOP step STEP {kind=KIND}",),
        (("START", "a scalar of int64"), ("STOP", "the first value that is too large"), ("STEP", "at least 1")),
        "the int64 loop variable",
        example=_LOOP,
    ),
    "for": Entry(
        ("prog.for %NAME = START to STOP step STEP {kind=KIND} { STATEMENT... }",),
        (("START", "a scalar of int64"), ("STOP", "the first value that is too large"), ("STEP", "at least 1")),
        regions="statements, which may use %NAME, an int64",
        example=_LOOP,
    ),
    "call": Entry(
        ("prog.call @NAME(ARGUMENT, ...) {ATTRIBUTES}?",),
        (("ARGUMENT", "%BUFFER, or %BUFFER[INDEX] for what begins there; inputs first, then outputs"),),
        example=f"{_DOUBLE}{_procedure('prog.call @double(%x, %y) {n_in=1, n_out=1}')}",
    ),
    "const_int": Entry(
        ("INTEGER", "prog.const(INTEGER, DTYPE)"),
        result="a scalar of the type that fits its place, or of DTYPE",
        example=_procedure("prog.store prog.cast(prog.const(2, int32), float64), %y[0] : float64"),
        also=("prog.const",),
    ),
    "const_float": Entry(
        ("NUMBER", "prog.const(NUMBER, DTYPE)"),
        result="a scalar of the type that fits its place, or of DTYPE",
        example=_STORE_CONSTANT,
    ),
    "var": Entry(("%NAME",), result="the value of a scalar or of a loop variable", example=_LOOP),
}


def manual(op: Op) -> Entry:
    """Return the entry of an operator of this dialect."""
    own = _ENTRIES.get(op.mnemonic) if op in ops.ROWS else None
    return own or _scalar(op)


def _scalar(op: Op) -> Entry:
    """Return the entry of a scalar operator."""
    entry = applied(op)
    typing = ops.typing_of(op)
    if typing is None:
        return entry
    types, result = sample_types(op)
    operands = [f"prog.load %x[{place}]" for place in range(len(types))]
    if typing == "select":
        operands[0] = "prog.lt(prog.load %x[0], 1)"
    elif typing == "cast":
        operands.append(result)
        entry = entry._replace(syntax=("prog.cast(x, DTYPE)",))
    text = f"prog.store {op.name}({', '.join(operands)}), %r[0] : {result}"
    params = f"%x: memref<8x{types[-1]}>, %r: memref<8x{result}>"
    return entry._replace(example=_procedure(text, params=params))
