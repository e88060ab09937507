"""The operations of `expr` as an enumeration. Source: expression specification 3.2."""

from __future__ import annotations

from enum import StrEnum

from scaly_ir.op import Op


class ExprOp(StrEnum):
    """The operations, by name; a member equals its text, and the operator that it names."""

    def __eq__(self, other: object) -> bool:
        named = other.mnemonic if isinstance(other, Op) and other.dialect == "expr" else other
        return str.__eq__(self, named)

    def __hash__(self) -> int:
        return str.__hash__(self)

    INPUT = "input"
    CONST = "const"
    NEG = "neg"
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    POW = "pow"
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    ASIN = "asin"
    ACOS = "acos"
    ATAN = "atan"
    ATAN2 = "atan2"
    SINH = "sinh"
    COSH = "cosh"
    TANH = "tanh"
    ERF = "erf"
    EXP = "exp"
    LOG = "log"
    SQRT = "sqrt"
    ABS = "abs"
    FLOOR = "floor"
    CEIL = "ceil"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    LT = "lt"
    LE = "le"
    EQ = "eq"
    NE = "ne"
    ISFINITE = "isfinite"
    AND = "and"
    OR = "or"
    NOT = "not"
    SELECT = "select"
    CAST = "cast"
    FLOORDIV = "floordiv"
    MOD = "mod"
    REDUCE = "reduce"
    RESHAPE = "reshape"
    TRANSPOSE = "transpose"
    SLICE = "slice"
    GATHER = "gather"
    SCATTER = "scatter"
    STACK = "stack"
    CONCAT = "concat"
    MATMUL = "matmul"
    CALL = "call"
    LOOP = "loop"
