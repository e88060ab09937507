"""Attribute values: the kinds there are, how they are frozen, told apart and spelled.

One set of kinds serves every dialect: ``None``, booleans, integers, floats, strings, bare words (`Word`), element types
(`DType`), tables of numbers (`Table`), slices, lists (stored as tuples), maps, references to other nodes, as to the
function that a call calls, and what dialects add (`OwnKind`). Identity never merges what Python's ``==`` merges: ``1``,
``1.0`` and ``True`` are three values, ``"host"`` and the word ``host`` are two, and floats are told apart by bits.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect
from collections.abc import Hashable, Mapping
from functools import lru_cache
from struct import pack
from typing import Any, ClassVar, Final, NoReturn

from scaly_ir.tables import Table
from scaly_ir.text.spelling import spell_float, spell_string, surrogate_pair
from scaly_ir.types import DType, is_word

_is_dotted = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*").fullmatch

AttrValue = Any
"""One frozen attribute value, of a kind listed above."""


class Referable:
    """The base of nodes, which an attribute may refer to: told apart by identity, spelled by `reference_name`."""

    __slots__ = ()

    @property
    def reference_name(self) -> str:
        """What text calls it."""
        raise NotImplementedError


class OwnKind:
    """The base of what a dialect adds to the kinds of values, as affine maps: immutable, with ``==`` and `hash`.

    A subclass gives the text of a value (`spell`), which its dialect's grammar reads, and says what messages call such
    values. Stored graphs keep the text; `encoding.register_kind` tells how it is read back.
    """

    __slots__ = ()

    words: ClassVar[str]
    """A value in the words of the IR, as "an affine map"."""

    def spell(self) -> str:
        """Return the text of the value."""
        raise NotImplementedError


class Word(str):
    """An enumerated value that prints without quotes, as ``global`` in ``{kind=global}``.

    `ValueError` for a text that would not read back as a word: no identifier, or one that means something else.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Word:
        """Return the word `text`."""
        if not is_word(text):
            raise ValueError(f"'{text}' is no word; an enumerated value is an identifier")
        return super().__new__(cls, text)

    def __repr__(self) -> str:
        return f"Word({str(self)!r})"


_CONSTANTS: Final[dict[str, AttrValue]] = {"True": True, "False": False, "None": None}


def word_or_constant(text: str) -> AttrValue:
    """Return the value of a bare token in an attribute: True, False, None or a word."""
    return _CONSTANTS[text] if text in _CONSTANTS else Word(text)


class Attrs(dict[str, AttrValue]):
    """The attributes of a node: a read-only mapping that knows its identity key.

    Values are frozen when the mapping is made: lists become tuples, maps become `Attrs`. `TypeError` for a value of an
    unknown kind and for any attempt to change the mapping, `ValueError` for a text that no file can hold.
    """

    __slots__ = ("key",)

    key: tuple[Hashable, ...]
    """Equal for two mappings exactly when all their values are the same by kind and by bits."""

    def __init__(self, values: Mapping[str, AttrValue] | None = None) -> None:
        if not values:
            super().__init__()
            self.key = ()
            return
        super().__init__({freeze_text(name): freeze(values[name]) for name in sorted(values)})
        self.key = tuple([part for name, value in self.items() for part in (name, value_key(value))])

    @staticmethod
    def trusted(values: dict[str, AttrValue], key: tuple[Hashable, ...]) -> Attrs:
        """Make attributes without checks, for readers: `values` frozen and sorted, `key` what `__init__` would find."""
        attrs = Attrs.__new__(Attrs)
        _fill(attrs, values)
        attrs.key = key
        return attrs

    def followed_by(self, key: str, name: str) -> Attrs:
        """Return these attributes and ``{key: name}`` of one string, where `key` sorts behind all of theirs; quick."""
        name = freeze_text(str(name))
        return Attrs.trusted({**self, key: name}, (*self.key, key, name))

    def including(self, key: str, value: AttrValue) -> Attrs:
        """Return these attributes and one more, or with another value for one that is among them."""
        if key in self:
            return Attrs({**self, key: value})
        held, names = freeze(value), list(self)
        at = bisect(names, key)
        names.insert(at, key)
        values = {name: held if name == key else self[name] for name in names}
        return Attrs.trusted(values, (*self.key[: 2 * at], freeze_text(key), value_key(held), *self.key[2 * at :]))

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("the attributes of a node are read-only; build a new node with 'replace'")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> Attrs:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Attrs:
        return self

    def __reduce__(self) -> tuple[type[Attrs], tuple[dict[str, AttrValue]]]:
        return Attrs, (dict(self),)


