"""Passes, their options, and the manager that runs a list of them.

A pass is a frozen dataclass whose fields are its options; it maps a root to a root and returns the very object it was
given when it changes nothing. The manager knows no pass: it is given a registry from names to where the classes are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, make_dataclass, replace
from importlib import import_module
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from scaly_ir.dialect import dialect_of
from scaly_ir.errors import PassError, PipelineError
from scaly_ir.graph import Node
from scaly_ir.pipeline import Item, Option, parse_pipeline, spell_item
from scaly_ir.text.diagnostics import did_you_mean, one_of


@dataclass(frozen=True)
class Pass:
    """The base of all passes: subclasses are frozen dataclasses that set the class variables and define `run`."""

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    dialects: ClassVar[frozenset[str] | None] = frozenset()
    """The dialects whose modules the pass takes; None for any."""
    scope: ClassVar[Literal["module", "func"]] = "module"
    counters: ClassVar[Mapping[str, str]] = {}
    """What the pass counts (`scaly_ir.counters.count`): names, and what each means."""

    def run(self, root: Node) -> Node:
        """Return the transformed root, or `root` itself when nothing changes."""
        raise AssertionError(f"pass '{self.name}' defines no run")


@dataclass(frozen=True)
class Pipeline(Pass):
    """A name, with options, for several passes: they stand in its place, so they are what runs and what is watched."""

    def steps(self) -> Sequence[Pass]:
        """Return the passes; `OptionError` for the value of an option that goes with no passes."""
        raise AssertionError(f"pipeline '{self.name}' defines no steps")


class OptionError(Exception):
    """What is wrong with the value of the option `key`, for `build_pipeline` to say where it stands."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


Registry = Mapping[str, str | type[Pass]]
"""From the name of a pass to ``module:class``, or to the class itself for one that a plug-in added."""


def load_pass(registry: Registry, name: str) -> type[Pass]:
    """Return the class of a pass; `KeyError` for an unknown name."""
    entry = registry[name]
    if not isinstance(entry, str):
        return entry
    module, _, attribute = entry.partition(":")
    found: type[Pass] = getattr(import_module(module), attribute)
    return found


def function_pass(
    name: str, function: Callable[..., Node], dialects: Iterable[str] | None, options: Mapping[str, Any]
) -> type[Pass]:
    """Return the pass that calls ``function(root, **options)``.

    `options` gives the default of each option, or its type when there is none; `dialects` None stands for any.
    """

    def run(self: Pass, root: Node) -> Node:
        return function(root, **{field.name: getattr(self, field.name) for field in fields(self)})

    required = [(key, kind) for key, kind in options.items() if isinstance(kind, type)]
    optional = [(key, type(value), value) for key, value in options.items() if not isinstance(value, type)]
    body = {
        "name": name,
        "summary": _summary(function.__doc__ or ""),
        "dialects": None if dialects is None else frozenset(dialects),
        "run": run,
    }
    return make_dataclass(name, [*required, *optional], bases=(Pass,), namespace=body, frozen=True)


def _summary(doc: str) -> str:
    """Return the first line of a docstring as --list-passes shows it."""
    line = doc.strip().partition("\n")[0].rstrip(".")
    return line[:1].lower() + line[1:]


def build_pipeline(text: str, registry: Registry) -> list[Pass]:
    """Return the passes a pipeline text names, with their options; `PipelineError` says what is wrong and where.

    Where it names a `Pipeline`, its steps are returned.
    """
    passes: list[Pass] = []
    for item in parse_pipeline(text):
        step = _build(item, text, registry)
        steps = _steps(step, item, text) if isinstance(step, Pipeline) else (step,)
        for each in steps:
            if item.anchor and item.anchor != each.scope:
                message = f"pass '{each.name}' runs on {_SCOPES[each.scope]}, not on {_SCOPES[item.anchor]}"
                raise PipelineError(message, text=text, start=item.start, end=item.end)
        passes.extend(steps)
    return passes


_SCOPES = {"module": "the module", "func": "each function"}


def _steps(pipeline: Pipeline, item: Item, text: str) -> Sequence[Pass]:
    try:
        return pipeline.steps()
    except OptionError as failure:
        raise _located(failure, item, text) from None


def _located(failure: OptionError, item: Item, text: str) -> PipelineError:
    """Return the error for the value of an option, at that value."""
    given = [option for option in item.options if option.key.replace("-", "_") == failure.key]
    start, end = (given[-1].value_start, given[-1].value_end) if given else (item.start, item.end)
    return PipelineError(str(failure), text=text, start=start, end=end)


