"""Arrays as users write them: numbers in brackets, files, and rules that make one of any shape.

Every form gives an array of the wanted type, or says why it cannot: nothing is converted with a loss. Source: tools
specification 6.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.text.spelling import MAX_INTEGER_DIGITS, round_float
from scaly_ir.tools.run.interface import Parameter, type_text
from scaly_ir.types import BOOL, DType, int_range

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


class ValueFault(Exception):  # noqa: N818 - becomes a diagnostic
    """Why a text is no value for a parameter."""


def read_value(text: str, parameter: Parameter, position: int) -> Array:
    """Return the array that `text` stands for, of the parameter's type; `ValueFault` says what is wrong.

    `position` is the parameter's number, on which random numbers depend.
    """
    rule, colon, argument = text.partition(":")
    if text == "arange":
        return _arange(parameter)
    if colon and rule in ("fill", "random"):
        return _filled(argument, parameter) if rule == "fill" else random_array(_seed(argument), parameter, position)
    if text.endswith(".npy"):
        return converted(_loaded(text), parameter)
    path, _, key = text.rpartition(":")
    if path.endswith(".npz"):
        return converted(from_archive(load_archive(path), path, key), parameter)
    if text.endswith(".npz"):
        raise ValueFault(f"'{text}' holds arrays by name; write {text}:NAME")
    return _literal(text, parameter)


# --- numbers ----------------------------------------------------------------------------------------------------------

_tokens: Final = re.compile(r"\s*([\[\],]|[^\s\[\],]+)")
_is_decimal: Final = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?").fullmatch
_is_integer: Final = re.compile(r"[-+]?[0-9]+").fullmatch
_SPECIAL: Final = {"nan": math.nan, "-nan": -math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
_BOOLS: Final = {"true": 1, "false": 0, "1": 1, "0": 0}


def _literal(text: str, parameter: Parameter) -> Array:
    import numpy

    shape, words = _nested(text)
    numbers = [_number(word, parameter.dtype) for word in words]
    if shape != parameter.shape:
        raise wrong_type(parameter, shape, parameter.dtype)
    return numpy.array(numbers, str(parameter.dtype)).reshape(shape)


def _nested(text: str) -> tuple[tuple[int, ...], list[str]]:
    """Return the shape and the words of a number, or of nested lists of them."""
    open_lists: list[list[Any]] = [[]]
    expect_item = True
    for token in _tokens.findall(text):
        if token == "[" and expect_item:
            open_lists.append([])
        elif token == "]" and len(open_lists) > 1 and (not expect_item or not open_lists[-1]):
            done = open_lists.pop()
            open_lists[-1].append(done)
            expect_item = False
        elif token == "," and len(open_lists) > 1 and not expect_item:
            expect_item = True
        elif token not in "[]," and expect_item:
            open_lists[-1].append(token)
            expect_item = False
        else:
            raise ValueFault(f"'{text}' is no number and no list as in [[1, 2], [3, 4]]: unexpected '{token}'")
    if len(open_lists) > 1:
        raise ValueFault(f"'{text}' lacks a closing ']'")
    if len(open_lists[0]) != 1:
        raise ValueFault("a value is a number, a list of them, FILE.npy, FILE.npz:NAME, fill:X, arange or random:SEED")
    return _shape_of(open_lists[0][0], text)


def _shape_of(nested: Any, text: str) -> tuple[tuple[int, ...], list[str]]:
    shape = []
    level = [nested]
    while level and isinstance(level[0], list):
        counts = {len(part) if isinstance(part, list) else -1 for part in level}
        if len(counts) != 1:
            raise ValueFault(f"the lists in '{text}' have different lengths")
        shape.append(len(level[0]))
        level = [item for part in level for item in part]
    if any([isinstance(item, list) for item in level]):
        raise ValueFault(f"the lists in '{text}' have different lengths")
    return tuple(shape), level


def _number(word: str, dtype: DType) -> float:
    """Return a word as a number of a type."""
    if dtype is BOOL:
        if word.lower() not in _BOOLS:
            raise ValueFault(f"'{word}' is no bool: write true or false")
        return _BOOLS[word.lower()]
    if len(word) > MAX_INTEGER_DIGITS:
        raise ValueFault(f"a number of {len(word):,} characters is too long")
    value = _SPECIAL.get(word.lower()) if not _is_decimal(word) else float(word)
    if value is None:
        raise ValueFault(f"'{word}' is no number{_file_hint(word)}")
    if dtype.is_int:
        exact = int(word) if _is_integer(word) else int(value) if value == value and abs(value) != math.inf else None
        if exact is None or (exact != value and not _is_integer(word)) or exact not in int_range(dtype):
            raise ValueFault(f"{word} is not exact as {dtype}")
        return exact
    rounded = round_float(value, dtype)
    if math.isinf(rounded) and word.lower() not in _SPECIAL:
        raise ValueFault(f"{word} is too large for {dtype}")
    if _is_integer(word) and int(rounded) != int(word):
        raise ValueFault(f"{word} is not exact as {dtype}")
    return rounded


def _file_hint(word: str) -> str:
    return "; a file is named with its extension, .npy or .npz" if os.path.exists(word) else ""


# --- rules ------------------------------------------------------------------------------------------------------------


def _arange(parameter: Parameter) -> Array:
    import numpy

    if parameter.dtype is BOOL:
        raise ValueFault("'arange' gives numbers, not bool")
    return numpy.arange(math.prod(parameter.shape)).astype(str(parameter.dtype)).reshape(parameter.shape)


def _filled(word: str, parameter: Parameter) -> Array:
    import numpy

    return numpy.full(parameter.shape, _number(word, parameter.dtype), str(parameter.dtype))


def _seed(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 20):
        raise ValueFault(f"the seed in 'random:{word}' is a whole number of at least 0")
    return int(word)


def random_array(seed: int, parameter: Parameter, position: int) -> Array:
    """Return random numbers: floats from -1 to 1, integers from 0 to 9; the same for a seed and a position."""
    import numpy

    generator = numpy.random.default_rng([seed, position])
    dtype, shape = parameter.dtype, parameter.shape
    if dtype.is_float:
        array = numpy.asarray(generator.uniform(-1.0, 1.0, shape), str(dtype))
    else:
        array = numpy.asarray(generator.integers(0, 2 if dtype is BOOL else 10, shape), str(dtype))
    return array if parameter.pattern is None else array * parameter.pattern.to_mask().astype(str(dtype))


# --- files ------------------------------------------------------------------------------------------------------------


def _loaded(path: str) -> Array:
    loaded: Array = _opened(path, lambda numpy: numpy.load(path, allow_pickle=False))
    return loaded


def load_archive(path: str) -> dict[str, Array]:
    """Return the arrays of a .npz file by name."""

    def read(numpy: Any) -> dict[str, Array]:
        with numpy.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}

    found: dict[str, Array] = _opened(path, read)
    return found


def _opened(path: str, read: Callable[[Any], Any]) -> Any:
    import zipfile

    import numpy

    try:
        return read(numpy)
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as failure:
        reason = getattr(failure, "strerror", None) or "it is no file of NumPy arrays of numbers"
        raise ValueFault(f"cannot read '{path}': {reason}") from failure


def from_archive(archive: dict[str, Array], path: str, key: str) -> Array:
    """Return one array of an archive."""
    if key not in archive:
        hint = did_you_mean(key, archive) or f"; it has {', '.join(archive) or 'nothing'}"
        raise ValueFault(f"'{path}' has no array '{key}'{hint}")
    return archive[key]


def converted(array: Array, parameter: Parameter) -> Array:
    """Return an array of a file in the type of a parameter."""
    import numpy

    wanted = numpy.dtype(str(parameter.dtype))
    if array.shape != parameter.shape or array.dtype.kind not in "biuf":
        raise wrong_type(parameter, array.shape, array.dtype)
    with numpy.errstate(all="ignore"):
        result = array.astype(wanted)
        back = result.astype(array.dtype)
    if not numpy.array_equal(back, array, equal_nan=array.dtype.kind == "f"):
        raise wrong_type(parameter, array.shape, array.dtype, "; its numbers would change")
    return result


def wrong_type(parameter: Parameter, shape: Sequence[int], dtype: object, because: str = "") -> ValueFault:
    """Return the complaint that an array is of another type than a parameter."""
    return ValueFault(f"expected {parameter.type}, got {type_text(parameter.kind, shape, dtype)}{because}")
