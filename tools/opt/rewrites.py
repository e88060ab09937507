"""Each rewrite of some passes: the rule, the operation before, and what stands in its place. Source: tools
specification 4.4.

Passes tell an observer what they rewrite, the same rule in thousands of places if need be, so an operation is shown in
brief and its place is looked up in a table of the program that the pass was given. What a pass did to a function
without telling of any rewrite in it is one rewrite, named after the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from scaly_ir.dialect import brief_as, dialect_of
from scaly_ir.graph import Node, postorder
from scaly_ir.graph.observe import Observer, observe_rewrites
from scaly_ir.text.provenance import function_name
from scaly_ir.text.written import UNKNOWN
from scaly_ir.tools.opt.diff import coloured, unified
from scaly_ir.tools.opt.dumps import headline
from scaly_ir.tools.opt.ir_text import Input, IrText
from scaly_ir.tools.opt.watcher import Watcher

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass
    from scaly_ir.text.form import Form

MOST_LINES: Final = 40
"""How many lines of a rewrite are shown."""
LONGEST: Final = 200
"""How much of a line is shown."""
UNSEEN: Final = "// its text is the same but for the numbers of values\n"


class Rewrites(Watcher):
    """Shows the rewrites of the passes in `names`; `show` receives each, when it happens."""

    def __init__(
        self, show: Callable[[str], None], names: Collection[str], text: IrText, given: Input, *, colour: bool = False
    ) -> None:
        self._show = show
        self._names = names
        self._text = text
        self._given = given
        given.is_followed = True
        self._colour = colour
        self._watching = ExitStack()
        self._told: _Told | None = None

    def before_pass(self, number: int, step: Pass, root: Node) -> None:
        """Begin to listen to a pass."""
        if step.name in self._names:
            self._told = _Told(root, step.name, self._text, self._given, self._write)
            self._watching.enter_context(observe_rewrites(self._told))

    def after_pass(self, number: int, step: Pass, before: Node, after: Node) -> None:
        """Show what the pass did without telling of it."""
        self._watching.close()
        if self._told is not None:
            self._told.finish(after)
            self._told = None

    def pass_failed(self, number: int, step: Pass, before: Node, after: Node | None) -> None:
        """Listen no more."""
        self._watching.close()
        self._told = None

    def _write(self, lines: Sequence[str]) -> None:
        self._show("".join([coloured(line) for line in lines] if self._colour else lines))


class _Told(Observer):
    """What one run of a pass tells."""

    def __init__(
        self, root: Node, name: str, text: IrText, given: Input, write: Callable[[Sequence[str]], None]
    ) -> None:
        super().__init__()
        self._root = root
        self._pass = name
        self._wanted = text.functions
        self._text = text.only(())
        self._form: Form = replace(text.form, users=False)
        self._write = write
        self._program = _Program(root, text.functions, given)
        self._origins: dict[Node, Node] = {}
        """For what the pass made, the operation of the program that it comes from, as far as that is known."""
        self._rewritten: set[Node] = set()
        """The operations of the program that the pass told of."""

    def rewritten(self, rule: str, before: Node, after: Sequence[Node]) -> None:
        """Show a rewrite."""
        super().rewritten(rule, before, after)
        if function_name(before) is not None:
            if not self._wanted or function_name(before) in self._wanted:
                self._show_function(rule, before, after[0] if after else None)
            return
        origin = self._origins.get(before, before)
        self._note(after, origin)
        if origin in self._program.places:
            self._rewritten.add(origin)
        elif self._wanted:
            return
        lines = [*self._brief("-", before), *[line for node in after for line in self._brief("+", node)]]
        self._show(rule, lines, self._program.places.get(origin, ""))

    def rebuilt(self, before: Node, after: Node) -> None:
        """Remember where an operation comes from."""
        super().rebuilt(before, after)
        if after not in self._program.places:
            self._origins.setdefault(after, self._origins.get(before, before))

    def derived(self, before: Node, after: Sequence[Node]) -> None:
        """Remember where operations come from."""
        super().derived(before, after)
        self._note(after, self._origins.get(before, before))

    def finish(self, after: Node) -> None:
        """Show the functions that changed, as one rewrite each, in which the pass told of none."""
        if after is self._root:
            return
        olds, news = _functions(self._root), _functions(after)
        other_dialect = self._root.op.dialect != after.op.dialect
        changed = [name for name in {**olds, **news} if olds.get(name) is not news.get(name)]
        told = bool(self._rewritten)
        for name in changed:
            if self._wanted and name not in self._wanted:
                continue
            old, new = olds.get(name), news.get(name)
            if old is None or new is None or other_dialect or self._rewritten.isdisjoint(postorder(old)):
                told |= self._show_function(self._pass, old, new)
        if not told and not self._wanted:
            self._show(self._pass, self._differences(self._root, after) or [UNSEEN])

    def _note(self, made: Iterable[Node], origin: Node) -> None:
        """Remember where what a rule made comes from: what is new in it."""
        pending = list(made)
        while pending:
            node = pending.pop()
            if node not in self._origins and node not in self._program.places:
                self._origins[node] = origin
                pending.extend(node.args)

    def _brief(self, sign: str, node: Node) -> Iterator[str]:
        for line in brief_as(node, self._form, self._root).splitlines():
            yield f"{sign}{line}\n"

    def _show_function(self, rule: str, before: Node | None, after: Node | None) -> bool:
        """Show what became of a function; False when its text does not tell."""
        lines = self._differences(before, after)
        if lines:
            self._show(rule, lines, "" if before is None else self._program.places.get(before, ""))
        return bool(lines)

    def _differences(self, before: Node | None, after: Node | None) -> list[str]:
        olds, news = [("" if node is None else self._text(node)) for node in (before, after)]
        return unified(olds, news, self._pass)[2:]

    def _show(self, rule: str, lines: Sequence[str], place: str = "") -> None:
        where = "" if place in ("", UNKNOWN) else f" {place}"
        shown = [_cut(line) for line in islice(lines, MOST_LINES)]
        if len(lines) > MOST_LINES:
            shown.append(f"// {len(lines) - MOST_LINES:,} more lines\n")
        self._write([headline(f"Rewrite {rule} ({self._pass}){where}"), *shown])


class _Program:
    """The operations of the program that a pass is given, found when the first is asked for."""

    def __init__(self, root: Node, wanted: Collection[str], given: Input) -> None:
        self._root = root
        self._wanted = wanted
        self._given = given
        self._places: dict[Node, str] | None = None

    @property
    def places(self) -> Mapping[Node, str]:
        """Where the operations stand, in the functions that are wanted; nothing for one that comes from nowhere.

        What is part of several has the place of the first.
        """
        if self._places is None:
            self._places = self._found()
        return self._places

    def _found(self) -> dict[Node, str]:
        origins = self._given.origins(self._root)
        finder = None if origins is None else origins.finder()
        operations = list(dialect_of(self._root).operations(self._root))
        heads, inside = set(operations), not self._wanted
        found: dict[Node, str] = {}
        for operation in operations:
            place = UNKNOWN if finder is None else finder(operation)
            if function_name(operation) is not None and self._wanted:
                inside = function_name(operation) in self._wanted
            pending = [operation] if inside else []
            while pending:
                node = pending.pop()
                if node not in found:
                    found[node] = place
                    pending.extend([operand for operand in node.args if operand not in heads])
        return found


def _functions(root: Node) -> dict[str, Node]:
    return {name: node for node in root.args if (name := function_name(node)) is not None}


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}...\n"
