"""The operators of the `prog` dialect: one table of structural operators, and the shared scalar operators.

Each row gives what a statement, declaration or leaf carries in its attributes; verifier, reader and printer read it
here. Source: program specification 1.3 and 1.4.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from scaly_ir.attributes import Word
from scaly_ir.op import AttrSpec, CallEffectKind, Op
from scaly_ir.prim import declare_elementwise

ADDRESS_SPACES: Final = ("global", "private", "constant", "local")
RANGE_KINDS: Final = ("global", "reduce", "serial", "vector", "unroll")
SCALARIZE_MODES: Final = ("disabled", "procedure", "inline")
LOWERING_HINTS: Final = ("auto", "scalar", "block")

RESERVED_PREFIX: Final = "SCALY_"
"""Names that begin so are int64 symbols that need no declaration (the lane widths)."""

_NAME = AttrSpec((str,), "a name", required=True, printed=False)
_SYMBOL = AttrSpec((str,), "the name of a procedure", required=True, printed=False)
_COUNT = AttrSpec((int,), "an integer of at least 0")
_HIDDEN_COUNT = _COUNT._replace(required=True, printed=False)
_DEVICE = AttrSpec((Word,), "'host'", choices=("host",))
_TRUE = AttrSpec((bool,), "'True'", choices=(True,))


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
            "bare": _TRUE._replace(printed=False),
            "lanes": AttrSpec((int,), "1, 2, 4 or 8", choices=(1, 2, 4, 8)),
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
            "lowering": AttrSpec((str,), '"auto", "scalar" or "block"', choices=LOWERING_HINTS),
            "scalarize_mode": AttrSpec((str,), "a string"),
            "scalarized": _TRUE,
            "sz_w": _COUNT,
            "w_self": _COUNT,
            "hoisted_from": AttrSpec((str,), "a string"),
            "in_place": _TRUE,
        },
        "none",
        doc="A procedure: parameters, then statements.",
    ),
    "buffer": Row(
        {
            "name": _NAME,
            "shape": AttrSpec((tuple,), "a shape", printed=False),
            "address_space": AttrSpec((Word,), "an address space", printed=False),
            "device": _DEVICE._replace(printed=False),
            "values": AttrSpec((tuple,), "a table of numbers", printed=False),
            "elided": _COUNT._replace(printed=False),
            "alias_of": AttrSpec((str,), "the name of a buffer", printed=False),
            "alias_offset": AttrSpec((int,), "an integer", printed=False),
            "workspace_offset": AttrSpec((int,), "an integer", printed=False),
        },
        "any",
        _PURE,
        "A declaration of storage with a shape, an element type and an address space.",
    ),
    "view": Row(
        {"buffer": AttrSpec((str,), "the name of a buffer", printed=False)},
        "any",
        _PURE,
        "A location in a buffer; not a read.",
    ),
    "load": Row({}, "any", CallEffectKind.ReadState, "The value at a view."),
    "store": Row({}, "any", doc="Write one value at a view."),
    "store_pair": Row({}, "any", doc="Write two adjacent float64 elements; both values are computed first."),
    "assign": Row(
        {"target": AttrSpec((str,), "the name of a scalar", printed=False), "declare": _TRUE._replace(choices=())},
        "any",
        doc="Set a scalar variable, which `declare` introduces.",
    ),
    "block": Row({}, "none", doc="A sequence of statements without a text of its own."),
    "range": Row(
        {
            "name": AttrSpec((str,), "the name of a loop variable", printed=False),
            "kind": AttrSpec((Word,), "a loop kind"),
        },
        "int64",
        _PURE,
        "The domain of a loop: start, stop and step.",
    ),
    "for": Row({}, "none", doc="A loop over a range."),
    "call": Row(
        {
            "callee": AttrSpec((str,), "the name of a procedure", printed=False),
            "n_in": _COUNT,
            "n_out": _COUNT,
            "callee_needs_w": AttrSpec((bool,), "'True' or 'False'"),
            "w_self": _COUNT,
        },
        "none",
        doc="Call a procedure on buffers and views: inputs first, then outputs.",
    ),
    "const_int": Row({"value": AttrSpec((int,), "an integer", printed=False)}, "any", _PURE, "An integer constant."),
    "const_float": Row({"value": AttrSpec((float,), "a number", printed=False)}, "any", _PURE, "A float constant."),
    "var": Row({"name": AttrSpec((str,), "a name", printed=False)}, "any", _PURE, "The value of a variable."),
}

ROWS: Final[dict[Op, Row]] = {}
"""The row of each structural operator."""


def _register_structural() -> None:
    for name, row in _ROWS.items():
        op = Op.register(f"prog.{name}", row.doc)
        op.attr_specs = row.attrs
        op.set_attr("TStructural", True)
        op.set_attr("TCallEffectKind", row.effect)
        op.set_attr("TCostClass", "free" if row.effect <= CallEffectKind.ReadState else "expensive")
        ROWS[op] = row


_register_structural()
declare_elementwise("prog")

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

STATEMENTS: Final = frozenset({BUFFER, STORE, STORE_PAIR, ASSIGN, FOR, CALL})
SCALAR_LEAVES: Final = frozenset({CONST_INT, CONST_FLOAT, VAR, LOAD})


def is_scalar(op: Op) -> bool:
    """Tell whether nodes of `op` are scalar values: a leaf, a shared scalar operator or a registered operator."""
    return op in SCALAR_LEAVES or not op.get_attr("TStructural", False)
