"""The operators of the `prog` dialect: one table of structural operators, and the shared scalar operators.

Each row gives what a statement, declaration or leaf carries in its attributes; verifier, reader and printer read it
here. Source: program specification 1.3 and 1.4.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from scaly_ir.attributes import Word
from scaly_ir.op import CallEffectKind, Op
from scaly_ir.prim import declare_elementwise
from scaly_ir.signature import AttrSpec

ADDRESS_SPACES: Final = ("global", "private", "constant", "local")
RANGE_KINDS: Final = ("global", "reduce", "serial", "vector", "unroll")
SCALARIZE_MODES: Final = ("disabled", "procedure", "inline")
LOWERING_HINTS: Final = ("auto", "scalar", "block")

RESERVED_PREFIX: Final = "SCALY_"
"""Names that begin so are int64 symbols that need no declaration (the lane widths)."""

_NAME = AttrSpec(str, words="a name", printed=False)
_SYMBOL = AttrSpec(str, words="the name of a procedure", printed=False)
_COUNT = AttrSpec(int, default=None, least=0)
_HIDDEN_COUNT = AttrSpec(int, least=0, printed=False)
_DEVICE = AttrSpec(Word, default="host", choices=("host",))
_TRUE = AttrSpec(bool, default=False, choices=(True,))


class Row(NamedTuple):
    """What a structural operator is: its attributes, whether nodes have an element type, and its effect."""

    attrs: dict[str, AttrSpec]
    typed: Literal["any", "int64", "none", "number"]
    effect: CallEffectKind = CallEffectKind.UpdateState
    doc: str = ""


_PURE: Final = CallEffectKind.Pure

_ROWS: Final[dict[str, Row]] = {
    "program": Row(
        {
            "proc_count": _HIDDEN_COUNT,
            "bare": _TRUE.but(printed=False),
            "lanes": AttrSpec(int, default=None, choices=(1, 2, 4, 8)),
        },
        "none",
        doc="A module of procedures; the last one is the entry.",
    ),
    "proc": Row(
        {
            "name": _SYMBOL,
            "param_count": _HIDDEN_COUNT,
            "device": _DEVICE,
            "input_count": _COUNT,
            "lowering": AttrSpec(str, default=None, choices=LOWERING_HINTS),
            "scalarize_mode": AttrSpec(str, default=None),
            "scalarized": _TRUE,
            "sz_w": _COUNT,
            "w_self": _COUNT,
            "hoisted_from": AttrSpec(str, default=None),
            "in_place": _TRUE,
        },
        "none",
        doc="A procedure: parameters, then statements.",
    ),
    "buffer": Row(
        {
            "name": _NAME,
            "shape": AttrSpec(tuple, default=None, words="a shape", printed=False),
            "address_space": AttrSpec(Word, default=None, words="an address space", printed=False),
            "device": _DEVICE.but(printed=False),
            "values": AttrSpec(tuple, default=None, words="a table of numbers", printed=False),
            "elided": _COUNT.but(printed=False),
            "alias_of": AttrSpec(str, default=None, words="the name of a buffer", printed=False),
            "alias_offset": AttrSpec(int, default=None, printed=False),
            "workspace_offset": AttrSpec(int, default=None, printed=False),
        },
        "any",
        _PURE,
        "A declaration of storage with a shape, an element type and an address space.",
    ),
    "view": Row(
        {"buffer": AttrSpec(str, default=None, words="the name of a buffer", printed=False)},
        "any",
        _PURE,
        "A location in a buffer; not a read.",
    ),
    "load": Row({}, "any", CallEffectKind.ReadState, "The value at a view."),
    "store": Row({}, "any", doc="Write one value at a view."),
    "store_pair": Row({}, "any", doc="Write two adjacent float64 elements; both values are computed first."),
    "assign": Row(
        {
            "target": AttrSpec(str, default=None, words="the name of a scalar", printed=False),
            "declare": AttrSpec(bool, default=False),
        },
        "any",
        doc="Set a scalar variable, which `declare` introduces.",
    ),
    "block": Row({}, "none", doc="A sequence of statements without a text of its own."),
    "range": Row(
        {
            "name": AttrSpec(str, default=None, words="the name of a loop variable", printed=False),
            "kind": AttrSpec(Word, default=None, words="a loop kind"),
        },
        "int64",
        _PURE,
        "The domain of a loop: start, stop and step.",
    ),
    "for": Row({}, "none", doc="A loop over a range."),
    "call": Row(
        {
            "callee": AttrSpec(str, default=None, words="the name of a procedure", printed=False),
            "n_in": _COUNT,
            "n_out": _COUNT,
            "callee_needs_w": AttrSpec(bool, default=None),
            "w_self": _COUNT,
        },
        "none",
        doc="Call a procedure on buffers and views: inputs first, then outputs.",
    ),
    "const_int": Row({"value": AttrSpec(int, default=None, printed=False)}, "any", _PURE, "An integer constant."),
    "const_float": Row({"value": AttrSpec(float, default=None, printed=False)}, "any", _PURE, "A float constant."),
    "var": Row(
        {"name": AttrSpec(str, default=None, words="a name", printed=False)}, "any", _PURE, "The value of a variable."
    ),
}

ROWS: Final[dict[Op, Row]] = {}
"""The row of each structural operator."""


def _register_structural() -> None:
    for name, row in _ROWS.items():
        op = Op.register(f"prog.{name}", row.doc)
        op.set_signature(var_args="operands", attrs=row.attrs)
        op.set_attr("TStructural", True)
        op.set_attr("TCallEffectKind", row.effect)
        op.set_attr("TCostClass", "free" if row.effect <= CallEffectKind.ReadState else "expensive")
        ROWS[op] = row


_register_structural()
OPERATORS: Final = declare_elementwise("prog")
"""The forms of the shared scalar operators by name, of those that are registered later as well."""

PROGRAM: Final = Op.get("prog.program")
PROC: Final = Op.get("prog.proc")
BUFFER: Final = Op.get("prog.buffer")
VIEW: Final = Op.get("prog.view")
LOAD: Final = Op.get("prog.load")
STORE: Final = Op.get("prog.store")
STORE_PAIR: Final = Op.get("prog.store_pair")
ASSIGN: Final = Op.get("prog.assign")
BLOCK: Final = Op.get("prog.block")
RANGE: Final = Op.get("prog.range")
FOR: Final = Op.get("prog.for")
CALL: Final = Op.get("prog.call")
CONST_INT: Final = Op.get("prog.const_int")
CONST_FLOAT: Final = Op.get("prog.const_float")
VAR: Final = Op.get("prog.var")

PROGRAM.set_attr("TModule", True)
CONST_INT.set_attr("TConst", True)
CONST_FLOAT.set_attr("TConst", True)
VAR.set_attr("TVariable", True)

for _op in (CONST_INT, CONST_FLOAT, VAR, LOAD):
    _op.set_attr("TExpression", True)

STATEMENTS: Final = frozenset({BUFFER, STORE, STORE_PAIR, ASSIGN, FOR, CALL})
SCALAR_LEAVES: Final = frozenset({CONST_INT, CONST_FLOAT, VAR, LOAD})


def is_scalar(op: Op) -> bool:
    """Tell whether nodes of `op` are scalar values: a leaf, a shared scalar operator or a registered operator."""
    return op in SCALAR_LEAVES or not op.get_attr("TStructural", False)


def is_shared(op: Op) -> bool:
    """Tell whether `op` is this dialect's form of a shared scalar operator."""
    return op.name in OPERATORS


def typing_of(op: Op) -> str | None:
    """Return the type rule of this dialect's form of a shared scalar operator; None for any other operator."""
    return op.get_attr("TScalarTyping") if op.name in OPERATORS else None


def may_be_generic(op: Op) -> bool:
    """Tell whether a node of an operation may stand in `prog` text in the generic form."""
    structural = op.get_attr("TStructural") or not op.is_expression or not op.allowed_in("prog")
    return op.dialect == "prog" or not structural
