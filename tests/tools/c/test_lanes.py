"""Lanes in C: the numbers are those of the program without lanes, by bits, in both dialects and for every width."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path
from typing import Any, Final, Literal

import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import ops
from scaly_ir.graph import Node, preorder
from scaly_ir.op import Op, registry_scope
from scaly_ir.tools.c import COptions, CTranslateError, render_source
from tests.passes.prog.programs import inputs_of
from tests.tools.c.compiling import (
    C_COMPILERS,
    CPP_COMPILERS,
    EXACT,
    STRICT,
    WARNINGS,
    Library,
    assert_same_bits,
    compile_with,
    needs_cc,
    needs_cpp,
    write_sources,
)
from tests.tools.c.lane_samples import COUNTS, LANES, everything, inputs, random_module, widened

Dialect = Literal["gnu", "c"]
DIALECTS: Final[tuple[Dialect, ...]] = ("gnu", "c")
WIDTHS: Final = (1, 2, 4, 8)
SANITIZE: Final = ["-fsanitize=undefined", "-fno-sanitize-recover=all"]


def _vector_loops(root: Node) -> int:
    return len([node for node in preorder(root) if node.op is ops.FOR and node.args[0].attrs["kind"] == "vector"])


def _sources(lanes: object, dialect: Dialect) -> dict[str, str]:
    modules = {f"f{trips}": widened(everything(trips), lanes, f"f{trips}") for trips in COUNTS}
    return {name: render_source(module, COptions(dialect=dialect)) for name, module in modules.items()}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    """Return what the programs compute without lanes."""
    modules = {trips: widened(everything(trips), 1, f"f{trips}") for trips in COUNTS}
    assert not any([_vector_loops(module) for module in modules.values()])
    sources = {f"f{trips}": render_source(module) for trips, module in modules.items()}
    library = Library(tmp_path_factory.mktemp("scalar"), sources)
    return {trips: library.run(module, f"f{trips}", inputs(trips)) for trips, module in modules.items()}


_CHECKED: Final[list[tuple[Dialect, object, list[str]]]] = [
    *[(dialect, "auto", [f"-DSCALY_LANES={width}"]) for dialect in DIALECTS for width in WIDTHS],
    ("c", 4, ["-O2"]),
    *[("gnu", lanes, []) for lanes in LANES[1:]],
    ("gnu", "auto", ["-DSCALY_LANES=8", "-DSCALY_REGISTER_SLOTS=16"]),
    ("gnu", "auto", ["-O2", "-march=native"]),
    ("gnu", 8, SANITIZE),
]


@needs_cc
@pytest.mark.parametrize(("dialect", "lanes", "flags"), _CHECKED, ids=str)
def test_results_are_those_without_lanes(
    dialect: Dialect, lanes: object, flags: list[str], tmp_path: Path, expected: dict[int, dict[str, Any]]
) -> None:
    library = Library(tmp_path, _sources(lanes, dialect), [*EXACT, *WARNINGS, *STRICT[dialect], *flags])
    for trips in COUNTS:
        module = widened(everything(trips), lanes, f"f{trips}")
        assert _vector_loops(module) == 4 or lanes != "auto"
        found = library.run(module, f"f{trips}", inputs(trips))
        assert_same_bits(found, expected[trips], f"{trips} trips")


@needs_cc
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("lanes", LANES[::2])
def test_random_programs(lanes: object, dialect: Dialect, tmp_path: Path) -> None:
    source = random.Random(f"lanes {lanes}")
    modules = {f"g{number}": random_module(source) for number in range(5)}
    wide = {f"wide_{name}": widened(module, lanes, f"wide_{name}") for name, module in modules.items()}
    narrow = {name: widened(module, 1, name) for name, module in modules.items()}
    sources = {name: render_source(module, COptions(dialect=dialect)) for name, module in {**narrow, **wide}.items()}
    library = Library(tmp_path, sources, [*EXACT, *WARNINGS, *STRICT[dialect], *SANITIZE])
    for name, module in narrow.items():
        values = inputs_of(module)
        wanted = library.run(module, name, values)
        assert_same_bits(library.run(wide[f"wide_{name}"], f"wide_{name}", values), wanted, name)


@needs_cpp
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("compiler", CPP_COMPILERS)
def test_they_are_cpp(compiler: str, dialect: Dialect, width: int, tmp_path: Path) -> None:
    files = write_sources(tmp_path, {"f": _sources("auto", dialect)["f11"]}, ".cpp")
    strict = ["-pedantic"] if dialect == "c" else []
    compile_with(compiler, [*WARNINGS, *strict, f"-DSCALY_LANES={width}", "-c", "-o", str(tmp_path / "f.o")], files)


@needs_cc
def test_addresses_stay_inside_the_data(tmp_path: Path) -> None:
    """Buffers end where the heap block ends, so that the sanitizer sees any lane that reads or writes beyond."""
    calls, sources = [], {}
    for dialect in DIALECTS:
        for trips in (3, 17):
            name = f"f{trips}_{dialect}"
            sources[name] = render_source(widened(everything(trips), "auto", name), COptions(dialect=dialect))
            calls.append(f"  if (run({name}, {9 * trips})) return 1;\n")
    prototypes = [f"int {name}(const double**, double**, int*, double*, int);\n" for name in sources]
    main = (
        "#include <stdlib.h>\n"
        + "".join(prototypes)
        + "static int run(int (*f)(const double**, double**, int*, double*, int), size_t n) {\n"
        "  double* x = (double*)malloc(n * 8); double* res[3]; const double* arg[1]; int status;\n"
        "  for (size_t i = 0; i < n; ++i) x[i] = 0.5 + (double)i;\n"
        "  arg[0] = x; res[0] = (double*)malloc(n * 8); res[1] = (double*)malloc(n * 8);\n"
        "  res[2] = (double*)malloc(4 * 8); status = f(arg, res, 0, 0, 0);\n"
        "  free(x); free(res[0]); free(res[1]); free(res[2]); return status;\n}\n"
        f"int main(void) {{\n{''.join(calls)}  return 0;\n}}\n"
    )
    files = write_sources(tmp_path, {**sources, "main": main})
    for width in (2, 8):
        program = tmp_path / f"program{width}"
        flags = ["-O1", f"-DSCALY_LANES={width}", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
        built = subprocess.run(
            [C_COMPILERS[0], *flags, "-o", str(program), *map(str, files), "-lm"], capture_output=True, text=True
        )
        if built.returncode and ("asan" in built.stderr or "ubsan" in built.stderr):
            pytest.skip("the compiler has no sanitizers")
        assert built.returncode == 0, built.stderr[:4000]
        done = subprocess.run([str(program)], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr[:4000]


@needs_cc
@pytest.mark.parametrize("dialect", DIALECTS)
def test_pairs(dialect: Dialect, tmp_path: Path) -> None:
    """Both values of a pair are computed before either is written; pairs in lanes are somebody's own."""
    pair = f"prog.store_pair prog.load %x[{CLAMPED}], prog.load %y[prog.mul(2, {CLAMPED})], %y[prog.mul(2, {CLAMPED})]"
    text = GROUPS.format(body=f"{pair} : float64", start="0", stop="10", count="10").replace("{input_count=1}", "")
    root = sc.parse(text.replace("16x", "20x"))
    sc.verify(root)
    source = render_source(root, COptions(dialect=dialect))
    assert ("vector_size" in source) == (dialect == "gnu")
    library = Library(tmp_path, {"f": source}, [*EXACT, *WARNINGS, *STRICT[dialect]])
    x, y = [float(at) for at in range(20)], [100.0 + at for at in range(20)]
    expected = [value for at in range(10) for value in (x[at], y[2 * at])]
    assert library.run(root, "f", {"x": x, "y": y})["y"].tolist() == expected