_fill = dict.update

NO_ATTRS: Final = Attrs()


def named(key: str, name: str) -> Attrs:
    """Return the attributes ``{key: name}`` of one string, the commonest there are."""
    if type(name) is not str or not name.isascii():
        name = freeze_text(str(name))  # a word is another value than the text it spells
    return Attrs.trusted({key: name}, (key, name))


_ATOMS: Final = frozenset({type(None), bool, int, float, Word, DType, Table})
"""The kinds of values that are what they are; a text is one as well, once it was looked at."""


def freeze_text(text: str) -> str:
    """Return `text`; `ValueError` when it holds two surrogates in a row, which are one character once written out."""
    if not text.isascii():
        pair = surrogate_pair(text)
        if pair is not None:
            raise ValueError(f"an attribute cannot hold {pair}")
    return text


def freeze(value: Any) -> AttrValue:
    """Return `value` as an immutable attribute value.

    `TypeError` when it is of no known kind, `ValueError` for a text that could not be written to a file and read back.
    """
    kind = type(value)
    if kind is str:
        return freeze_text(value)
    if kind in _ATOMS or kind is Attrs:
        return value
    if kind is tuple or kind is list:
        if _ATOMS.issuperset(map(type, value)):
            return tuple(value)
        return tuple([item if type(item) is str and item.isascii() else freeze(item) for item in value])
    if kind is slice:
        return slice(freeze(value.start), freeze(value.stop), freeze(value.step))
    if isinstance(value, Mapping):
        return Attrs(value)
    if isinstance(value, Referable | OwnKind):
        return value
    raise TypeError(f"an attribute cannot hold a value of type '{kind.__name__}'")


def value_key(value: AttrValue) -> Hashable:
    """Return a hashable that is equal for two frozen values exactly when they are the same attribute value."""
    kind = type(value)
    if kind is str:
        text: str = value
        return text
    if kind is float:
        return (float, pack("<d", value))
    if kind is tuple:
        kinds = {type(item) for item in value}
        if kinds == {float}:
            return (tuple, float, array("d", value).tobytes())
        if kinds == {int}:
            return (tuple, int, value)
        if kinds == {str}:
            return (tuple, *value)
        return (tuple, *[value_key(item) for item in value])
    if kind is slice:
        return (slice, value_key(value.start), value_key(value.stop), value_key(value.step))
    if kind is Attrs:
        return (Attrs, value.key)
    return (kind, value)


def spell_value(value: AttrValue) -> str:
    """Return the text of one attribute value; reading it back gives the same value."""
    kind = type(value)
    if kind is str:
        return spell_string(value)
    if kind is Word or kind is DType:
        return str(value)
    if kind is float:
        return spell_float(value, point=True)
    if kind is tuple:
        return f"[{', '.join([spell_value(item) for item in value])}]"
    if kind is slice:
        return f"slice({spell_value(value.start)}, {spell_value(value.stop)}, {spell_value(value.step)})"
    if kind is Attrs:
        return spell_attrs(value) or "{}"
    if kind is Table:
        table: Table = value
        return table.spell()
    if isinstance(value, Referable):
        return spell_string(value.reference_name)
    if isinstance(value, OwnKind):
        return value.spell()
    return str(value)


@lru_cache(maxsize=1024)
def spell_key(key: str) -> str:
    """Return a key bare when it is an identifier, or several joined by points, else quoted."""
    return key if _is_dotted(key) and key not in ("inf", "nan") else spell_string(key)


def spell_attrs(attrs: Mapping[str, AttrValue], hide: frozenset[str] = frozenset()) -> str:
    """Return ``{key=value, ...}`` sorted by key without the keys in `hide`, or ``""`` when nothing is left."""
    shown = [f"{spell_key(key)}={spell_value(attrs[key])}" for key in sorted(attrs) if key not in hide]
    return f"{{{', '.join(shown)}}}" if shown else ""
