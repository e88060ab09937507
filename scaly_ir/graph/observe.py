"""Observing rewrites: which rule made what of which operation, on the way to a tool that shows it.

Rewriting knows nothing of its audience; a tool, or a test, runs it inside `observe_rewrites`. What rewrites a
graph asks for the observer once, before the work: without one nothing is done for each rule. Source: tools
specification 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from scaly_ir.graph.node import Node

Rebuild = Callable[["Node", Sequence["Node"]], "Node"]
"""Returns a node on other operands."""


class Observer:
    """Is told what happens, in order; each method tells the observer around this one, if there is one."""

    def __init__(self) -> None:
        self.outer: Observer | None = None
        self.applied = ""
        """Which of many rules was applied, if one that stands for them says so; that is the name of the rewrite."""
        self.matchers: dict[Any, Any] = {}
        """The matchers that tell this observer, by those that do not."""

    def rewritten(self, rule: str, before: Node, after: Sequence[Node]) -> None:
        """Take note that a rule replaced an operation, or a function, by others or by nothing."""
        if self.outer is not None:
            self.outer.rewritten(rule, before, after)

    def rebuilt(self, before: Node, after: Node) -> None:
        """Take note that an operation stands on other operands, as these were rewritten."""
        if self.outer is not None:
            self.outer.rebuilt(before, after)

    def renamed(self, pairs: Sequence[tuple[Node, Node]]) -> None:
        """Take note that operations bind other names, all at once: some may now be what others were."""
        if self.outer is not None:
            self.outer.renamed(pairs)

    def derived(self, before: Node, after: Sequence[Node]) -> None:
        """Take note that operations were made for another one by what has no rule to name, as where a dialect ends."""
        if self.outer is not None:
            self.outer.derived(before, after)


_OBSERVER: Final[ContextVar[Observer | None]] = ContextVar("_OBSERVER", default=None)


def observer() -> Observer | None:
    """Return who is told about rewrites, or None."""
    return _OBSERVER.get()


@contextmanager
def observe_rewrites(observer: Observer) -> Iterator[None]:
    """Have an observer told what is rewritten inside the ``with`` block; the innermost one is told."""
    around, outer = _OBSERVER.get(), observer.outer
    if around is not observer:
        observer.outer = around
    before = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(before)
        observer.outer = outer


def report_rewrite(rule: str, before: Node, *after: Node) -> None:
    """Tell the observer, if there is one, of a rewrite that no matcher made."""
    told = _OBSERVER.get()
    if told is not None:
        told.rewritten(rule, before, after)


def report_derived(before: Node, *after: Node) -> None:
    """Tell the observer, if there is one, which operation others were made for."""
    told = _OBSERVER.get()
    if told is not None:
        told.derived(before, after)


def report_rebuilt(before: Node, after: Node) -> None:
    """Tell the observer, if there is one, that an operation is the same but for its operands."""
    told = _OBSERVER.get()
    if told is not None and after is not before:
        told.rebuilt(before, after)


def report_renamed(pairs: Sequence[tuple[Node, Node]]) -> None:
    """Tell the observer, if there is one, of operations that bind other names now, all of a function at once."""
    told = _OBSERVER.get()
    if told is not None:
        told.renamed(pairs)


def observed(rebuild: Rebuild) -> Rebuild:
    """Return what rebuilds nodes as `rebuild` does and tells the observer; `rebuild` itself when there is none."""
    told = _OBSERVER.get()
    if told is None:
        return rebuild

    def rebuilt(node: Node, args: Sequence[Node]) -> Node:
        made = rebuild(node, args)
        if made is not node:
            told.rebuilt(node, made)
        return made

    return rebuilt
