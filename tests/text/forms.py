"""What the tests of the forms of text share."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from types import ModuleType
from unittest import mock

from scaly_ir.dialect import dialect_of, parse_source, render_as
from scaly_ir.graph import Node
from scaly_ir.text.form import Form, Locate
from scaly_ir.text.origins import Origins
from scaly_ir.text.source import Source
from scaly_ir.text.terminals import scan
from scaly_ir.text.written import Written


def origins_of(text: str, name: str = "f.sir") -> Origins:
    """Return where the operations of a text stand."""
    parsed = parse_source(Source.from_text(text, name))
    assert parsed.root is not None
    return Origins(parsed.locations, dialect_of(parsed.root).operations(parsed.root))


def located(root: Node, text: str) -> str:
    """Return the text of a root with the places that its operations have in another text."""
    return render_as(root, Form(locate=origins_of(text).finder()))


def random_places(operations: Iterable[Node], random: Random) -> Locate:
    """Return what gives each of some operations a place, or none that is known."""
    known = set(operations)

    def locate(node: Node) -> str:
        file = random.choice(("a.sir", 'b "c" //', None)) if node in known else None
        return str(Written(file, random.randrange(99), random.randrange(99)))

    return locate


def generic_in_place(root: Node, random: Random) -> str:
    """Return text in which some nodes are in the generic form, and others not."""
    dialect = dialect_of(root)
    generic = dialect.generic
    assert generic is not None
    lines = dialect.render(root).splitlines(keepends=True)
    operations = list(dialect.operations(root))
    numbers = [number for number, line in enumerate(lines) if line.strip() not in ("", "}")]
    assert len(numbers) == len(operations)
    for number, node in zip(numbers, operations, strict=True):
        if not lines[number].endswith("{\n") and random.random() < 0.5:
            lines[number] = generic(node, Form(generic=True))
    return "".join(lines)


def assert_agrees_with_the_grammar(reader: ModuleType, text: str) -> bool:
    """Check that a reader of the generic form gives what the grammar gives, or gives up; tell whether it took it."""
    source = Source.from_text(text)
    taken = reader.read(source.text) is not None
    if taken:
        fast = parse_source(source)
        with mock.patch.object(reader, "read", return_value=None):
            slow = parse_source(source)
        assert fast.root is slow.root, text
        assert [str(found) for found in fast.diagnostics] == [str(found) for found in slow.diagnostics]
        assert fast.locations.in_tokens is slow.locations.in_tokens is False
        assert list(fast.locations.starts) == list(slow.locations.starts)
        assert list(fast.locations.ends) == list(slow.locations.ends)
    return taken


def with_stray_character(text: str, random: Random) -> str:
    """Return a text with a character before one of its tokens that no text may hold."""
    lexeme = random.choice([found for found in scan(text) if found.kind != "END"])
    return f"{text[: lexeme.start]} ? {text[lexeme.start :]}"
