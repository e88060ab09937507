"""Folding keeps every bit, shares no storage that is written to, and takes linear time.

The golden files in `testdata/passes/normalize_matrix` show what comes out, rule by rule; here they are run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.graph import Node
from scaly_ir.op import CallEffectKind, registry_scope
from scaly_ir.passes.matrix.normalize_matrix import NormalizeMatrix
from tests.counting import calls_of
from tests.passes.matrix.golden_files import functions_of
from tests.passes.matrix.meaning import keeps_meaning
from tests.passes.matrix.programs import NUMBERS, modules

normalize = NormalizeMatrix().run
GOLDEN = functions_of("normalize_matrix")


def _module(text: str) -> Node:
    module: Node = sc.parse(text)
    sc.verify(module)
    return module


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_programs_keep_their_meaning(path: Path) -> None:
    module = _module(path.read_text(encoding="utf-8"))
    result = keeps_meaning(module, normalize)
    assert (result is module) == path.stem.startswith("keep_")


@settings(max_examples=max(200, settings().max_examples))
@given(modules())
def test_keeps_the_meaning_of_random_programs(module: Node) -> None:
    keeps_meaning(module, normalize)


# --- constants --------------------------------------------------------------------------------------------------------


def _left_fold(term: Any, count: int) -> Any:
    """Add a NumPy scalar to 0 `count` times."""
    total = type(term)(0)
    with np.errstate(all="ignore"):
        for _ in range(count):
            total = type(term)(total + term)
    return total


@settings(max_examples=max(100, settings().max_examples))
@given(st.data(), st.sampled_from(sorted(NUMBERS)), st.integers(0, 40))
def test_sums_and_products_of_constants_are_those_of_numpy(data: st.DataObject, dtype: str, count: int) -> None:
    numbers = st.sampled_from([number for number in NUMBERS[dtype] if "n" not in number])
    if dtype.startswith("float"):
        numbers |= st.floats(-9, 9, width=32).map(repr)
    a, b = data.draw(numbers), data.draw(numbers)
    module = _module(f"""buffer.func @f() -> (%x: {dtype}, %y: {dtype}) {{
  %a = buffer.constant({a}) : memref<2x{count}x{dtype}>
  %b = buffer.constant({b}) : memref<{count}x3x{dtype}>
  %c = matrix.prod(%a, %b) : memref<2x3x{dtype}>
  %0 = buffer.read %c[1, 2] : {dtype}
  %1 = matrix.sum(%a) : {dtype}
  buffer.return %0, %1
}}""")
    (function,) = normalize(module).args
    product, total = [value.attrs["value"] for value in build.body_of(function.args[-1])[-1].args]
    kind = np.dtype(dtype).type
    with np.errstate(all="ignore"):
        left, right = (kind(float(a)), kind(float(b))) if kind(0.5) else (kind(int(a)), kind(int(b)))
        wanted = _left_fold(kind(left * right), count), _left_fold(left, 2 * count)
    assert kind(product).tobytes() == wanted[0].tobytes()
    assert kind(total).tobytes() == wanted[1].tobytes()


def test_a_value_that_must_not_be_read_is_in_no_constant() -> None:
    module = sc.parse("""buffer.func @f(%A: memref<2xfloat64>) -> (%X: memref<2xfloat64>) {
  %0 = matrix.map_reduce(%A) init(undef) {indices=[[0]]} : memref<2xfloat64> {
  ^comb(%acc: float64, %a: float64):
    matrix.yield %acc
  }
  buffer.return %0
}
""")
    assert normalize(module) is module  # the verifier refuses it, but a pass may run without one


# --- operators of others ----------------------------------------------------------------------------------------------


def _fold_reverse(call: Node, consts: Sequence[Any]) -> Node | None:
    (operand,) = call.args
    if consts[0] is not None:
        return operand
    return operand.args[0] if operand.op is call.op else None


def _register_reverse() -> None:
    op = ops.declare("ext.reverse", "The elements in reverse order.", {"A": "memref"}, "memref", fresh=True)
    op.set_attr("FFold", _fold_reverse)
    op.set_attr("FInferType", lambda call: call.args[0].type)


REVERSED = """buffer.func @f(%A: memref<3xfloat64>) -> (%X: memref<3xfloat64>, %Y: memref<3xfloat64>) {
  %p = ext.reverse(%A) : memref<3xfloat64>
  %q = ext.reverse(%p) : memref<3xfloat64>
  %c = buffer.constant(1) : memref<3xfloat64>
  %d = ext.reverse(%c) : memref<3xfloat64>
  buffer.return %q, %d
}
"""


@pytest.mark.parametrize(
    ("written", "returned"), [("", "%A, %c"), ("p", "%q, %c"), ("q", "%q, %c"), ("c", "%A, %d"), ("d", "%A, %d")]
)
def test_operators_of_others_fold_unless_storage_is_written(written: str, returned: str) -> None:
    with registry_scope():
        _register_reverse()
        write = f"  buffer.write 5, %{written}[0] : float64\n" if written else ""
        module = _module(REVERSED.replace("  buffer.return", f"{write}  buffer.return"))
        assert sc.render(normalize(module)).endswith(f"  buffer.return {returned}\n}}\n")


def _with_body(module: Node, statements: Sequence[Node]) -> Node:
    """Return a module of one function with other statements."""
    (function,) = module.args
    return build.module([function.replace(args=[*function.args[:-1], build.with_body(function.args[-1], statements)])])


def test_operators_of_others_that_write_count_as_writes() -> None:
    with registry_scope():
        effect = CallEffectKind.UpdateState
        op = ops.declare("ext.clear", "All elements become 0.", {"A": "memref"}, None, effect=effect)
        module = _module("""buffer.func @f(%A: memref<2x3xfloat64>) -> (%X: memref<2x3xfloat64>) {
  %0 = matrix.transpose(%A) : memref<3x2xfloat64>
  %1 = matrix.transpose(%0) : memref<2x3xfloat64>
  buffer.return %1
}
""")
        first, second, returned = build.body_of(module.args[0].args[-1])
        cleared = _with_body(module, [first, second, build.statement(op, returned.args), returned])
        assert normalize(cleared) is cleared
        assert normalize(module) is not module


def test_a_fold_to_another_type_is_not_taken() -> None:
    with registry_scope():
        op = ops.declare("ext.flat", "The elements in a row.", {"A": "memref"}, "memref", fresh=True)
        op.set_attr("FFold", lambda call, consts: call.args[0])
        head = "buffer.func @f(%A: memref<2x1xfloat64>) -> (%X: memref<2xfloat64>)"
        module = _module(f"{head} {{\n  buffer.return %A\n}}\n")
        (returned,) = build.body_of(module.args[0].args[-1])
        type_ = module.args[0].args[0].type
        flat = build.statement(op, returned.args, type_, ["0"])
        changed = _with_body(module, [flat, build.statement(ops.RETURN, [build.value("0", type_)])])
        assert normalize(changed) is changed


# --- size -------------------------------------------------------------------------------------------------------------


def _nest(depth: int, upper: int, body: str) -> Node:
    """Return a module with loops in each other."""
    head = "buffer.func @f() -> (%X: memref<2xfloat64>) {"
    opened = [f"affine.for %i{k} = 0 to {upper} step 1 {{kind=serial}} {{" for k in range(depth)]
    storage = "%R = buffer.constant(0) : memref<2xfloat64>"
    return _module("\n".join([head, storage, *opened, body, *["}"] * depth, "buffer.return %R", "}", ""]))


def test_deep_nests() -> None:
    write = "buffer.write 1, %R[%i0] : float64"
    flat = normalize(_nest(1000, 1, write))
    assert sc.render(flat).splitlines()[2:] == ["  buffer.write 1, %R[0] : float64", "  buffer.return %R", "}"]
    kept = _nest(1000, 2, write)
    assert normalize(kept) is kept


def _chain(count: int) -> Node:
    lines = [f"  %t{k + 1} = matrix.transpose(%t{k}) : memref<2x2xfloat64>" for k in range(count)]
    head = "buffer.func @f(%t0: memref<2x2xfloat64>) -> (%X: memref<2x2xfloat64>) {"
    return _module("\n".join([head, *lines, f"  buffer.return %t{count}", "}\n"]))


def test_work_grows_with_the_text() -> None:
    small, large = _chain(200), _chain(400)
    assert calls_of(lambda: normalize(large)) < 2.5 * calls_of(lambda: normalize(small))


def test_a_loop_that_never_runs_takes_its_writes_with_it_in_one_more_walk() -> None:
    writes = "\n".join(
        [
            f"""  affine.for %i = 0 to 0 step 1 {{kind=serial}} {{
    buffer.write 1, %u{k}[0, 0] : float64
  }}"""
            for k in range(20)
        ]
    )
    made = "\n".join(
        [
            f"""  %t{k} = matrix.transpose(%A) : memref<2x2xfloat64>
  %u{k} = matrix.transpose(%t{k}) : memref<2x2xfloat64>"""
            for k in range(20)
        ]
    )
    head = "buffer.func @f(%A: memref<2x2xfloat64>) -> (%X: memref<2x2xfloat64>) {"
    module = _module("\n".join([head, made, writes, "  buffer.return %u7", "}\n"]))
    assert sc.render(normalize(module)).endswith("  buffer.return %A\n}\n")
