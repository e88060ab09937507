"""Which array each input gets: what was written for it, what a file holds under its name, or random numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from scaly_ir.text.diagnostics import Diagnostic, did_you_mean, error
from scaly_ir.tools.run.interface import Parameter, RunError, Runnable
from scaly_ir.tools.run.values import ValueFault, converted, load_archive, random_array, read_value

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Sources:
    """What a command line says of inputs: name and text of each ``--in``, a file, and a seed for the rest."""

    given: Sequence[tuple[str, str]] = ()
    archive: str = ""
    seed: int | None = None


def bind(runnable: Runnable, sources: Sources) -> tuple[list[Array], list[Diagnostic]]:
    """Return an array for each input, in order, and warnings; `RunError` for all that is wrong at once."""
    positions = {parameter.name: at for at, parameter in enumerate(runnable.inputs)}
    arrays: dict[int, Array] = {}
    faults: list[Diagnostic] = []
    warnings: list[Diagnostic] = []

    def attempt(at: int, origin: str, make: Any) -> None:
        parameter = runnable.inputs[at]
        try:
            arrays[at] = _dense(_with_room(make, parameter), parameter)
        except ValueFault as fault:
            faults.append(
                error(f"input {parameter.shown} of {runnable.shown}, {origin}: {fault}", parameter.span, "input")
            )

    if sources.archive:
        warnings = _from_archive(runnable, sources.archive, positions, attempt)
    given: dict[int, tuple[str, str]] = {}
    for name, text in sources.given:
        at = positions.get(name.removeprefix("%"), int(name) if name.isascii() and name.isdigit() else -1)
        if 0 <= at < len(runnable.inputs):
            given[at] = (name, text)
        else:
            faults.append(_unknown(runnable, name))
    for at, (name, text) in given.items():
        shown = f"{text[:60]}..." if len(text) > 64 else text
        attempt(at, f"--in {name}={shown}", lambda parameter, text=text, at=at: read_value(text, parameter, at))
    blamed = {fault.span for fault in faults}
    for at, parameter in enumerate(runnable.inputs):
        if at in arrays or (parameter.span is not None and parameter.span in blamed):
            continue
        if sources.seed is not None:
            attempt(at, f"--random={sources.seed}", partial(random_array, sources.seed, position=at))
        else:
            what = f"input {parameter.shown} of {runnable.shown} has no value; it is {parameter.type}"
            faults.append(error(f"{what}; give --in {parameter.name}=VALUE, or --random=SEED", parameter.span, "input"))
    if faults:
        raise RunError(*faults)
    return [arrays[at] for at in range(len(runnable.inputs))], warnings


def _from_archive(runnable: Runnable, path: str, positions: dict[str, int], attempt: Any) -> list[Diagnostic]:
    """Bind what a file holds by name; return a warning for each array that is no input."""
    try:
        archive = load_archive(path)
    except ValueFault as fault:
        raise RunError(error(str(fault), code="input")) from fault
    warnings = []
    for name, array in archive.items():
        if name in positions:
            attempt(positions[name], f"'{path}:{name}'", lambda parameter, array=array: converted(array, parameter))
        else:
            message = f"'{path}' has '{name}', which is no input of {runnable.shown}"
            warnings.append(Diagnostic("warning", message, None, "input"))
    return warnings


def _with_room(make: Callable[[Parameter], Array], parameter: Parameter) -> Array:
    """Return what is made for a parameter, if there is memory for it."""
    try:
        return make(parameter)
    except (MemoryError, ValueError) as failure:  # which of them depends on how far too large it is
        if isinstance(failure, ValueError) and parameter.bytes <= sys.maxsize:
            raise
        raise ValueFault(f"it is {parameter.type}, for which there is no memory") from failure


def _dense(array: Array, parameter: Parameter) -> Array:
    """Return an array whose entries outside of the parameter's sparsity pattern are zero."""
    if parameter.pattern is not None and (array * ~parameter.pattern.to_mask()).any():
        raise ValueFault("it has entries outside of the sparsity pattern that are not zero")
    return array


def _unknown(runnable: Runnable, name: str) -> Diagnostic:
    if name.removeprefix("%") in [result.name for result in runnable.results]:
        return error(f"'{name}' is a result of {runnable.shown} and takes no value", code="input")
    known = [parameter.name for parameter in runnable.inputs]
    hint = did_you_mean(name.removeprefix("%"), known) or f"; it takes {', '.join(known) or 'nothing'}"
    return error(f"{runnable.shown} has no input '{name}'{hint}", code="input")
