"""The files for editors: the grammar covers every listing, and tells apart what an editor should."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from scaly_ir.dialects.matrix.words import TERMINALS
from scaly_ir.text.terminals import scan
from tests.docs.textmate import Grammar

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "docs" / "editors" / "vscode"
VIM = ROOT / "docs" / "editors" / "vim"
LISTINGS = sorted((ROOT / "testdata").rglob("*.sir"))


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _grammar() -> Any:
    return _json(EXTENSION / "syntaxes" / "sir.tmLanguage.json")


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _nodes(inner)


def test_the_extension_names_files_that_exist() -> None:
    contributes = _json(EXTENSION / "package.json")["contributes"]
    (language,), (grammar,) = contributes["languages"], contributes["grammars"]
    assert language["extensions"] == [".sir"]
    assert grammar["language"] == language["id"]
    assert _json(EXTENSION / language["configuration"])["comments"] == {"lineComment": "//"}
    assert _json(EXTENSION / grammar["path"])["scopeName"] == grammar["scopeName"] == "source.sir"
    (matcher,) = contributes["problemMatchers"]
    found = re.match(matcher["pattern"]["regexp"], "a/f.sir:7:21: error: 'expr.add': no [rule]")
    assert found
    assert found.groups() == ("a/f.sir", "7", "21", "error", "'expr.add': no [rule]")


def test_every_regular_expression_is_one() -> None:
    expressions = [node[key] for node in _nodes(_grammar()) for key in ("match", "begin", "end") if key in node]
    assert len(expressions) > 20
    for expression in expressions:
        re.compile(expression)
        # What Python and Oniguruma read differently.
        assert not re.search(r"\(\?P|\(\?\w+\)|\\[ZAzhHRKG]|(?<!\\)\[\^?\[|&&|\\p", expression), expression


def test_every_include_is_there_and_every_rule_is_included() -> None:
    grammar = _grammar()
    included = [node["include"] for node in _nodes(grammar) if "include" in node]
    assert sorted(set(included)) == sorted([f"#{name}" for name in grammar["repository"]])


def test_scopes_end_in_the_name_of_the_language() -> None:
    names = [node["name"] for node in _nodes(_grammar()["repository"]) if "name" in node]
    assert names
    assert [name for name in names if not re.fullmatch(r"[a-z.-]+\.sir", name)] == []


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    return Grammar(_grammar())


def _is_about_mistakes(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return "not scaly-" in text or bool(re.search(r"scaly-opt .*verify-diagnostics", text))


@pytest.mark.parametrize("about_mistakes", [False, True])
def test_every_listing_is_covered(grammar: Grammar, about_mistakes: bool) -> None:
    listings = [path for path in LISTINGS if _is_about_mistakes(path) == about_mistakes]
    assert len(listings) > 50
    lines = {
        line: f"{path.relative_to(ROOT)}:{number}: {line}"
        for path in listings
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    }
    bare, invalid = [], []
    for line, place in lines.items():
        scopes = grammar.scopes(line)
        bare += [place for character, scope in zip(line, scopes, strict=True) if not scope and not character.isspace()]
        invalid += [place for scope in scopes if "invalid" in scope]
    assert bare == []
    if not about_mistakes:
        assert invalid == []


TYPE: Final = {
    *("storage.type.sir", "storage.type.element.sir", "storage.modifier.sir", "constant.numeric.shape.sir", ""),
    *("punctuation.section.sir", "punctuation.separator.sir"),
}
PATTERN: Final = {"entity.other.attribute-name.sir", "keyword.operator.sir", "constant.numeric.sir"}
SCOPES: Final[dict[str, set[str]]] = {
    "VALUE": {"variable.other.sir"},
    "ARROW": {"keyword.operator.sir"},
    "PUNCTUATION": {"punctuation.section.sir", "punctuation.separator.sir", "keyword.operator.sir"},
    "NAME": {
        *("entity.name.namespace.sir", "punctuation.separator.namespace.sir"),
        *("support.function.sir", "keyword.control.sir"),
    },
    "FLOAT": {"constant.numeric.sir"},
    "INT": {"constant.numeric.sir"},
    "MEMREF": TYPE,
    "TENSOR": TYPE | PATTERN | {"constant.other.alias.sir"},
    "SPARSE": TYPE | PATTERN,
    "PATTERN": {"constant.other.alias.sir"},
    "WORD": {
        *("entity.other.attribute-name.sir", "keyword.other.sir", "storage.type.element.sir", "constant.other.sir"),
        *("constant.language.sir", "storage.type.sir"),
    },
    "SYMBOL": {"entity.name.function.sir"},
    "STRING": {"string.quoted.double.sir", "constant.character.escape.sir"},
    "ANGLE": {"punctuation.section.sir"},
    "LABEL": {"entity.name.label.sir"},
    "MAP": {
        *("storage.type.sir", "variable.parameter.dimension.sir", "constant.numeric.sir", "keyword.operator.sir"),
        *("keyword.operator.word.sir", "punctuation.section.sir", "punctuation.separator.sir", ""),
    },
}
"""The scopes within each kind of token; a name of an operation and a type have several, the others one."""


def test_the_grammar_cuts_as_the_reader_does(grammar: Grammar) -> None:
    known: dict[str, list[str]] = {}
    met, wrong = set(), []
    for path in LISTINGS:
        if _is_about_mistakes(path):
            continue
        text = path.read_text(encoding="utf-8")
        scopes: list[str] = []
        for line in text.split("\n"):
            if line not in known:
                known[line] = grammar.scopes(line)
            scopes += [*known[line], ""]
        for kind, token, start, end in scan(text, numbered=True, more=TERMINALS):
            found = set(scopes[start:end])
            met.add(kind)
            if kind != "END" and not found <= SCOPES[kind]:
                wrong.append((path.name, token, found))
    assert wrong == []
    assert met == {*SCOPES, "END"}


@pytest.mark.parametrize(
    ("line", "token", "scope"),
    [
        ("  prog.store prog.add(prog.load %x[%i], 1.5e-3), %y[0] : float64", "store", "support.function.sir"),
        ("  prog.store prog.add(prog.load %x[%i], 1.5e-3), %y[0] : float64", "prog", "entity.name.namespace.sir"),
        ("  prog.store prog.add(prog.load %x[%i], 1.5e-3), %y[0] : float64", "%x", "variable.other.sir"),
        ("  prog.store prog.add(prog.load %x[%i], 1.5e-3), %y[0] : float64", "1.5e-3", "constant.numeric.sir"),
        ("  prog.store prog.add(prog.load %x[%i], 1.5e-3), %y[0] : float64", "float64", "storage.type.element.sir"),
        ("prog.proc @f(%x: memref<8x4xfloat64, private>) {", "proc", "keyword.control.sir"),
        ("prog.proc @f(%x: memref<8x4xfloat64, private>) {", "@f", "entity.name.function.sir"),
        ("prog.proc @f(%x: memref<8x4xfloat64, private>) {", "memref", "storage.type.sir"),
        ("prog.proc @f(%x: memref<8x4xfloat64, private>) {", "8x4x", "constant.numeric.shape.sir"),
        ("prog.proc @f(%x: memref<8x4xfloat64, private>) {", "private", "storage.modifier.sir"),
        ("  prog.for %i = 0 to 4 step 1 {kind=global} {", "to", "keyword.other.sir"),
        ("  prog.for %i = 0 to 4 step 1 {kind=global} {", "kind", "entity.other.attribute-name.sir"),
        ("  prog.for %i = 0 to 4 step 1 {kind=global} {", "global", "constant.other.sir"),
        ('  %0 = expr.input {name="a \\"b"} : tensor<float64>', '\\"', "string.quoted.double.sir constant.character"),
        ('  %0 = expr.input {name="a \\"b"} : tensor<float64>', 'b"', "string.quoted.double.sir"),
        ("  %0 = expr.reduce(%1) {axes=None}", "None", "constant.language.sir"),
        ("  %0 = expr.reduce(%1) {axes=None}", "%0", "variable.other.sir"),
        ("#sp0 = sparse<rows=[0], cols=[-1]>", "#sp0", "constant.other.alias.sir"),
        ("#sp0 = sparse<rows=[0], cols=[-1]>", "-1", "constant.numeric.sir"),
        ("// RUN: scaly-opt %s", "RUN:", "comment.line.double-slash.sir keyword.control.test.sir"),
        ("// RUN: scaly-opt %s", "scaly", "comment.line.double-slash.sir"),
        (
            "// CHECK-NEXT: %[[V0:[0-9]+]] = {{.*}}",
            "CHECK-NEXT:",
            "comment.line.double-slash.sir keyword.control.check",
        ),
        ("// CHECK-NEXT: %[[V0:[0-9]+]] = {{.*}}", "{{.*}}", "comment.line.double-slash.sir string.regexp.sir"),
        ("// CHECK-NEXT: %[[V0:[0-9]+]] = {{.*}}", "[[V0", "comment.line.double-slash.sir variable.parameter.capture"),
        (
            "%0 = x // expected-error@+1 {{no}}",
            "expected-error@+1",
            "comment.line.double-slash.sir keyword.control.exp",
        ),
        ("^comb(%acc: float64, %i: index):", "^comb", "entity.name.label.sir"),
        ("^comb(%acc: float64, %i: index):", "index", "storage.type.element.sir"),
        ("  affine.yield prog.add(%acc, %a)", "yield", "keyword.control.sir"),
        ("  %0 = matrix.map_reduce(%A) init(undef) {indices=[[0]]}", "map_reduce", "support.function.sir"),
        ("  %0 = matrix.map_reduce(%A) init(undef) {indices=[[0]]}", "init", "keyword.other.sir"),
        ("  %0 = matrix.map_reduce(%A) init(undef) {indices=[[0]]}", "undef", "constant.language.sir"),
        ("{map=affine_map<(d0) -> (d0 mod 2)>} : index", "affine_map", "storage.type.sir"),
        ("{map=affine_map<(d0) -> (d0 mod 2)>} : index", "d0", "variable.parameter.dimension.sir"),
        ("{map=affine_map<(d0) -> (d0 mod 2)>} : index", "mod", "keyword.operator.word.sir"),
        ("{map=affine_map<(d0) -> (d0 mod 2)>} : index", "2", "constant.numeric.sir"),
        ("{map=affine_map<(d0) -> (d0 mod 2)>} : index", "->", "keyword.operator.sir"),
        ("{map=affine_map<(d0) -> (d0 mod 2)>} : index", "index", "storage.type.element.sir"),
        ("  ~", "~", "invalid.illegal.sir"),
    ],
)
def test_tokens(grammar: Grammar, line: str, token: str, scope: str) -> None:
    at = line.index(token)
    found = set(grammar.scopes(line)[at : at + len(token)])
    assert len(found) == 1
    assert found.pop().startswith(scope)


def test_nothing_matches_the_empty_text(grammar: Grammar) -> None:
    assert grammar.scopes("") == []
    assert grammar.scopes("   ") == ["", "", ""]


@pytest.mark.parametrize("editor", ["nvim", "vim"])
def test_vim_and_neovim_highlight_a_listing(editor: str, tmp_path: Path) -> None:
    program = shutil.which(editor)
    if program is None:
        pytest.skip(f"no {editor}")
    listing = tmp_path / "f.sir"
    listing.write_text('// CHECK: {{x}}\nprog.proc @f(%x: memref<8xfloat64>) {\n  prog.store 1, %x[0] {k="s"}\n}\n')
    places = [(1, 1), (1, 4), (1, 11), (2, 1), (2, 11), (2, 14), (2, 18), (2, 25), (3, 3), (3, 14), (3, 24), (3, 26)]
    names = ",".join([f"synIDattr(synID({line},{column},1),'name')" for line, column in places])
    out = tmp_path / "out"
    commands = [f"set rtp^={VIM}", "filetype plugin on", "syntax on", f"edit {listing}"]
    commands += [f"call writefile([&filetype, &commentstring, {names}], '{out}')", "qall!"]
    arguments = [word for command in commands for word in ("-c", command)]
    start = ["-u", "NONE", "-i", "NONE", "-n", *(["--headless"] if editor == "nvim" else ["-es", "--not-a-term", "-N"])]
    done = subprocess.run(
        [program, *start, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert out.read_text().splitlines() == [
        *("sir", "// %s", "sirComment", "sirDirective", "sirRegex", "sirStructure", "sirFunction", "sirValue"),
        *("sirType", "sirType", "sirOperation", "sirNumber", "sirKey", "sirString"),
    ]
