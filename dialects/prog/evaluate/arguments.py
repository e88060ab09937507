"""Arrays that users pass in and get back: of the parameter's dtype, flat or of its shape.

Source: program specification 4.4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scaly_ir.dialects.prog.evaluate.memory import ELEMENTS, Array, Place
from scaly_ir.errors import EvaluationError
from scaly_ir.graph import Node
from scaly_ir.types import DType


def input_array(label: str, value: Any, param: Node) -> Array:
    """Return what was given for a parameter as flat new memory; `label` names the parameter in messages.

    `EvaluationError` when the dtype of an array, or the number or layout of elements, is not that of the parameter, or
    when a number is none of its dtype.
    """
    dtype: DType = param.type
    shape = param.attrs["shape"]
    size = math.prod(shape)
    array = _array_of(label, value)
    fits = array.shape in (shape, (size,)) or (array.ndim == 0 and size == 1)
    if not fits:
        wanted = f"{list(shape)} or [{size}]" if len(shape) != 1 else str(list(shape))
        raise _refused(f"{label} has shape {wanted}, the array given for it {list(array.shape)}")
    if array.dtype != np.dtype(str(dtype)):
        if isinstance(value, np.ndarray | np.generic):
            raise _refused(f"{label} is {dtype}, the array given for it {array.dtype}")
        array = _converted(label, array, dtype)
    return np.array(array, ELEMENTS[dtype]).reshape(-1)


def _refused(reason: str) -> EvaluationError:
    return EvaluationError(reason, reason=reason)


def _array_of(label: str, value: Any) -> Array:
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)
    try:
        array = np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise _refused(f"what is given for {label} is no array: {error}") from None
    if array.size == 0 and array.dtype.kind == "f":
        return array
    if array.dtype.kind not in "biuf":
        raise _refused(f"what is given for {label} does not consist of numbers that fit a machine type")
    return array


def _converted(label: str, array: Array, dtype: DType) -> Array:
    """Return numbers in another dtype, where nothing of them is lost."""
    with np.errstate(all="ignore"):
        converted = array.astype(str(dtype))
    # Python compares numbers of different kinds by their exact values, NumPy does not.
    for given, kept in zip(array.reshape(-1).tolist(), converted.reshape(-1).tolist(), strict=True):
        if given != kept and given == given:
            raise _refused(f"{label} is {dtype}, which does not hold {given}")
        if given != given and kept == kept:
            raise _refused(f"{label} is {dtype}, which does not hold nan")
    return converted


def output_array(place: Place, param: Node) -> Array:
    """Return what a parameter holds as a new array of its shape and dtype."""
    return place.values.astype(str(place.dtype)).reshape(param.attrs["shape"])
