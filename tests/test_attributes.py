"""Attribute values: freezing, telling apart, and spelling without loss."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.attributes import NO_ATTRS, Attrs, Word, freeze, named, spell_attrs, spell_value, value_key
from scaly_ir.dialects.prog import build
from scaly_ir.types import BOOL, FLOAT64
from tests.dialects.prog.generators import ATTR_KEYS, ATTR_VALUES


def read_value(text: str) -> Any:
    """Read an attribute value by reading a statement that has it."""
    root = sc.parse(f"prog.call @f() {{a={text}}}")
    return root.args[0].attrs["a"]


@given(ATTR_VALUES)
def test_values_read_back_from_their_text(value: Any) -> None:
    frozen = freeze(value)
    note(spell_value(frozen))
    assert value_key(read_value(spell_value(frozen))) == value_key(frozen)


@given(st.dictionaries(ATTR_KEYS, ATTR_VALUES))
def test_attributes_read_back_from_their_text(values: dict[str, Any]) -> None:
    attrs = Attrs(values)
    text = spell_attrs(attrs)
    note(text)
    read = sc.parse(f"prog.call @f() {text}").args[0].attrs
    assert Attrs({key: value for key, value in read.items() if key != "callee"}).key == attrs.key
    assert text == "" or text == spell_attrs(read, frozenset({"callee"}))


@given(ATTR_VALUES)
def test_freezing_is_idempotent_and_hashable(value: Any) -> None:
    frozen = freeze(value)
    assert freeze(frozen) is frozen or value_key(freeze(frozen)) == value_key(frozen)
    hash(value_key(frozen))
    assert value_key(freeze(copy.deepcopy(value))) == value_key(frozen)


@given(ATTR_VALUES, ATTR_VALUES)
def test_values_have_one_key_exactly_when_they_have_one_text(one: Any, other: Any) -> None:
    one, other = freeze(one), freeze(other)
    assert (value_key(one) == value_key(other)) == (spell_value(one) == spell_value(other))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (-3, "-3"),
        (10**30, "1" + "0" * 30),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (1e16, "1e+16"),
        (float("-inf"), "-inf"),
        ("", '""'),
        ("a\n\u2028é", '"a\\n\\u2028é"'),
        (Word("host"), "host"),
        (BOOL, "bool"),
        ([], "[]"),
        ([1, [2.0, "x"], None], '[1, [2.0, "x"], None]'),
        ({}, "{}"),
        ({"b": 1, "a": {"c d": 2}}, '{a={"c d"=2}, b=1}'),
        (slice(None, 4, -1), "slice(None, 4, -1)"),
        (slice([1], {"a": 1}, Word("w")), "slice([1], {a=1}, w)"),
    ],
)
def test_spelling_of_values(value: Any, text: str) -> None:
    assert spell_value(freeze(value)) == text
    assert value_key(read_value(text)) == value_key(freeze(value))


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("a", "{a=1}"),
        ("_A1", "{_A1=1}"),
        ("a.b", "{a.b=1}"),
        ("True", "{True=1}"),
        ("to", "{to=1}"),
        ("prog.add", "{prog.add=1}"),
        ("float64", "{float64=1}"),
        ("", '{""=1}'),
        ("a b", '{"a b"=1}'),
        ("a-b", '{"a-b"=1}'),
        ("a$", '{"a$"=1}'),
        ("a.", '{"a."=1}'),
        ("1", '{"1"=1}'),
        ("inf", '{"inf"=1}'),
        ("nan", '{"nan"=1}'),
        ("é", '{"é"=1}'),
        ("\n", '{"\\n"=1}'),
    ],
)
def test_spelling_of_keys(key: str, text: str) -> None:
    assert spell_attrs({key: 1}) == text
    assert sc.parse(f"prog.call @f() {text}").args[0].attrs[key] == 1


PAIR = "a\ud800\udc00"


@pytest.mark.parametrize(
    "make",
    [
        lambda: freeze(PAIR),
        lambda: freeze([1, PAIR]),
        lambda: freeze([[PAIR], 1.0]),
        lambda: freeze({"a": PAIR}),
        lambda: freeze({PAIR: 1}),
        lambda: freeze(slice(None, PAIR)),
        lambda: named("name", PAIR),
        lambda: build.var(PAIR, FLOAT64),
        lambda: build.buffer(PAIR, 4, FLOAT64),
    ],
)
def test_two_surrogates_in_a_row_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match="cannot hold the surrogates") as caught:
        make()
    assert str(caught.value) == (
        "an attribute cannot hold the surrogates U+D800 and U+DC00 in a row; write the character U+10000"
    )


@pytest.mark.parametrize("text", ["\ud800", "\udc00\ud800", "\ud800x\udc00", "\U00010000"])
def test_other_surrogates_read_back_through_a_file(text: str) -> None:
    root = build.block([build.assign(text, build.const(1, FLOAT64), declare=True)])
    printed = sc.render(root).encode("utf-8")
    assert sc.parse(printed.decode("utf-8")) is root


def test_attributes_are_spelled_in_order_and_without_those_hidden() -> None:
    attrs = Attrs({"b": 1, "a": 2, "C": 3, "name": "x"})
    assert spell_attrs(attrs, frozenset({"name"})) == "{C=3, a=2, b=1}"
    assert spell_attrs(attrs, frozenset(attrs)) == spell_attrs(NO_ATTRS) == ""


def test_a_list_of_one_is_not_its_element() -> None:
    for value in (1.0, -0.0, 1, True, "x", None, Word("w"), BOOL, float("nan")):
        assert value_key((value,)) != value_key(value)
        assert value_key(((value,),)) != value_key((value,))


def test_keys_of_lists_tell_kinds_apart() -> None:
    lists: list[Any] = [
        (1, 2),
        (1.0, 2.0),
        (True, 2),
        (1, 2.0),
        (1.0, 2),
        ("1", 2),
        (),
        ((),),
        (1,),
        (1, 2, 3),
        (-0.0,),
        (0.0,),
        (0,),
    ]
    assert len({value_key(value) for value in lists}) == len(lists)


@pytest.mark.parametrize(
    "text", ["", "a b", "1", "a-b", "a.b", "é", "True", "None", "inf", "nan", "slice", "float64", '"']
)
def test_a_word_is_an_identifier_with_no_other_meaning(text: str) -> None:
    with pytest.raises(ValueError, match="is no word"):
        Word(text)


def test_a_word_is_a_string_of_its_own_kind() -> None:
    assert Word("host") == "host"
    assert repr(Word("host")) == "Word('host')"
    assert value_key(Word("host")) != value_key("host")
    assert copy.deepcopy(Word("host")) == pickle.loads(pickle.dumps(Word("host"))) == Word("host")
    assert type(pickle.loads(pickle.dumps(Word("host")))) is Word


class _Text(str):
    """A string of a kind that attributes do not know."""


@pytest.mark.parametrize("value", [object(), {1}, b"x", 1j, _Text("x"), [1, {2}], {"a": object()}, slice(1, 2, b"")])
def test_values_of_other_kinds_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="an attribute cannot hold a value of type"):
        freeze(value)


def test_attributes_are_read_only() -> None:
    attrs: Any = Attrs({"a": [1], "b": {"c": 2}})
    with pytest.raises(TypeError, match="read-only"):
        attrs["a"] = 2
    with pytest.raises(TypeError, match="read-only"):
        del attrs["a"]
    with pytest.raises(TypeError, match="read-only"):
        attrs |= {"d": 1}
    with pytest.raises(TypeError, match="read-only"):
        attrs["b"]["c"] = 3
    assert attrs == {"a": (1,), "b": {"c": 2}}
    assert type(attrs | {"d": 1}) is dict


def test_attributes_stay_themselves() -> None:
    attrs = Attrs({"a": [1, 2.0], "b": slice(1, 2, None)})
    assert copy.copy(attrs) is copy.deepcopy(attrs) is freeze(attrs) is attrs
    assert pickle.loads(pickle.dumps(attrs)).key == attrs.key
    assert Attrs({"b": slice(1, 2, None), "a": (1, 2.0)}).key == attrs.key


def test_quick_ways_make_the_same_attributes() -> None:
    assert named("name", "x").key == Attrs({"name": "x"}).key
    assert Attrs({"kind": Word("w")}).followed_by("name", "x").key == Attrs({"kind": Word("w"), "name": "x"}).key
    assert named("name", "x").followed_by("z", "y") == Attrs({"name": "x", "z": "y"})
    for value in ("x", ("x", "y"), (), [1, 2.0], True, Word("w"), ("x", 1)):
        for key in ("a", "m", "z", "kind"):
            held = Attrs({"kind": Word("w"), "n": 1}).including(key, value)
            expected = Attrs({"kind": Word("w"), "n": 1, key: value})
            assert (held.key, list(held.items())) == (expected.key, list(expected.items()))
        assert Attrs().including("a", value).key == Attrs({"a": value}).key
    with pytest.raises(ValueError, match="an attribute cannot hold"):
        Attrs().including("a", ("\ud83d\ude00",))


def test_a_word_is_not_taken_for_the_name_that_it_spells() -> None:
    held = build.var(Word("loop"))
    assert type(build.var("loop").attrs["name"]) is str
    assert type(held.attrs["name"]) is str or held is not build.var("loop")
