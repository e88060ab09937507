"""Functions: tracing, calls, identity (expression specification 3.3, 4.1 and checks 16 and 25)."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.expr import build, ops


@sc.function(sc.arg("z", 2), sc.arg("u", 1), outputs=sc.arg("znext"))
def model(z: sc.Expr, u: sc.Expr) -> sc.Expr:
    return z + 0.1 * sc.concat([z[1:], u])


@sc.function(sc.G(sc.L("x", 3), sc.L("y", 3)), sc.L("out"))
def product(inputs: Any) -> sc.Expr:
    x, y = inputs
    made: sc.Expr = x * y
    return made


def test_form_a_has_one_tree_for_each_parameter() -> None:
    assert model.name == "model"
    assert model.input_names == ("z", "u")
    assert model.output_names == ("znext",)
    assert model.input_shapes == ((2,), (1,))
    assert model.output_shapes == ((2,),)
    assert model.inputs == (sc.sym("z", 2), sc.sym("u", 1))
    np.testing.assert_allclose(model([1.0, 2.0], [3.0]), [1.2, 2.3])


def test_form_b_has_an_input_tree_and_an_output_tree() -> None:
    np.testing.assert_array_equal(product(([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])), [4.0, 10.0, 18.0])
    x = sc.sym("a", 3)
    call = product((x, x))
    assert call.op == sc.ExprOp.CALL
    assert call.attrs["callee"] is product.node
    with pytest.raises(TypeError, match=r"^product takes 1 argument \(\(x, y\)\), got 2$"):
        product(x, x)


def test_both_spellings_of_trees_work_in_both_forms() -> None:
    @sc.function(sc.G(sc.L("x", 2), sc.L("y", ())), sc.arg("k", 1), outputs=sc.G(sc.L("s"), sc.G(sc.L("t"))))
    def nested(xy: Any, k: sc.Expr) -> Any:
        return xy[0] * k, (xy[1] + k.sum(),)

    assert nested.output_names == ("s", "t")
    s, (t,) = nested(([1.0, 2.0], 3.0), [2.0])
    assert (s.tolist(), t.tolist()) == ([2.0, 4.0], 5.0)

    @sc.function(sc.arg("x", 2), sc.arg("y"))
    def single(x: sc.Expr) -> sc.Expr:
        return x.sum()

    assert single.output_names == ("y",)
    assert single([1.0, 2.0]).shape == ()


def test_names_of_outputs_that_are_not_declared() -> None:
    @sc.function(sc.arg("x", 2))
    def one(x: sc.Expr) -> sc.Expr:
        return 2.0 * x

    @sc.function(sc.arg("x", 2), name="pair")
    def several(x: sc.Expr) -> Any:
        return x, (x + 1.0, x + 2.0)

    assert one.output_names == ("one",)
    assert several.name == "pair"
    assert several.output_names == ("out0", "out1", "out2")
    first, (second, third) = several([0.0, 0.0])
    assert (first[0], second[0], third[0]) == (0.0, 1.0, 2.0)


def _with_default(x: sc.Expr, y: float = 1.0) -> sc.Expr:
    return x * y


def _with_rest(*xs: sc.Expr) -> sc.Expr:
    return xs[0]


def _with_keyword(x: sc.Expr, *, y: sc.Expr) -> sc.Expr:
    return x + y


X2 = sc.arg("x", 2)


@pytest.mark.parametrize(
    ("trees", "outputs", "body", "error", "words"),
    [
        ([X2], None, _with_default, TypeError, "parameter 'y' is not a plain positional one"),
        ([X2], None, _with_rest, TypeError, "parameter 'xs' is not a plain positional one"),
        ([X2], None, _with_keyword, TypeError, "parameter 'y' is not a plain positional one"),
        ([X2], None, lambda x, y: x, TypeError, "1 input trees for 2 parameters"),
        ([X2, X2, X2], None, lambda x: x, TypeError, "3 input trees for 1 parameters"),
        (
            [X2],
            sc.arg("y", 3),
            lambda x: x,
            TypeError,
            "output 'y' is declared float64[3], the body returns float64[2]",
        ),
        ([X2], sc.arg("y"), lambda x: (x, x), TypeError, "expected one array for 'y', got a tuple of 2"),
        ([X2], sc.group(sc.arg("y"), sc.arg("z")), lambda x: x, TypeError, "expected a tuple of 2 for (y, z)"),
        ([X2], sc.arg("y"), lambda x: 1.0, TypeError, "returned a 'float' for 'y', expected an expression"),
        ([X2, X2], None, lambda x, y: x, ValueError, "two inputs are called 'x'"),
        ([X2], sc.group(sc.arg("y"), sc.arg("y")), lambda x: (x, x), ValueError, "two outputs are called 'y'"),
        ([X2], None, lambda x: (), ValueError, "a function needs an output"),
        ([X2], None, lambda x: x + sc.sym("q", 2), ValueError, "depends on the undeclared input 'q'"),
        ([X2], None, lambda x: x[0] + sc.sym("x"), ValueError, "it is declared as tensor<2xfloat64 diff>"),
        (["x"], None, lambda x: x, TypeError, "sc.function takes sc.arg and sc.group, got 'x'"),
    ],
)
def test_errors_of_tracing(trees: Any, outputs: Any, body: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        sc.function(*trees, outputs=outputs, name="f")(body)
    assert words in str(caught.value)


def test_numbers_are_converted_as_numpy_allows() -> None:
    @sc.function(sc.arg("x", 3))
    def double(x: sc.Expr) -> sc.Expr:
        return 2.0 * x

    assert double(np.arange(3)).tolist() == [0.0, 2.0, 4.0]
    assert double([1, True, 2.5]).tolist() == [2.0, 2.0, 5.0]
    with pytest.raises(TypeError, match=r"^double: expected float64 for 'x', got complex128$"):
        double(np.array([1j, 2, 3]))
    with pytest.raises(ValueError, match=r"^double: expected shape \(3,\) for 'x', got \(3, 1\)$"):
        double(np.zeros((3, 1)))
    with pytest.raises(TypeError, match=r"^double takes 1 argument \(x\), got 2$"):
        double(1.0, 2.0)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (np.full((3, 1), 1j), TypeError, "f: expected float64 for 'x', got complex128"),
        (np.full((3, 1), None), TypeError, "f: expected float64 for 'x', got object"),
        (np.array(["1", "2"]), TypeError, "f: expected float64 for 'x', got <U1"),
        (np.ones(3, int), ValueError, "f: expected shape (2, 2) for 'x', got (3,)"),
        (np.ones((2, 2), int), ValueError, "f: 'x' has entries outside of its sparsity pattern"),
    ],
)
def test_of_several_mistakes_the_dtype_comes_first(value: Any, error: type[Exception], message: str) -> None:
    diagonal = sc.TensorType((2, 2), pattern=sc.SparsityPattern.from_mask(np.eye(2)))
    x = build.make(ops.INPUT, [], {"name": "x"}, diagonal)
    f = sc.Function.from_exprs("f", [x], [x])
    with pytest.raises(error) as caught:
        f.numbers([value])
    assert str(caught.value) == message


def test_a_call_is_symbolic_or_numerical_not_both() -> None:
    with pytest.raises(TypeError, match=r"^model: expressions beside numbers; wrap the numbers in sc.const$"):
        model(sc.sym("a", 2), [1.0])
    with pytest.raises(ValueError, match=r"^model: expected shape \(2,\) for 'z', got \(3,\)$"):
        model(sc.sym("a", 3), sc.sym("b", 1))
    with pytest.raises(TypeError, match=r"^model: expected float64 for 'u', got int64; convert it with sc.cast$"):
        model(sc.sym("a", 2), sc.sym("b", 1, dtype="int64"))


def test_a_call_without_arguments_computes() -> None:
    @sc.function()
    def answer() -> sc.Expr:
        return sc.const(6.0) * 7.0

    assert answer() == 42.0
    assert answer.symbolic_call().op == sc.ExprOp.CALL


def test_numbers_go_through_float64_leaves_only() -> None:
    @sc.function(sc.arg("n", sc.TensorType(2, "int64")))
    def integers(n: sc.Expr) -> sc.Expr:
        return n + 1

    with pytest.raises(NotImplementedError, match="int64"):
        integers([1, 2])
    assert integers(sc.sym("k", 2, dtype="int64")).type.dtype == "int64"


def test_a_numerical_call_simplifies_and_the_evaluator_does_not() -> None:
    @sc.function(sc.arg("x", 4))
    def f(x: sc.Expr) -> sc.Expr:
        return 0.0 / x + x / x

    values = [0.0, np.nan, np.inf, 2.0]
    assert f(values).tolist() == [1.0, 1.0, 1.0, 1.0]
    plain = sc.evaluate(f.outputs[0], {"x": np.array(values)})
    np.testing.assert_array_equal(plain, [np.nan, np.nan, np.nan, 1.0])


def test_inputs_of_one_name_are_substituted_at_once() -> None:
    @sc.function(sc.arg("x", 1), sc.arg("y", 1))
    def swap(x: sc.Expr, y: sc.Expr) -> sc.Expr:
        return 10.0 * x + y

    @sc.function(sc.arg("x", 1), sc.arg("y", 1))
    def twice(x: sc.Expr, y: sc.Expr) -> Any:
        return swap(y, x)

    assert twice([1.0], [2.0]).tolist() == [21.0]


def test_functions_of_one_graph_are_equal() -> None:
    x, y = sc.sym("x", 3), sc.sym("y", 3)
    plain = sc.Function.from_exprs("product", [x, y], [x * y], output_names=["out"])
    assert plain == product
    assert hash(plain) == hash(product)
    assert plain is sc.Function.from_exprs("product", [x, y], [x * y], output_names=["out"])
    assert plain is not product
    assert plain != model
    assert sc.Function.of(product.node) is plain


def test_from_exprs() -> None:
    x = sc.sym("x", 3)
    renamed = sc.Function.from_exprs("f", [x], [x * 2.0], ["a"], ["b"])
    assert (renamed.input_names, renamed.output_names) == (("a",), ("b",))
    assert renamed.outputs[0] is sc.sym("a", 3) * 2.0
    assert sc.Function.from_exprs("f", [x], [x, x]).output_names == ("out0", "out1")
    with pytest.raises(ValueError, match="is no input"):
        sc.Function.from_exprs("f", [x * 2.0], [x])
    with pytest.raises(ValueError, match="a function needs a name"):
        sc.Function.from_exprs("", [x], [x])
    with pytest.raises(ValueError, match="2 output names for 1 outputs"):
        sc.Function.from_exprs("f", [x], [x], output_names=["a", "b"])
    with pytest.raises(AttributeError, match="a function is immutable"):
        renamed.node = model.node


def test_a_function_is_verified_when_it_is_made() -> None:
    x = sc.sym("x", 3)
    bad = sc.Expr(sc.ExprOp.RESHAPE, (x,), sc.TensorType((4,)), attrs={"shape": (4,)})
    with pytest.raises(sc.VerifyError, match=r"failed rule 'reshape-size': RESHAPE source size 3 != target size 4$"):
        sc.Function.from_exprs("f", [x], [bad])


def test_templates_make_one_function_for_each_set_of_shapes() -> None:
    traced = []

    @sc.function(sc.arg("x"), sc.arg("k", 1))
    def scaled(x: sc.Expr, k: sc.Expr) -> sc.Expr:
        traced.append(x.shape)
        return x * k

    assert isinstance(scaled, sc.Template)
    assert scaled.instantiate(3).name == "scaled_3"
    assert scaled.instantiate((3, 4)).name == "scaled_3x4"
    assert scaled.instantiate(()).name == "scaled_s"
    assert scaled.instantiate(3) is scaled.instantiate((3,))
    assert scaled([1.0, 2.0, 3.0], [2.0]).tolist() == [2.0, 4.0, 6.0]
    assert traced == [(3,), (3, 4), ()]
    assert scaled(sc.sym("a", 3), sc.sym("b", 1)).attrs["callee"] is scaled.instantiate(3).node
    with pytest.raises(TypeError, match=r"scaled needs 1 shapes \(x\), got 2"):
        scaled.instantiate(1, 2)


def test_a_thousand_functions_that_call_each_other() -> None:
    function = sc.Function.from_exprs("f0", [sc.sym("x")], [sc.sym("x") + 1.0])
    for number in range(1, 1000):
        x = sc.sym("x")
        function = sc.Function.from_exprs(f"f{number}", [x], [function(x) + 1.0])
    assert function(0.0) == 1000.0


def test_a_hint_on_a_parameter_goes_to_a_reshape() -> None:
    @sc.function(sc.arg("x", 3))
    def f(x: sc.Expr) -> sc.Expr:
        return x.block() * 2.0 + x

    assert f.outputs[0].lowering == "block"
    assert [node.op for node in f.nodes].count(sc.Op.get("expr.input")) == 1
    assert f([1.0, 2.0, 3.0]).tolist() == [3.0, 6.0, 9.0]
    reread: Any = sc.parse(sc.render_expr_assembly(f))
    assert reread.args[-1] is f.node


@pytest.mark.parametrize("name", ["SCALY_f", "double", "w", "\u00e9", "two words"])
def test_arrays_may_be_called_anything(name: str) -> None:
    x = sc.sym(name, 2)
    for output in (name, f"_{name}"):
        assert sc.Function.from_exprs("f", [x], [x * 2.0], output_names=[output])([1.0, 2.0]).tolist() == [2.0, 4.0]


def test_an_output_may_have_no_name() -> None:
    x = sc.sym("out", 2)
    f = sc.Function.from_exprs("f", [x], [x * 2.0, x + 1.0], output_names=["", "out_2"])
    twice, more = f([1.0, 2.0])
    assert (twice.tolist(), more.tolist()) == ([2.0, 4.0], [2.0, 3.0])


def test_what_lies_outside_of_a_pattern_is_refused() -> None:
    pattern = sc.SparsityPattern((2, 2), [0], [1])
    f = sc.function(sc.arg("a", sc.TensorType((2, 2), pattern=pattern)), name="f")(lambda a: -a)
    with pytest.raises(ValueError, match="f: 'a' has entries outside of its sparsity pattern"):
        f([[1.0, 2.0], [3.0, 4.0]])


def test_functions_are_pickled_with_their_grouping() -> None:
    assert pickle.loads(pickle.dumps(product)) is product
    with pytest.raises(TypeError, match="is no tensor expression"):
        sc.evaluate([(product.outputs[0],)], {})


def test_arguments_may_be_grouped_5000_deep() -> None:
    depth = 5000

    def wrapped(value: Any, group: Any = lambda value: (value,)) -> Any:
        for _ in range(depth):
            value = group(value)
        return value

    def body(x: Any) -> Any:
        for _ in range(depth):
            (x,) = x
        return wrapped(2.0 * x)

    tree = wrapped(sc.arg("x"), sc.group)
    template = sc.function(tree, outputs=wrapped(sc.arg("y"), sc.group), name="f")(body)
    made = template.instantiate(2)
    assert made.input_trees == (wrapped(sc.arg("x", 2), sc.group),)
    assert made.input_trees != (tree,)
    assert made is template.instantiate(2)
    result = made(wrapped([1.0, 2.0]))
    for _ in range(depth):
        (result,) = result
    assert result.tolist() == [2.0, 4.0]
    assert repr(tree).startswith("group(group(")
    assert repr(tree).endswith("))")


def test_trees_are_told_apart_by_their_groups() -> None:
    x, y = sc.arg("x", 1), sc.arg("y", 1)
    trees = [x, sc.group(x), sc.group(sc.group(x)), sc.group(x, y), sc.group(sc.group(x), y), sc.group(x, sc.group(y))]
    trees += [sc.group(sc.group(x, y)), sc.group(sc.group(), x), sc.group(x, sc.group()), sc.group(), sc.group(y)]
    assert len(set(trees)) == len(trees)
    assert sc.group(sc.group(x), y) == sc.group(sc.group(sc.arg("x", 1)), sc.arg("y", 1))
    assert hash(sc.group(sc.group(x), y)) == hash(sc.group(sc.group(sc.arg("x", 1)), sc.arg("y", 1)))
