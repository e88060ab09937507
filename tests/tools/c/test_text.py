"""The text of generated C: what is refused and where, external functions, size limits, and that it never varies."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.errors import TranslateError
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.prim import register_elementwise
from scaly_ir.tools.c import COptions, CTranslateError, render_header, render_source
from scaly_ir.types import FLOAT32, FLOAT64, INT64
from tests.tools.c.samples import GOLDEN
from tests.tools.running import environment

X, Y = build.param("x", (4,)), build.param("y", (4,))


def program(*body: Node, name: str = "f") -> Node:
    return build.program([build.proc(name, [X, Y], body, {"input_count": 1})])


def store(value: Node, at: int = 0) -> Node:
    return build.store(build.view(Y, at), value)


def body_of(source: str) -> str:
    """Return the statements of the entry."""
    return source.partition("RESULT;\n  }\n")[2].partition("  return SCALY_SUCCESS;")[0]


LOAD = build.load(build.view(X, 0))

# --- what is refused --------------------------------------------------------------------------------------------------


def refusal(root: Node, translate: Callable[[Node], str] = render_source) -> CTranslateError:
    with pytest.raises(CTranslateError) as caught:
        translate(root)
    assert isinstance(caught.value, TranslateError)
    return caught.value


def test_an_operator_without_c_text() -> None:
    text = "prog.proc @f(%x: memref<1xfloat64>) {\n  prog.store 1, %x[0] : float64\n"
    text += "  prog.store prim.sigmoid(prog.load %x[0]), %x[0] : float64\n}\n"
    root = sc.parse(text)
    failure = refusal(root)
    assert str(failure) == "no c lowering for operator 'prim.sigmoid'"
    assert failure.hint == "pass 'legalize' rewrites it for this target"
    assert failure.place is not None
    assert (failure.place.number, failure.place.node) == (2, root.args[0].args[2].args[1])


@pytest.mark.parametrize("translate", [render_source, render_header])
def test_entries_take_doubles_alone(translate: Callable[[Node], str]) -> None:
    failure = refusal(sc.parse("prog.proc @f(%x: memref<1xfloat64>, %n: memref<1xint64>) {\n}\n"), translate)
    assert str(failure) == "'prog.proc': entry parameter %n has dtype int64, expected float64 [entry-leaves]"
    assert failure.place is not None
    assert (failure.place.number, failure.place.part) == (0, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no procedure; the last one is what C exports"),
        ("prog.module {\n}\n", "there is no procedure; the last one is what C exports"),
        ("%a = prog.assign 1 : float64 {declare=True}\n", "statements without a procedure have no C form"),
        (
            "prog.proc @f(%x: memref<1xfloat64>) {\n  prog.call @g(%x)\n}\n",
            "procedure '@g' is not defined in this file",
        ),
        (
            "prog.proc @f(%x: memref<1xf>) {\n  prog.store prog.cast(%SCALY_N, float64), %x[0] : float64\n}\n",
            "symbol '%SCALY_N' is no lane width, so it has no C form",
        ),
    ],
)
def test_what_has_no_c_form(text: str, message: str) -> None:
    assert str(refusal(sc.parse(text.replace("1xf>", "1xfloat64>")))) == message


def test_a_header_that_c_cannot_include() -> None:
    for name in ('a".h', "a\n.h"):
        with pytest.raises(CTranslateError, match="no file that C can include"):
            render_source(program(), COptions(include=name))


@pytest.mark.parametrize(
    "name",
    [
        *("sin", "int", "class", "y1", "main", "scaly_min_i64", "SCALY_SUCCESS", "double2", "f__g", "M_PI", "FP_NAN"),
        *(
            "INT8_MAX",
            "SIZE_MAX",
            "UINT64_C",
            "uint_fast8_t",
            "max_align_t",
            "lgammaf_r",
            "sinf32x",
            "isnanl",
            "random",
        ),
    ],
)
def test_an_exported_name_is_never_changed(name: str) -> None:
    message = f"@{name} is exported as '{name}', a name that C or its library has a meaning for"
    assert str(refusal(program(name=name))) == message
    assert str(refusal(program(name=name), render_header)) == message


@pytest.mark.parametrize(
    ("name", "exported"), [("a.b", "a_b"), ("2d", "_2d"), ("x y", "x_y"), ("entry_t", "entry_t"), ("W", "W")]
)
def test_an_exported_name_is_spelled_as_c_can(name: str, exported: str) -> None:
    assert f"int {exported}(const double** arg" in render_source(program(name=name))


# --- operators that are registered ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("registry")
def test_functions_that_no_header_declares_are_declared() -> None:
    fast = Op.register("my_ext.fast")
    fast.set_signature(["x", "y"])
    fast.set_attr("TCSpelling", "sq_fast")
    single = Op.register("my_ext.single")
    single.set_signature(["x"])
    single.set_attr("TGlobalSymbol", "single_fast")
    value = sc.Node(fast, [LOAD, build.load(build.view(X, 1))], type=FLOAT64)
    other = build.cast(sc.Node(single, [build.cast(LOAD, FLOAT32)], type=FLOAT32), FLOAT64)
    source = render_source(program(store(value), store(other, 1)))
    assert "float single_fast(float);\ndouble sq_fast(double, double);\n" in source
    assert "res[0][0] = sq_fast(arg[0][0], arg[0][1]);\n" in source
    clash = refusal(program(store(value), name="sq_fast"))
    assert str(clash) == "@sq_fast is exported as 'sq_fast', a name that operator 'my_ext.fast' calls a function of"


@pytest.mark.usefixtures("registry")
def test_templates_of_registered_operators() -> None:
    register_elementwise("cbrt", 1, TOperandKinds=frozenset({"float"}), TCSpelling="cbrt", doc="The cubic root.")
    register_elementwise("twice_plus", 2, TCSpelling="({0} * 2 + {1})", TCWraps=True, doc="2 x + y")
    integer = build.cast(LOAD, INT64)
    twice = build.cast(build.apply("twice_plus", integer, build.index(1)), FLOAT64)
    source = render_source(program(store(build.apply("cbrt", LOAD)), store(twice)))
    assert "cbrt(arg[0][0])" in source
    assert "double cbrt" not in source
    assert "((int64_t)((uint64_t)((int64_t)arg[0][0]) * 2 + (uint64_t)1))" in source
    for name in ("while", "res"):
        register_elementwise(f"to_{name}", 1, TCSpelling=name)
        message = f"the C function of operator 'prog.to_{name}' is called '{name}', a name with another meaning"
        assert str(refusal(program(store(build.apply(f"to_{name}", LOAD))))) == message
    wrong = register_elementwise("wrong", 1, TCSpelling="({0} + {1})", doc="Nonsense.")
    assert str(refusal(program(store(build.apply("wrong", LOAD))))) == (
        "the C text of operator 'prog.wrong' names an operand that there is not: ({0} + {1})"
    )
    assert wrong is Op.get("prim.wrong")


# --- statements -------------------------------------------------------------------------------------------------------


def test_the_index_of_a_pair_is_computed_before_either_value_is_written() -> None:
    at = build.cast(build.load(build.view(Y, 0)), INT64)
    pair = build.store_pair(build.view(Y, at), LOAD, LOAD)
    text = body_of(render_source(program(pair), COptions(dialect="c")))
    assert text.index("double* pair = res[0] + ((int64_t)res[0][0]);") < text.index("pair[0] = first;")
    assert text.index("double second = arg[0][0];") < text.index("pair[0] = first;")


def test_a_window_of_no_elements_needs_no_workspace() -> None:
    window = build.workspace("s", (0,), 0)
    assert "double s[1];" in render_source(program(window))


def test_places_are_shown_on_request() -> None:
    text = "prog.module {\n  prog.proc @f(%x: memref<2xfloat64>) {\n    prog.for %i = 0 to 2 step 1 {kind=global} {\n"
    text += "      prog.store 1, %x[%i] : float64\n    }\n  }\n}\n"
    from scaly_ir.dialect import parse_source
    from scaly_ir.text.source import Source

    parsed = parse_source(Source.from_text(text, 'a "b"*/.sir'))
    assert parsed.root is not None
    source = render_source(parsed.root, COptions(annotate=True), locations=parsed.locations)
    assert '++i) { /* a "b"* /.sir:3 */\n    res[0][i] = 1.0; /* a "b"* /.sir:4 */\n  }\n' in source
    source = render_source(parsed.root, COptions(line_directives=True), locations=parsed.locations)
    assert '#line 4 "a \\042b\\042*/.sir"\n    res[0][i] = 1.0;\n' in source
    assert render_source(parsed.root, locations=parsed.locations) == render_source(parsed.root)


# --- names ------------------------------------------------------------------------------------------------------------


def test_identifiers_of_a_procedure() -> None:
    names = [
        "k1",
        "x",
        "x_2",
        "double",
        "a-b",
        "a.b",
        "_Bool",
        "__x",
        "1",
        "",
        "SCALY",
        "exp",
        "arg",
        "f",
        "g_raw",
        "é",
    ]
    buffers = [build.buffer(name, (1,)) for name in names]
    callee = build.proc("g", [build.param("p", (1,))], [], {"input_count": 0})
    entry = build.proc("f", [build.param("x ", (1,))], buffers, {"input_count": 0})
    source = render_source(build.program([callee, entry]))
    declared = re.findall(r"^  double (\w+)\[1\];$", source, re.MULTILINE)
    expected = "k1_2 x x_2 double_2 a_b a_b_2 x_Bool _x _1 _ SCALY exp_2 arg_2 f_2 g_raw_2 __2".split()
    assert declared[:15] == expected[:15]
    assert len(set(declared)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z_]\w*", name) for name in declared)
    assert not [name for name in declared if "__" in name or re.match("_[A-Z]", name)]


def test_names_that_a_number_would_not_make_free() -> None:
    callees = [build.proc(name, [], [build.buffer(name, (1,))]) for name in ("SCALY", "SCALY.", "scaly", "_", "|")]
    source = render_source(build.program([*callees, build.proc("f", [], [])]))
    names = re.findall(r"static inline void (\w+)\(", source)
    assert names == ["x_SCALY_raw", "x_SCALY_raw_2", "x_scaly_raw", "_raw", "_raw_2"]
    entry = build.proc("f", [], [build.buffer(name, (1,)) for name in ("SCALY", "SCALY ", "scaly", "scaly.")])
    source = render_source(build.program([entry]))
    names = re.findall(r"double (\w+)\[1\];\n  \(void\)", source)
    assert names == ["SCALY", "x_SCALY_", "scaly", "x_scaly_"]


def test_many_names_that_meet_take_linear_time() -> None:
    buffers = [build.buffer(f"a{character}", (1,)) for character in map(chr, range(0x4E00, 0x4E00 + 5000))]
    source = render_source(program(*buffers))
    assert "double a_5000[1];" in source


# --- size and constancy -----------------------------------------------------------------------------------------------


def test_deep_expressions_and_nests() -> None:
    value: Node = LOAD
    index: Node = build.index(1)
    for _ in range(100_000):
        value = build.apply("neg", value)
    for _ in range(10_000):
        index = build.apply("add", index, build.index(2**30))
    deep = body_of(render_source(program(store(value), store(build.cast(index, FLOAT64)))))
    assert deep.startswith("  res[0][0] = (-(-(-")
    body: list[Node] = [store(LOAD)]
    for depth in range(1000):
        body = [build.for_(build.range_(f"i{depth}", 0, 1), body)]
    assert render_source(program(*body)).count("for (long long") == 1000


def test_many_statements() -> None:
    body = [store(build.const(float(number), FLOAT64), number % 4) for number in range(30_000)]
    assert render_source(program(*body)).count(" = ") >= 30_000


SCRIPT = """\
import sys, scaly_ir as sc
from scaly_ir.tools.c import COptions, render_source
for path in sys.argv[1:]:
    for dialect in ("gnu", "c"):
        sys.stdout.write(render_source(sc.parse(open(path, encoding="utf-8").read()), COptions(dialect=dialect)))
