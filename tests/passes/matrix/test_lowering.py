"""What holds for all passes that lower functions of buffers: order, names, operators of third parties, size."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

import scaly_ir as sc
from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer.ops import declare
from scaly_ir.dialects.matrix.ops import SUM, TRANSPOSE
from scaly_ir.dialects.prog import build as prog
from scaly_ir.errors import LoweringError
from scaly_ir.graph import Node
from scaly_ir.op import CallEffectKind
from scaly_ir.passes.matrix import (
    lower_aff,
    lower_affine_to_prog,
    lower_matrix_high_level_map_reduce,
    lower_matrix_medium_level,
)
from scaly_ir.passes.matrix.driver import Context
from scaly_ir.passes.matrix.procedure import ProcedureContext
from scaly_ir.types import MemRefType

HIGH: Final = lower_matrix_high_level_map_reduce.LowerMatrixHighLevelMapReduce.name
MEDIUM: Final = lower_matrix_medium_level.LowerMatrixMediumLevel.name
AFF: Final = lower_aff.LowerAff.name
TO_PROG: Final = lower_affine_to_prog.LowerAffineToProg.name
TESTDATA: Final = Path(__file__).resolve().parents[3] / "testdata" / "passes"
PROGRAMS: Final = sorted([path for name in (HIGH, MEDIUM, AFF) for path in (TESTDATA / name).glob("*.sir")])


def lowered(text: str, passes: str) -> str:
    """Return the text of a module after passes, after checking that it reads back to the same."""
    root = sc.run_passes(sc.parse(text), passes)
    sc.verify(root)
    printed = sc.render(root)
    assert sc.parse(printed) is root
    return printed


def function(body: str, params: str = "%x: memref<2x3xfloat64>") -> str:
    """Return a function without results."""
    return f"buffer.func @f({params}) -> () {{\n{body}  buffer.return\n}}\n"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_pass_leaves_nothing_to_itself(path: Path) -> None:
    root = sc.parse(path.read_text("utf-8"))
    for name in (HIGH, MEDIUM, AFF):
        once = sc.run_passes(root, name)
        assert sc.run_passes(once, name) is once
    whole = sc.run_passes(root, f"{HIGH},{MEDIUM},{AFF}")
    assert "matrix." not in sc.render(whole)
    for name in (HIGH, MEDIUM, AFF):
        assert sc.run_passes(whole, name) is whole


def _with_numbers(text: str) -> str:
    """Return a text with values called in the order in which they come."""
    numbers: dict[str, str] = {}
    return re.sub(r"%\w+", lambda name: numbers.setdefault(name[0], f"%v{len(numbers)}"), text)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_middle_passes_commute(path: Path) -> None:
    text = path.read_text("utf-8")
    one, other = [
        _with_numbers(lowered(text, passes)) for passes in (f"{HIGH},{MEDIUM},{AFF}", f"{HIGH},{AFF},{MEDIUM}")
    ]
    assert one == other


def test_functions_are_lowered_each_with_names_of_its_own() -> None:
    body = "  matrix.sum(%x) : float64\n"
    text = function(body) + function("").replace("@f", "@g") + function(body).replace("@f", "@h")
    first, second, third = sc.run_passes(sc.parse(text), f"{HIGH},{MEDIUM}").args
    assert first.args[-1] is third.args[-1]
    assert second is sc.parse(text).args[1]
    assert "%acc_2" not in sc.render(first)


def test_a_name_is_free_when_only_what_is_lowered_has_it() -> None:
    combiner = """\
  %{0} = matrix.map_reduce(%x) init(0) {{indices=[[0, 1]]}} : memref<2xfloat64> {{
  ^comb(%s: float64, %e: float64):
    matrix.yield prog.add(%s, %e)
  }}
"""
    printed = lowered(function(combiner.format("0") + combiner.format("1")), MEDIUM)
    assert [name in printed for name in ("(%s = 0)", "(%s_1 = 0)", "%e = ", "%e_1 = ")] == [True] * 4
    kept = """\
  affine.for %s = 0 to 2 step 1 {kind=serial} {
  }