@needs_cc
@pytest.mark.parametrize("dialect", DIALECTS)
def test_operators_without_text_on_vectors(dialect: Dialect, tmp_path: Path) -> None:
    """They are applied to each lane, whether they take or give numbers or truth values."""
    with registry_scope():
        for name, result, text in (("big", "bool", "({0} > 1.5)"), ("weight", "float64", "({0} ? {1} : 0.5)")):
            op = Op.register(f"test.{name}")
            op.set_signature(("x", "y")[: 1 + (name == "weight")])
            for key, value in {"TFixedReturnType": result, "TVectorizable": True, "TCallEffectKind": 0}.items():
                op.set_attr(key, value)
            op.set_attr("TCSpelling", text)
        x = f"prog.load %x[{CLAMPED}]"
        value = f"prog.select(test.big({x}), test.weight(test.big({x}), {x}), test.weight(test.big(prog.neg({x})), %c))"
        text = GROUPS.format(body=f"prog.store {value}, %y[{CLAMPED}] : float64", start="0", stop="10", count="10")
        root = sc.parse(text.replace("%y: memref<16x", "%y: memref<10x"))
        sc.verify(root)
        source = render_source(root, COptions(dialect=dialect))
        assert ("vector_size" in source) == (dialect == "gnu")
        library = Library(tmp_path, {"f": source}, [*EXACT, *WARNINGS, *STRICT[dialect]])
        found = library.run(root, "f", {"x": [at / 2 for at in range(16)]})["y"]
    assert found.tolist() == [0.5] * 4 + [at / 2 for at in range(4, 10)]


