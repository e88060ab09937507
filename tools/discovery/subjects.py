"""Everything that has a description, by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from scaly_ir.dialect import dialect_names
from scaly_ir.text.diagnostics import closest, suggested
from scaly_ir.tools.discovery.attributes import (
    attribute_names,
    describe_attribute,
    describe_operator_attribute,
    operator_attribute_names,
)
from scaly_ir.tools.discovery.dialects import describe_dialect, describe_rule, rule_names
from scaly_ir.tools.discovery.operations import describe_operation, operations
from scaly_ir.tools.discovery.passes import describe_pass, pass_names
from scaly_ir.tools.discovery.types import describe_type, type_names
from scaly_ir.tools.translate.targets import describe_target, target_names


class _Kind(NamedTuple):
    """Things of one kind: their names, and the lines of the description of one."""

    names: Callable[[], Iterable[str]]
    describe: Callable[[str], Iterable[str]]


def _target_lines(name: str) -> Iterator[str]:
    yield from (describe_target(name) or "").splitlines()


_KINDS: Final = (
    _Kind(pass_names, describe_pass),
    _Kind(operations, describe_operation),
    _Kind(dialect_names, describe_dialect),
    _Kind(type_names, describe_type),
    _Kind(attribute_names, describe_attribute),
    _Kind(operator_attribute_names, describe_operator_attribute),
    _Kind(rule_names, describe_rule),
    _Kind(target_names, _target_lines),
)
"""In the order in which what shares a name is described."""


def describe(name: str) -> str | None:
    """Return the description of all that has a name, None when nothing has; passes may be written with ``-``."""
    texts = []
    for kind in _KINDS:
        for spelling in dict.fromkeys([name, name.replace("-", "_")]):
            if spelling in kind.names():
                texts.append("".join([f"{line}\n" for line in kind.describe(spelling)]))
                break
    return "\n".join(texts) or None


def near_names(name: str) -> str:
    """Return ``; did you mean 'x'?`` for a name that nothing has, or where to look."""
    known = list(dict.fromkeys([each for kind in _KINDS for each in kind.names()]))
    dotted = [each for each in operations() if each.partition(".")[2] == name]
    hint = suggested(dotted[:3]) or suggested(closest(name, known))
    return hint or "; --list-passes, --list-ops and --list-dialects show what there is"