def spell_pipeline(passes: Iterable[Pass]) -> str:
    """Return the text of a pipeline of passes, with all their options."""
    return ",".join([spell_item(step.name, {f.name: getattr(step, f.name) for f in fields(step)}) for step in passes])


def _build(item: Item, text: str, registry: Registry) -> Pass:
    name = item.name.replace("-", "_")
    if name not in registry:
        hint = did_you_mean(name, registry) or "; --list-passes shows all"
        raise PipelineError(f"unknown pass '{item.name}'{hint}", text=text, start=item.start, end=item.end)
    cls = load_pass(registry, name)
    try:
        return cls(**read_options(item, cls, f"pass '{name}'", text))
    except OptionError as failure:
        raise _located(failure, item, text) from None


def read_options(item: Item, cls: type[Any], what: str, text: str) -> dict[str, Any]:
    """Return the options of an item as values for the fields of a dataclass.

    `what` names in messages what has the options; `PipelineError` points at `text`.
    """
    hints = get_type_hints(cls) if item.options else {}
    known = {field.name: hints[field.name] for field in fields(cls) if hints}
    values = {}
    for option in item.options:
        key = option.key.replace("-", "_")
        if key not in known:
            hint = did_you_mean(key, known) or (f"; it has {', '.join(known)}" if known else "; it has none")
            message = f"{what} has no option '{option.key}'{hint}"
            raise PipelineError(message, text=text, start=option.start, end=option.end)
        values[key] = _convert(option, known[key], f"option '{key}' of {what}", text)
    for field in fields(cls):
        if field.name not in values and field.default is MISSING and field.default_factory is MISSING:
            message = f"{what} needs its option '{field.name}'"
            raise PipelineError(message, text=text, start=item.start, end=item.end)
    return values


_BOOLS = {"true": True, "1": True, "false": False, "0": False}


def _convert(option: Option, wanted: Any, what: str, text: str) -> Any:
    """Return the value of an option as the type its field declares."""

    def fail(expected: str) -> PipelineError:
        message = f"{what} expects {expected}, got '{option.value}'"
        return PipelineError(message, text=text, start=option.value_start, end=option.value_end)

    if wanted is bool:
        if option.value.lower() not in _BOOLS:
            raise fail("true or false")
        return _BOOLS[option.value.lower()]
    if get_origin(wanted) is Literal:
        choices = {str(choice): choice for choice in get_args(wanted)}
        if option.value not in choices:
            raise fail(one_of([f"'{choice}'" for choice in choices]))
        return choices[option.value]
    if get_origin(wanted) is tuple:
        inner = get_args(wanted)[0]
        parts = [part.strip() for part in option.value.split(",")] if option.value.strip() else []
        return tuple([_convert(replace(option, value=part), inner, what, text) for part in parts])
    names = {int: "an integer", float: "a number", str: "a text"}
    if wanted in (int, float) and not _is_number_like(option.value):
        raise fail(names[wanted])
    try:
        return wanted(option.value)
    except ValueError as error:
        raise fail(names.get(wanted, "another value")) from error


# Python itself would read underscores, blanks and the digits of any script too.
_is_number_like = re.compile(r"[-+.0-9A-Za-z]+").fullmatch


BeforeAfter = Callable[[Pass, int, Node, Node], None]


def run_pipeline(root: Node, passes: Sequence[Pass], after: BeforeAfter | None = None) -> Node:
    """Run passes in order; `after(pass, number, before, result)` sees each step.

    `PassError` when a pass is not for this dialect or returns no node; errors of the pass itself propagate.
    """
    for number, step in enumerate(passes, start=1):
        if step.dialects is not None and root.op.dialect not in step.dialects:
            takes = ", ".join([f"'{name}'" for name in sorted(step.dialects)])
            hint = dialect_of(root).lowered_by if "prog" in step.dialects else ""
            message = f"pass '{step.name}' takes a module of dialect {takes}, not of '{root.op.dialect}'"
            message += f"; {hint}" if hint else ""
            raise PassError(message, pass_name=step.name)
        if not root.op.get_attr("TModule", False):
            message = f"pass '{step.name}' takes a module or procedures, not a fragment"
            raise PassError(message, pass_name=step.name)
        result = step.run(root)
        if not isinstance(result, Node):
            raise PassError(f"pass '{step.name}' failed without a message", pass_name=step.name)
        if after is not None:
            after(step, number, root, result)
        root = result
    return root