# --- text -------------------------------------------------------------------------------------------------------------

GROUPS: Final = """
prog.proc @f(%x: memref<16xfloat64>, %y: memref<16xfloat64>) {{input_count=1}} {{
  %c = prog.assign prog.load %x[1] : float64 {{declare=True}}
  prog.for %s = {start} to {stop} step %SCALY_WIDTH_2_2_2_2 {{kind=serial}} {{
    prog.for %l = 0 to prog.minimum(%SCALY_WIDTH_2_2_2_2, prog.sub({count}, %s)) step 1 {{kind=vector}} {{
      {body}
    }}
  }}
}}
"""
CLAMPED: Final = "prog.minimum(prog.add(%s, %l), 9)"


def _text(body: str, dialect: Dialect = "gnu", start: str = "0", stop: str = "10", count: str = "10") -> str:
    root = sc.parse(GROUPS.format(body=body, start=start, stop=stop, count=count))
    sc.verify(root)
    return render_source(root, COptions(dialect=dialect))


@pytest.mark.parametrize(
    ("body", "vectors"),
    [
        (f"prog.store prog.load %x[{CLAMPED}], %y[{CLAMPED}] : float64", True),
        ("prog.store prog.load %x[prog.add(%s, %l)], %y[prog.add(%s, %l)] : float64", False),  # nothing clamps them
        (f"prog.store prog.load %x[prog.add(%s, %l)], %y[{CLAMPED}] : float64", False),
        (f"prog.store prog.load %x[%l], %y[{CLAMPED}] : float64", False),
        (f"prog.store prog.cast(%l, float64), %y[{CLAMPED}] : float64", False),
        (f"prog.store prog.load %y[prog.add(1, {CLAMPED})], %y[{CLAMPED}] : float64", False),
        (f"prog.store prog.add(prog.load %y[0], prog.load %x[{CLAMPED}]), %y[0] : float64", True),
        (f"prog.store prog.mul(prog.load %y[0], prog.load %x[{CLAMPED}]), %y[0] : float64", False),
        (f"prog.store 1, %y[prog.div({CLAMPED}, 2)] : float64", False),
        (f"%n = prog.assign {CLAMPED} : int64 {{declare=True}} prog.store %c, %y[%n] : float64", True),
    ],
)
def test_lanes_are_vectors_where_that_is_proved(body: str, vectors: bool) -> None:
    text = _text(body)
    assert ("vector_size" in text) == vectors
    assert text.count(" f_lanes_1(") == 3
    assert "vector_size" not in _text(body, "c")
    assert "__attribute__" not in _text(body, "c")


