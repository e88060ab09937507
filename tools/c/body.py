"""Statements and declarations of one procedure as C text (lowering specification 5.4 and 5.5).

What surrounds them is `procedures.py`'s. Loops may be nested to any depth and lists be of any length: one walk with a
stack of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import body_of, buffer_of
from scaly_ir.graph import Node
from scaly_ir.text.locations import Locations
from scaly_ir.tools.c.literals import table_text
from scaly_ir.tools.c.names import Names
from scaly_ir.tools.c.options import COptions
from scaly_ir.tools.c.ranges import Ranges
from scaly_ir.tools.c.scalars import Scalars
from scaly_ir.tools.c.usage import Sizes, Usage, element_count
from scaly_ir.tools.c.vector_types import Vectors

INDENT: Final = "  "


@dataclass(slots=True)
class Unit:
    """What the procedures of one file share."""

    options: COptions
    procs: dict[str, Node]
    sizes: dict[str, Sizes]
    names: Names
    """The identifiers of the file: `of` gives the C name of each procedure but the entry."""
    widths: dict[str, str]
    """The macro of each lane width symbol."""
    locations: Locations | None = None
    helpers: set[str] = field(default_factory=set)
    """The helpers that are called."""
    vectors: Vectors = field(default_factory=Vectors)
    """The vector types of lanes, and the functions on these."""
    number: int = -1
    """The number of the statement at hand, in program order."""

    def begin(self) -> tuple[str, str]:
        """Go on to the next statement; return the comment behind it and the line before it that tell its place."""
        self.number += 1
        if self.locations is None:
            return "", ""
        span = self.locations.origin(self.number)
        line, name = span.position()[0], span.source.name
        mark = f" /* {_in_comment(name)}:{line} */" if self.options.annotate else ""
        return mark, f"#line {line} {_c_string(name)}\n" if self.options.line_directives else ""


class Body:
    """The text of statements of one procedure; `places` gives the C text of each buffer.

    `ranges` are those of what is around the statements, if there is something.
    """

    def __init__(
        self,
        unit: Unit,
        proc: Node,
        usage: Usage,
        names: Names,
        places: Mapping[str, str],
        ranges: Ranges | None = None,
    ) -> None:
        self.uses_w = False
        """Whether the text mentions the workspace."""
        self.functions: list[str] = []
        """The functions that the statements call, and nothing else does."""
        self.declarations: list[str] = []
        self.statements: list[str] = []
        self._unit = unit
        self._proc = proc
        self._usage = usage
        self._names = names
        self._places = places
        self._ranges = Ranges(usage) if ranges is None else ranges
        variables = {**names.of, **unit.widths}
        self._scalars = Scalars(unit.options.dialect, self._places, variables, self._ranges, unit.helpers)
        self._own = unit.sizes[proc.attrs["name"]].own
        self._pair: tuple[str, str, str] | None = None
        self._mark = ""

    def write(self, statements: Iterable[Node], margin: str = INDENT) -> None:
        """Add the text of statements."""
        pending: list[tuple[Iterator[Node], str]] = [(iter(statements), margin)]
        while pending:
            listed, indent = pending[-1]
            for node in listed:
                self._begin(node)
                if node.op is ops.FOR and not self._lanes(node, indent):
                    self._add(indent, f"{self._loop(node)} {{", self._mark)
                    pending.append((iter(body_of(node)), indent + INDENT))
                    break
                if node.op is not ops.FOR:
                    self._statement(node, indent)
            else:
                pending.pop()
                if pending:
                    self.statements.append(f"{pending[-1][1]}}}\n")

    def _lanes(self, loop: Node, indent: str) -> bool:
        """Add a loop over groups of lanes; return False for any other loop, and where lanes have no function."""
        return False

    def _begin(self, node: Node) -> None:
        """Go on to the next statement."""
        self._mark, directive = self._unit.begin()
        self._scalars.begin(self._unit.number, node)
        if directive:
            (self.declarations if node.op is ops.BUFFER else self.statements).append(directive)

    def _add(self, indent: str, text: str, mark: str = "") -> None:
        self.statements.append(f"{indent}{text}{mark}\n")

    def _statement(self, node: Node, indent: str) -> None:
        op = node.op
        if op is ops.STORE:
            view, value = node.args
            self._add(indent, f"{self._scalars.text(view)} = {self._scalars.text(value)};", self._mark)
        elif op is ops.ASSIGN:
            self._assign(node, indent)
        elif op is ops.STORE_PAIR:
            self._store_pair(node, indent)
        elif op is ops.CALL:
            self._add(indent, self._call(node), self._mark)
        else:
            self._declare(node)

    # --- statements ---------------------------------------------------------------------------------------------------

    def _loop(self, node: Node) -> str:
        domain = node.args[0]
        start, stop = [self._scalars.text(bound) for bound in domain.args[:2]]
        name = self._names.of[domain.attrs["name"]]
        advance = self._scalars.advance(name, domain)
        self._ranges.enter_loop(domain)
        return loop_head(name, start, stop, advance)

    def _assign(self, node: Node, indent: str) -> None:
        target, (value,) = node.attrs["target"], node.args
        name, text = self._names.of[target], self._scalars.text(value)
        self._ranges.assign(target, value)
        if not node.attrs.get("declare", False):
            self._add(indent, f"{name} = {text};", self._mark)
            return
        self._add(indent, f"{node.type.c_type} {name} = {text};", self._mark)
        if target not in self._usage.scalars:
            self._add(indent, f"(void){name};")

    def _store_pair(self, node: Node, indent: str) -> None:
        view, *values = node.args
        place, index = self._places[view.attrs["buffer"]], view.args[0]
        first, second = [self._scalars.text(value) for value in values]
        if self._unit.options.dialect == "gnu":
            address = f"({place} + {self._scalars.text(index)})"
            self._add(indent, f"*(double2*){address} = (double2){{{first}, {second}}};", self._mark)
            return
        # Both values are computed before either is written, and the index before that: it may read what is written.
        if self._pair is None:
            self._pair = (self._names.fresh("pair"), self._names.fresh("first"), self._names.fresh("second"))
        pair, *temporaries = self._pair
        inner = indent + INDENT
        self._add(indent, "{", self._mark)
        self._add(inner, f"double* {pair} = {place} + {self._scalars.text(index)};")
        for name, text in zip(temporaries, (first, second), strict=True):
            self._add(inner, f"double {name} = {text};")
        for position, name in enumerate(temporaries):
            self._add(inner, f"{pair}[{position}] = {name};")
        self._add(indent, "}")

    def _call(self, node: Node) -> str:
        callee = node.attrs["callee"]
        if callee not in self._unit.procs:
            raise self._scalars.refused(f"procedure '@{callee}' is not defined in this file", node)
        arguments = [self._address(argument) for argument in node.args]
        if self._unit.sizes[callee].whole == 0:
            arguments.append("NULL")
        else:
            self.uses_w = True
            arguments.append(f"w + {self._own}" if self._own else "w")
        return f"{self._unit.names.of[callee]}({', '.join(arguments)});"

    def _address(self, argument: Node) -> str:
        place = self._places[buffer_of(argument)]
        if argument.op is ops.BUFFER:
            return place
        return address(place, self._scalars.text(argument.args[0]))

    # --- declarations -------------------------------------------------------------------------------------------------

    def _declare(self, node: Node) -> None:
        attrs, kind, name = node.attrs, node.type.c_type, node.attrs["name"]
        text, size = self._places[name], element_count(node)
        window, source = attrs.get("workspace_offset"), attrs.get("alias_of")
        owns = False
        if source is not None:
            offset = f" + {attrs['alias_offset']}" if attrs["alias_offset"] else ""
            constant = "" if name in self._usage.written else "const "
            line = f"{constant}{kind}* {text} = {self._places[source]}{offset};"
        elif window is not None and size:
            self.uses_w = True
            line = f"double* {text} = w + {window};"
        elif "values" in attrs:
            owns = True
            table = table_text(attrs["values"], node.type, self._unit.options.dialect, INDENT)
            line = f"static const {kind} {text}[{max(size, 1)}] = {table};"
        else:
            owns = True
            # What nothing writes is read where nothing ever runs; compilers do not know that.
            start = " = {0}" if name in self._usage.read and name not in self._usage.written else ""
            line = f"{kind} {text}[{max(size, 1)}]{start};"
        self.declarations.append(f"{INDENT}{line}{self._mark}\n")
        # An array counts as used where it is read, a pointer where it is mentioned.
        used = name in self._usage.read or (not owns and name in self._usage.stored)
        if not used:
            self.declarations.append(f"{INDENT}(void){text};\n")


def loop_head(variable: str, start: str, stop: str, advance: str = "") -> str:
    """Return the head of a loop; it goes on by one unless `advance` says otherwise."""
    return f"for (long long {variable} = {start}; {variable} < {stop}; {advance or f'++{variable}'})"


def address(place: str, index: str) -> str:
    """Return a pointer to an element."""
    return place if index == "0" else f"({place} + {index})"


def _in_comment(text: str) -> str:
    """Return text that neither ends a comment nor begins one."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ")


def _c_string(text: str) -> str:
    """Return text as a C string literal, each byte that is no plain character in octal."""
    shown = [
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
        for byte in text.encode("utf-8", "backslashreplace")
    ]
    return f'"{"".join(shown)}"'
