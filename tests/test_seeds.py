"""The listings of the documents that the format comes from are input, and those that are complete print back as shown.

The documents stand beside the repository, not in it; without them there is nothing to test here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import ops, syntax
from scaly_ir.text.source import Source

SEEDS: Final = Path(__file__).resolve().parents[2] / "shared" / "seeds"
_STATEMENT: Final = re.compile(r"\s*(?:prog\.[a-z_]+ |%\S+ = prog\.)")


class Listing(NamedTuple):
    """Consecutive lines of `prog` text in a document; `trimmed` when closing braces are missing."""

    document: str
    line: int
    text: str
    trimmed: bool


def listings(document: Path) -> list[Listing]:
    """Return the listings of a document: runs of lines that are statements, or close what a statement opened."""
    found = []
    lines = document.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        first = at
        open_braces = 0
        while at < len(lines) and (_STATEMENT.match(lines[at]) or (at > first and lines[at].strip() == "}")):
            open_braces += lines[at].endswith("{") - (lines[at].strip() == "}")
            at += 1
        if at > first:
            found.append(
                Listing(document.name, first + 1, "".join([f"{line}\n" for line in lines[first:at]]), open_braces > 0)
            )
            if open_braces > 0:
                tail = "prog.store 0, %y[0] : float64\n" + "}\n" * open_braces
                found[-1] = found[-1]._replace(text=found[-1].text + tail)
        at += 1
    return found


def _unindented(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


if SEEDS.is_dir():
    LISTINGS = [listing for name in ("ir_reference.txt", "lowering_page.txt") for listing in listings(SEEDS / name)]

    def test_every_listing_is_found() -> None:
        counts = {
            name: [listing.document for listing in LISTINGS].count(name)
            for name in ("ir_reference.txt", "lowering_page.txt")
        }
        assert counts == {"ir_reference.txt": 3, "lowering_page.txt": 11}
        assert [listing.document for listing in LISTINGS if listing.trimmed] == ["ir_reference.txt"]

    @pytest.mark.parametrize("listing", LISTINGS, ids=lambda listing: f"{listing.document}:{listing.line}")
    def test_listing_prints_back_as_shown(listing: Listing) -> None:
        root = sc.parse(listing.text, listing.document)
        sc.verify(root)
        if listing.document == "ir_reference.txt":  # that document has lost its indentation
            assert _unindented(sc.render(root)) == _unindented(listing.text)
        else:
            assert sc.render(root) == listing.text
        assert sc.parse(sc.render(root)) is root

    @pytest.mark.parametrize("listing", LISTINGS, ids=lambda listing: f"{listing.document}:{listing.line}")
    def test_the_grammar_reads_listings_alike(listing: Listing) -> None:
        root, _, diagnostics = syntax.read(Source.from_text(listing.text))
        assert not diagnostics
        assert root is sc.parse(listing.text)

    def test_the_listing_of_tensor_operations_reads_alone_and_prints_back_as_shown() -> None:
        lines = (SEEDS / "ir_reference.txt").read_text(encoding="utf-8").splitlines()
        first = next(at for at, line in enumerate(lines) if line.startswith("expr.func @stages("))
        text = "".join([f"{line}\n" for line in lines[first : lines.index("}", first) + 1]])
        root = sc.parse(text, "ir_reference.txt")
        sc.verify(root)
        assert _unindented(sc.render(root)) == _unindented(text)
        assert sc.parse(sc.render(root)) is root

    def test_a_bare_procedure_stays_bare() -> None:
        (bare,) = [listing for listing in LISTINGS if listing.text.startswith("prog.proc")]
        root = sc.parse(bare.text)
        assert root.op is ops.PROGRAM
        assert root.attrs["bare"] is True
        assert [proc.attrs["name"] for proc in root.args] == ["horizon"]

    def test_fragments_are_blocks() -> None:
        fragments = [listing for listing in LISTINGS if not re.match(r"prog\.(module|proc)", listing.text)]
        assert len(fragments) == 4
        assert all([sc.parse(fragment.text).op is ops.BLOCK for fragment in fragments])