@pytest.mark.parametrize(
    ("start", "stop", "count"),
    [("2", "10", "10"), ("2", "10", "8"), ("0", "10", "9"), ("0", "prog.minimum(10, 11)", "10")],
)
def test_other_loops_are_loops(start: str, stop: str, count: str) -> None:
    text = _text("prog.store 1, %y[prog.add(%s, %l)] : float64", start=start, stop=stop, count=count)
    assert "f_lanes_1" not in text
    assert "s += SCALY_WIDTH_2_2_2_2" in text


def test_lanes_that_assign_outside_are_loops() -> None:
    text = _text("%c = prog.assign prog.add(%c, 1) : float64 prog.store %c, %y[prog.add(%s, %l)] : float64")
    assert "f_lanes_1" not in text


@pytest.mark.parametrize(("factor", "wraps"), [(2**60, False), (2**61, True)])
def test_numbers_of_lanes_are_known(factor: int, wraps: bool) -> None:
    text = _text(f"prog.store prog.cast(prog.mul(%l, {factor}), float64), %y[{CLAMPED}] : float64")
    assert ("(uint64_t)l" in text) == wraps


def test_names_of_the_program_stay_out_of_the_way() -> None:
    names = ("lanes_2_2_2_2_vec", "f_lanes_1", "f_lanes_1_valid", "terms", "sum", "gathered", "lane", "lanes", "valid")
    root = sc.parse(GROUPS.format(body=f"prog.store 1, %y[{CLAMPED}] : float64", start="0", stop="10", count="10"))
    for name in names:
        renamed = sc.render(root).replace("%x", f"%{name}").replace("%c", "%x")
        text = render_source(sc.parse(renamed))
        assert re.search(r"\blanes_2_2_2_2_mem\b", text)


def test_errors_are_those_of_the_program() -> None:
    root = sc.parse(
        GROUPS.format(
            body=f"prog.store prim.sigmoid(prog.load %x[{CLAMPED}]), %y[{CLAMPED}] : float64",
            start="0",
            stop="10",
            count="10",
        )
    )
    for dialect in DIALECTS:
        with pytest.raises(CTranslateError, match="no c lowering for operator") as caught:
            render_source(root, COptions(dialect=dialect))
        assert caught.value.place is not None
        assert caught.value.place.number == 4
        assert caught.value.place is not None
        assert caught.value.place.node in set(preorder(root))


def test_marks_show_where_statements_stand() -> None:
    from scaly_ir.dialect import parse_source
    from scaly_ir.text.source import Source

    store = f"prog.store prog.load %x[{CLAMPED}], %y[{CLAMPED}] : float64"
    text = GROUPS.format(body=store, start="0", stop="10", count="10")
    parsed = parse_source(Source.from_text(text, "f.sir"))
    assert parsed.root is not None
    for dialect in DIALECTS:
        options = COptions(dialect=dialect, annotate=True)
        lines = render_source(parsed.root, options, locations=parsed.locations).splitlines()
        (stored,) = [line for line in lines if line.endswith("/* f.sir:6 */")]
        assert "_store(" in stored or "y[scaly_min_i64" in stored
        (loop,) = [line for line in lines if line.endswith("/* f.sir:4 */")]
        assert "for (long long s = 0;" in loop
        options = COptions(dialect=dialect, line_directives=True)
        before, _, _ = render_source(parsed.root, options, locations=parsed.locations).partition(
            stored.removesuffix(" /* f.sir:6 */")
        )
        assert before.endswith('#line 6 "f.sir"\n')