"""


def test_the_text_depends_on_the_program_alone() -> None:
    def text(seed: str) -> bytes:
        command = [sys.executable, "-c", SCRIPT, *map(str, GOLDEN)]
        changes: dict[str, Any] = {"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"}
        return subprocess.run(command, capture_output=True, check=True, env=environment(**changes)).stdout

    first = text("0")
    assert len(first) > 10_000
    assert text("1") == first


# --- loops at the end of the integers ---------------------------------------------------------------------------------

INTS = build.param("n", (3,), INT64)
READ = [build.load(build.view(INTS, at)) for at in range(3)]
GREATEST = 2**63 - 1


@pytest.mark.parametrize(
    ("stop", "step", "plain"),
    [
        (build.index(8), build.index(3), "i += 3"),
        (build.index(GREATEST), build.index(1), "++i"),
        (build.index(GREATEST - 1), build.index(2), "i += 2"),
        (build.index(GREATEST), build.index(2), ""),
        (build.index(8), READ[2], ""),
        (READ[1], build.index(1), "++i"),
        (READ[1], build.index(2), ""),
        (build.apply("minimum", READ[1], build.index(GREATEST - 1)), build.index(2), "i += 2"),
    ],
)
def test_a_loop_that_may_pass_the_greatest_integer(stop: Node, step: Node, plain: str) -> None:
    loop = build.for_(build.range_("i", 0, stop, step, "serial"), [])
    inner = build.proc("inner", [INTS], [loop], {"input_count": 1})
    source = render_source(build.program([inner, build.proc("f", [X, Y], [], {"input_count": 1})]))
    assert (f"; {plain}) {{" in source) == bool(plain)
    assert ("scaly_next_i64(i, " in source) == (not plain)
    assert ("static inline int64_t scaly_next_i64(" in source) == (not plain)


# --- the recipe -------------------------------------------------------------------------------------------------------


def test_the_recipe_says_what_became_of_divisions() -> None:
    text = "prog.proc @f(%x: memref<4xfloat64>, %y: memref<4xfloat64>) {input_count=1} {\n"
    text += "  prog.for %i = 0 to 4 step 1 {kind=global} {\n"
    text += "    prog.store prog.div(prog.load %x[%i], prog.load %x[0]), %y[%i] : float64\n  }\n}\n"
    module = sc.parse(text)
    assert "\n * Reciprocals: none\n" in render_source(module)
    hoisted = render_source(sc.run_passes(module, "hoist_reciprocals"))
    assert "\n * Reciprocals: some divisions are multiplications by a reciprocal\n" in hoisted