"""
    assert "iter(%s_1 = 0)" in lowered(function(combiner.format("0") + kept), MEDIUM)


# --- operators of third parties ---------------------------------------------------------------------------------------


def _square_sum(ctx: Context, statement: Node) -> None:
    """Emit the transpose and the sum of it, which the pass lowers in turn."""
    (matrix,) = statement.args
    rows, columns = matrix.type.shape
    turned = build.value(ctx.fresh("turned"), MemRefType((columns, rows), matrix.type.dtype))
    ctx.emit(build.statement(TRANSPOSE, (matrix,), turned.type, (turned.attrs["name"],)))
    ctx.emit(build.statement(SUM, (turned,), matrix.type.dtype, (ctx.result(statement),)))


def _filled(ctx: Context, statement: Node) -> None:
    """Emit loops that write one value to each element."""
    (value,) = statement.args
    result = ctx.alloc(ctx.result(statement), statement.type)
    with ctx.loop_nest(statement.type.shape, "global") as loops:
        ctx.write(value, result, loops.indices)


@pytest.mark.usefixtures("registry")
def test_what_an_operator_of_a_third_party_becomes_is_lowered_too() -> None:
    op = declare("my_ext.square_sum", "The sum of a transpose.", {"A": "memref"}, "scalar")
    op.set_attr(f"{HIGH}.FLowerOp", _square_sum)
    text = function("  %s = my_ext.square_sum(%x) : float64\n  my_ext.square_sum(%x) : float64\n")
    assert lowered(text, HIGH) == function(
        """\
  %turned = matrix.map_reduce(%x) init(undef) {indices=[[1, 0]]} : memref<3x2xfloat64> {
  ^comb(%acc: float64, %a: float64):
    matrix.yield %a
  }
  %0 = matrix.map_reduce(%turned) init(0) {indices=[[1, 2]]} : memref<1xfloat64> {
  ^comb(%acc_1: float64, %a_1: float64):
    matrix.yield prog.add(%acc_1, %a_1)
  }
  %s = buffer.read %0[] : float64
  %turned_1 = matrix.map_reduce(%x) init(undef) {indices=[[1, 0]]} : memref<3x2xfloat64> {
  ^comb(%acc_2: float64, %a_2: float64):
    matrix.yield %a_2
  }
  %1 = matrix.map_reduce(%turned_1) init(0) {indices=[[1, 2]]} : memref<1xfloat64> {
  ^comb(%acc_3: float64, %a_3: float64):
    matrix.yield prog.add(%acc_3, %a_3)
  }
  %2 = buffer.read %1[] : float64
"""
    )


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("name", [MEDIUM, AFF])
def test_an_operator_of_a_third_party_makes_loops(name: str) -> None:
    op = declare("my_ext.filled", "One value in each element.", {"v": "scalar"}, "memref", fresh=True)
    op.set_attr(f"{name}.FLowerOp", _filled)
    assert lowered(function("  %b = my_ext.filled(1) : memref<2x3xint32>\n"), name) == function(
        """\
  %b = buffer.alloc : memref<2x3xint32>
  affine.for %i0 = 0 to 2 step 1 {kind=global} {
    affine.for %i1 = 0 to 3 step 1 {kind=global} {
      buffer.write 1, %b[%i0, %i1] : int32
    }
  }
"""
    )


@pytest.mark.usefixtures("registry")
def test_an_operator_of_a_third_party_becomes_statements_of_a_program() -> None:
    twice = declare("my_ext.twice", "Twice the element at 1, 0.", {"A": "memref"}, "scalar")
    twice.set_attr(f"{TO_PROG}.FLowerOp", _twice)
    negate = declare("my_ext.negate", "Change all signs.", {"A": "memref"}, None, effect=CallEffectKind.UpdateState)
    negate.set_attr(f"{TO_PROG}.FLowerOp", _negate)
    text = """\
  %b = buffer.constant(3) : memref<2x2xfloat64>
  %0 = my_ext.twice(%b) : float64
  buffer.write %0, %b[0, 0] : float64
  %1 = my_ext.twice(%b) : float64
  %2 = buffer.read %b[0, 1] : float64
  my_ext.negate(%b)
  buffer.write prog.add(%1, %2), %b[0, 1] : float64
"""
    assert lowered(function(text), TO_PROG).splitlines()[2:-2] == [
        "    %b = prog.buffer : memref<2x2xfloat64, private>",
        "    prog.for %z_b = 0 to 4 step 1 {kind=global} {",
        "      prog.store 3, %b[%z_b] : float64",
        "    }",
        "    prog.store prog.mul(2, prog.load %b[2]), %b[0] : float64",
        "    %v0 = prog.assign prog.mul(2, prog.load %b[2]) : float64 {declare=True}",
        "    %v1 = prog.assign prog.load %b[1] : float64 {declare=True}",
        "    prog.for %i0 = 0 to 2 step 1 {kind=global} {",
        "      prog.for %i1 = 0 to 2 step 1 {kind=global} {",
        "        prog.store prog.neg(prog.load %b[prog.add(prog.mul(%i0, 2), %i1)]), "
        "%b[prog.add(prog.mul(%i0, 2), %i1)] : float64",
        "      }",
        "    }",
        "    prog.store prog.add(%v0, %v1), %b[1] : float64",
    ]


def _twice(ctx: ProcedureContext, statement: Node) -> None:
    (buffer,) = statement.args
    element = prog.load(ctx.element(buffer, [prog.index(1), prog.index(0)]))
    ctx.bind(statement, prog.apply("mul", prog.const(2, element.type), element))


def _negate(ctx: ProcedureContext, statement: Node) -> None:
    (buffer,) = statement.args
    with ctx.loop_nest(buffer.type.shape, "global") as loops:
        place = ctx.element(buffer, loops.indices)
        ctx.emit(prog.store(place, prog.apply("neg", prog.load(place))))


@pytest.mark.usefixtures("registry")
def test_storage_of_a_third_party_is_declared_before_all_loops() -> None:
    op = declare("my_ext.copy", "The same elements.", {"A": "memref"}, "memref", fresh=True)
    op.set_attr(f"{TO_PROG}.FLowerOp", _copy)
    text = """\
  affine.for %i = 0 to 2 step 1 {kind=global} {
    %c = my_ext.copy(%x) : memref<2x3xfloat64>
    buffer.write 1, %c[%i, 0] : float64
  }
