"""Values of inputs: every way to write one, what is lossless, and what is said of what is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.tools.run_cases import SCALE, same, scaly_run

pytestmark = pytest.mark.usefixtures("workspace")


def given(value: str, type_: str) -> str:
    """Return what is printed of a value, or what is said of it."""
    done = scaly_run("--in", f"x={value}", stdin=same(type_))
    if done.code == 0:
        return done.out.partition("\n")[2].strip()
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("<stdin>:1:17: error: input %x of @same, --in x=")
    return done.err.splitlines()[0].partition(f"--in x={value}: ")[2]


@pytest.mark.parametrize(
    ("value", "type_", "shown"),
    [
        ("2.5", "tensor<float64>", "2.5"),
        (" [ 1 , .5,1e3 ] ", "tensor<3xfloat64>", "[1.0, 0.5, 1000.0]"),
        ("[nan, -inf, -0]", "tensor<3xfloat64>", "[nan, -inf, -0.0]"),
        ("[[1,2]]", "tensor<1x2xint32>", "[[1, 2]]"),
        ("[[], []]", "tensor<2x0xfloat64>", "[[], []]"),
        ("[]", "tensor<0xfloat64>", "[]"),
        ("0.1", "tensor<float32>", "0.1"),
        ("[2.0, 1e3]", "tensor<2xint64>", "[2, 1000]"),
        ("9223372036854775807", "tensor<int64>", "9223372036854775807"),
        ("[true, False, 1]", "tensor<3xbool>", "[true, false, true]"),
        ("fill:7", "tensor<2xint64>", "[7, 7]"),
        ("arange", "tensor<2x2xfloat64>", "[[0.0, 1.0],\n   [2.0, 3.0]]"),
    ],
)
def test_values(value: str, type_: str, shown: str) -> None:
    assert given(value, type_) == shown


@pytest.mark.parametrize(
    ("value", "type_", "message"),
    [
        ("[1,2]", "tensor<3xfloat64>", "expected tensor<3xfloat64>, got tensor<2xfloat64>"),
        ("[1]", "tensor<float64>", "expected tensor<float64>, got tensor<1xfloat64>"),
        ("1", "tensor<1xfloat64>", "expected tensor<1xfloat64>, got tensor<float64>"),
        ("[[1],[2,3]]", "tensor<2x1xfloat64>", "the lists in '[[1],[2,3]]' have different lengths"),
        ("[1,[2]]", "tensor<2xfloat64>", "the lists in '[1,[2]]' have different lengths"),
        ("[[1],2]", "tensor<2xfloat64>", "the lists in '[[1],2]' have different lengths"),
        ("[1,2", "tensor<2xfloat64>", "'[1,2' lacks a closing ']'"),
        ("[1,]", "tensor<1xfloat64>", "'[1,]' is no number and no list as in [[1, 2], [3, 4]]: unexpected ']'"),
        ("1 2", "tensor<float64>", "'1 2' is no number and no list as in [[1, 2], [3, 4]]: unexpected '2'"),
        ("0x10", "tensor<float64>", "'0x10' is no number"),
        ("1_0", "tensor<float64>", "'1_0' is no number"),
        ("1.5", "tensor<int64>", "1.5 is not exact as int64"),
        ("nan", "tensor<int64>", "nan is not exact as int64"),
        ("2147483648", "tensor<int32>", "2147483648 is not exact as int32"),
        ("9007199254740993", "tensor<float64>", "9007199254740993 is not exact as float64"),
        ("16777217", "tensor<float32>", "16777217 is not exact as float32"),
        ("1e39", "tensor<float32>", "1e39 is too large for float32"),
        ("2", "tensor<bool>", "'2' is no bool: write true or false"),
        ("arange", "tensor<2xbool>", "'arange' gives numbers, not bool"),
        ("random:x", "tensor<float64>", "the seed in 'random:x' is a whole number of at least 0"),
        ("none.npy", "tensor<float64>", "cannot read 'none.npy': No such file or directory"),
        ("none.npz", "tensor<float64>", "'none.npz' holds arrays by name; write none.npz:NAME"),
    ],
)
def test_what_is_no_value(value: str, type_: str, message: str) -> None:
    assert given(value, type_) == message


def test_a_long_value_is_cut_in_the_message() -> None:
    done = scaly_run("--in", f"x={'9' * 5000}", stdin=same("tensor<float64>"))
    shown = f"--in x={'9' * 60}...: a number of 5,000 characters is too long"
    assert done.err.splitlines()[0] == f"<stdin>:1:17: error: input %x of @same, {shown}"


def test_files_of_arrays() -> None:
    np.save("x.npy", np.array([1, 2, 3]))
    np.savez("data.npz", big=np.array([2**53 + 1, 0, 0]), half=np.array([0.5, 1, 2], "f4"), pair=np.array([1j]))
    Path("text.npy").write_text("no array")
    Path("objects.npz").write_text("no archive")
    type_ = "tensor<3xfloat64>"
    assert given("x.npy", type_) == "[1.0, 2.0, 3.0]"
    assert given("data.npz:half", type_) == "[0.5, 1.0, 2.0]"
    assert given("data.npz:half", "tensor<3xint64>").endswith("got tensor<3xfloat32>; its numbers would change")
    assert given("data.npz:big", type_).endswith("got tensor<3xint64>; its numbers would change")
    assert given("data.npz:pair", type_) == "expected tensor<3xfloat64>, got tensor<1xcomplex128>"
    assert given("data.npz:hal", type_) == "'data.npz' has no array 'hal'; did you mean 'half'?"
    assert given("text.npy", type_) == "cannot read 'text.npy': it is no file of NumPy arrays of numbers"
    assert given("objects.npz:x", type_) == "cannot read 'objects.npz': it is no file of NumPy arrays of numbers"


def test_random_numbers_depend_on_seed_and_position_alone() -> None:
    both = scaly_run("--random=5").out
    assert scaly_run("--random=5").out == both
    assert scaly_run("--random=6").out != both
    assert scaly_run("--in", "x=random:5", "--in", "k=random:5").out == both
    assert scaly_run("--in", "k=random:5", "--random=5").out == both
    for type_ in ("tensor<9xbool>", "tensor<9xint32>", "tensor<9xfloat32>"):
        assert scaly_run("--random=1", stdin=same(type_)).code == 0


def test_values_by_name() -> None:
    np.savez("in.npz", x=np.array([1.0, 2.0, 3.0]), k=np.array(2.0), other=np.zeros(1))
    done = scaly_run("--in-npz=in.npz")
    assert (done.code, done.out) == (0, "y: tensor<3xfloat64>\n  [2.0, 4.0, 6.0]\n")
    assert done.err == "scaly-run: warning: 'in.npz' has 'other', which is no input of @scale\n"
    assert scaly_run("-q", "--in-npz=in.npz", "--in", "k=3").out == "y: tensor<3xfloat64>\n  [3.0, 6.0, 9.0]\n"
    np.savez("bad.npz", x=np.zeros(4))
    done = scaly_run("--in-npz=bad.npz", "--random=0")
    message = "input %x of @scale, 'bad.npz:x': expected tensor<3xfloat64>, got tensor<4xfloat64>"
    assert done.err.startswith(f"<stdin>:1:18: error: {message}\n")


def test_names_of_inputs() -> None:
    assert scaly_run("--in", "1=2", "--in", "%x=fill:1", "--in", "x=fill:2").out.endswith("[4.0, 4.0, 4.0]\n")
    for name, said in (
        ("2", "@scale has no input '2'; it takes x, k"),
        ("y", "'y' is a result of @scale and takes no value"),
        ("kk", "@scale has no input 'kk'; did you mean 'k'?"),
    ):
        done = scaly_run("--random=0", "--in", f"{name}=1", stdin=SCALE)
        assert (done.code, done.err) == (1, f"scaly-run: error: {said}\n")


def test_entries_outside_of_a_sparsity_pattern() -> None:
    type_ = "tensor<2x2xfloat64, sparse<rows=[0, 1], cols=[0, 1]>>"
    assert given("[[1,0],[0,2]]", type_) == "[[1.0, 0.0],\n   [0.0, 2.0]]"
    assert given("fill:1", type_) == "it has entries outside of the sparsity pattern that are not zero"
    assert scaly_run("--random=0", stdin=same(type_)).code == 0
