"""Functions of matrices, loops and buffers as texts, and running them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scaly_ir as sc

Array = np.ndarray[Any, Any]


def function(body: str, params: str = "", results: str = "") -> sc.Node:
    """Return a verified module of one function."""
    module = sc.parse(f"buffer.func @f({params}) -> ({results}) {{\n{body}\n}}\n")
    sc.verify(module)
    return module


def one(body: str, result: str, params: str = "", /, **inputs: Any) -> Array:
    """Return the one result of a function, which its body calls ``%r``."""
    found: Array = sc.run(function(f"{body}\nbuffer.return %r", params, f"%y: {result}"), inputs)["y"]
    return found


def refusal(body: str, result: str, params: str = "", /, **inputs: Any) -> sc.EvaluationError:
    """Return the error of a run."""
    with pytest.raises(sc.EvaluationError) as caught:
        one(body, result, params, **inputs)
    return caught.value