"""
    assert lowered(function(text), TO_PROG).splitlines()[2:-2] == [
        "    %c = prog.buffer : memref<2x3xfloat64, private>",
        "    prog.for %i = 0 to 2 step 1 {kind=serial} {",
        "      prog.for %i0 = 0 to 6 step 1 {kind=global} {",
        "        prog.store prog.load %x[%i0], %c[%i0] : float64",
        "      }",
        "      prog.store 1, %c[prog.mul(%i, 3)] : float64",
        "    }",
    ]


def _copy(ctx: ProcedureContext, statement: Node) -> None:
    (source,) = statement.args
    copy = prog.buffer(ctx.result(statement), source.type.shape, source.type.dtype)
    ctx.emit(copy)
    with ctx.loop_nest([6], "global") as loops:
        (index,) = loops.indices
        ctx.emit(prog.store(prog.view(copy, index), prog.load(prog.view(ctx.buffer(source), index))))


@pytest.mark.usefixtures("registry")
def test_what_nobody_lowers_is_an_error() -> None:
    declare("my_ext.odd", "Nobody lowers it.", {"A": "memref"}, "scalar")
    root = sc.parse(function("  %s = my_ext.odd(%x) : float64\n"))
    with pytest.raises(LoweringError) as caught:
        sc.run_passes(root, TO_PROG)
    assert str(caught.value) == "lower_affine_to_prog: node %s op=odd is not lowered"


@pytest.mark.usefixtures("registry")
def test_rules_that_never_end_are_an_error() -> None:
    op = declare("my_ext.again", "It becomes itself.", {"A": "memref"}, "scalar")
    op.set_attr(f"{HIGH}.FLowerOp", lambda ctx, statement: ctx.emit(statement))
    root = sc.parse(function("  my_ext.again(%x) : float64\n"))
    with pytest.raises(LoweringError, match=r"the lowering of 'my_ext.again' does not end") as caught:
        sc.run_passes(root, HIGH)
    assert [node.op.name for node in caught.value.blamed] == ["my_ext.again", "buffer.func"]


# --- size -------------------------------------------------------------------------------------------------------------


def test_deep_nests_and_ranks_need_no_python_stack() -> None:
    depth = 1000
    loops = "".join([f"affine.for %j{number} = 0 to 1 step 1 {{\n" for number in range(depth)])
    shape = "x".join(["0"] + ["2"] * (depth - 1))
    body = f"{loops}matrix.sum(%x) : int32\n{'}' * depth}\n"
    printed = lowered(function(body, f"%x: memref<{shape}xint32>"), f"{HIGH},{MEDIUM}")
    assert printed.count("affine.for") == 2 * depth


def test_places_beyond_all_numbers_in_code_that_never_runs() -> None:
    text = """\
  affine.for %i = 0 to 0 step 1 {kind=serial} {
    %far = affine.apply() {map=affine_map<() -> (9223372036854775807)>} : index
    %0 = buffer.read %x[%far, 2] : float64
  }
"""
    assert "prog.load %x[9223372036854775807]" in lowered(function(text), TO_PROG)


def test_an_index_that_doubles_takes_no_more_than_its_length() -> None:
    count = 100
    chain = "".join(
        [
            f"  %{number + 1} = affine.apply(%{number}) {{map=affine_map<(d0) -> ((d0 + d0) mod 3)>}} : index\n"
            for number in range(count)
        ]
    )
    start = "  %0 = affine.apply(1) {map=affine_map<(d0) -> (d0)>} : index\n"
    printed = lowered(function(f"{start}{chain}  %v = buffer.read %x[0, %{count}] : float64\n"), TO_PROG)
    assert printed.count("prog.add") == count


def test_combiners_may_be_long() -> None:
    count = 5_000
    lets = "".join([f"    %{number + 2} = prog.add(%{number + 1}, %1) : int64\n" for number in range(count)])
    text = function(
        f"""\
  matrix.map_reduce(%x) init(0) {{indices=[[0]]}} : memref<3xint64> {{
  ^comb(%0: int64, %1: int64):
{lets}    matrix.yield prog.add(%0, %{count + 1})
  }}
""",
        "%x: memref<3xint64>",
    )
    assert lowered(text, MEDIUM).count("prog.add") == count + 1
