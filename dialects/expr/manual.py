"""How operations of `expr` are written, with an example of each: what ``scaly-opt --describe`` shows.

Attributes are not repeated here; they are those of the operators in `ops.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from scaly_ir.dialects.expr import ops
from scaly_ir.manual import Entry, applied, sample_types
from scaly_ir.op import Op


class _Sample(NamedTuple):
    """An application for an example: the types of the inputs, attributes as text, the type of the result."""

    inputs: tuple[str, ...]
    attrs: str
    result: str


_SAMPLES: Final[dict[str, _Sample]] = {
    "input": _Sample(("tensor<4xfloat64>",), "", ""),
    "const": _Sample((), 'lowering="auto", value=[0.5, 1.5]', "tensor<2xfloat64>"),
    "reduce": _Sample(("tensor<2x3xfloat64>",), 'axes=[1], kind="add"', "tensor<2xfloat64>"),
    "reshape": _Sample(("tensor<2x3xfloat64>",), "shape=[6]", "tensor<6xfloat64>"),
    "transpose": _Sample(("tensor<2x3xfloat64>",), "axes=[1, 0]", "tensor<3x2xfloat64>"),
    "slice": _Sample(("tensor<4x3xfloat64>",), "index=[slice(0, 4, 2), 1]", "tensor<2xfloat64>"),
    "gather": _Sample(
        ("tensor<4x3xfloat64>", "tensor<2xint64>"), 'axis=0, fill=0.0, mode="fill"', "tensor<2x3xfloat64>"
    ),
    "scatter": _Sample(
        ("tensor<4xfloat64>", "tensor<2xint64>", "tensor<2xfloat64>"),
        'axis=None, combine="add", mode="fill"',
        "tensor<4xfloat64>",
    ),
    "stack": _Sample(("tensor<3xfloat64>", "tensor<3xfloat64>"), "axis=0", "tensor<2x3xfloat64>"),
    "concat": _Sample(("tensor<2xfloat64>", "tensor<3xfloat64>"), "axis=0", "tensor<5xfloat64>"),
    "matmul": _Sample(("tensor<2x3xfloat64>", "tensor<3xfloat64>"), "", "tensor<2xfloat64>"),
}

_STEP: Final = """\
expr.func @step(%z: tensor<2xfloat64>) -> (%s: tensor<2xfloat64>) {
  %0 = expr.input {lowering="auto", name="z"} : tensor<2xfloat64>
  %1 = expr.sin(%0) : tensor<2xfloat64>
  expr.return %1
}
"""
_FUNCTION: Final = """\
expr.func @f(%x: tensor<2xfloat64>) -> (%y: tensor<2xfloat64>) {{
  %0 = expr.input {{lowering="auto", name="x"}} : tensor<2xfloat64>
  %1 = {operation} : tensor<2xfloat64>
  expr.return %1
}}
"""
_SINE: Final = _FUNCTION.format(operation="expr.sin(%0)")
_LOOP: Final = (
    'expr.loop(%0) {callee="step", cond=None, in_place=[], index=False, length=3, n_carry=1, output=0, '
    "reverse=False, starts=[], strides=[]}"
)


def _fragment(operation: str, sample: _Sample) -> str:
    """Return a text that applies an operation to inputs, with values numbered as printers do it."""
    names = "xyz"
    lines = [
        f'%{place} = expr.input {{lowering="auto", name="{names[place]}"}} : {kind}'
        for place, kind in enumerate(sample.inputs)
    ]
    last = len(lines) - 1
    if sample.result:
        operands = ", ".join([f"%{place}" for place in range(len(sample.inputs))])
        applied_to = f"({operands})" if operands else ""
        attrs = f" {{{sample.attrs}}}" if sample.attrs else ""
        last += 1
        lines.append(f"%{last} = {operation}{applied_to}{attrs} : {sample.result}")
    return "\n".join([*lines, f"expr.return %{last}", ""])


_CONTAINERS: Final[dict[str, Entry]] = {
    "module": Entry(
        ("expr.module { FUNCTION... }",),
        regions="functions, each after those that it calls",
        example="expr.module {\n" + "".join([f"  {line}\n" for line in _SINE.splitlines()]) + "}\n",
    ),
    "func": Entry(
        ("expr.func @NAME(%INPUT: TENSOR, ...) -> (%OUTPUT: TENSOR, ...) { OPERATION... }",),
        regions="operations, then expr.return with a value for each output",
        example=_SINE,
    ),
    "region": Entry(
        ("expr.region @NAME { OPERATION... }",),
        regions="operations, then expr.return",
        example='expr.region @r {\n  %0 = expr.input {lowering="auto", name="x"} : tensor<4xfloat64>\n'
        "  expr.return %0\n}\n",
    ),
    "return": Entry(
        ("expr.return %VALUE, ...",), (("%VALUE...", "the results"),), example=_fragment("", _SAMPLES["input"])
    ),
    "call": Entry(
        ("%NAME = expr.call(%VALUE, ...) {ATTRIBUTES} : TENSOR",),
        (("%VALUE...", "a value for each input of the function"),),
        "the output with the number `output`",
        example=_STEP + _FUNCTION.format(operation='expr.call(%0) {callee="step", output=0}'),
    ),
    "loop": Entry(
        ("%NAME = expr.loop(%VALUE, ...) {ATTRIBUTES} : TENSOR",),
        (("%VALUE...", "first what is carried from step to step, then what each step gets a part of"),),
        "what is carried in the end, the number of steps, or the outputs of all steps",
        "none of its own: `callee` names the body, `cond` the condition",
        example=_STEP + _FUNCTION.format(operation=_LOOP),
    ),
}


def manual(op: Op) -> Entry:
    """Return the entry of an operator of this dialect."""
    if op.mnemonic in _CONTAINERS and op.get_attr("TStructural"):
        return _CONTAINERS[op.mnemonic]
    entry = applied(op, "tensor")
    names = [f"%{name}" for name, _ in entry.operands]
    attrs = " {ATTRIBUTES}" if any([spec.required for spec in (op.attr_specs or {}).values()]) else ""
    syntax = f"%NAME = {op.name}{_listed(names)}{attrs} : TENSOR"
    operands = tuple([(f"%{name}", doc) for name, doc in entry.operands])
    sample = _SAMPLES.get(op.mnemonic) or _elementwise(op)
    example = "" if sample is None else _fragment(op.name, sample)
    return entry._replace(syntax=(syntax,), operands=operands, result=entry.result or "a tensor", example=example)


def _listed(names: Sequence[str]) -> str:
    return f"({', '.join(names)})" if names else ""


def _elementwise(op: Op) -> _Sample | None:
    """Return a sample of an elementwise operator; None for an operator that others registered."""
    if op.name not in ops.OPERATORS:
        return None
    operands, result = sample_types(op)
    return _Sample(tuple([f"tensor<4x{dtype}>" for dtype in operands]), "", f"tensor<4x{result}>")
