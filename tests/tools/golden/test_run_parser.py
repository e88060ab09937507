"""RUN lines: what is understood, and what is refused at which place."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from scaly_ir.text.source import Source
from scaly_ir.tools.golden.run_line import Command, Paths, RunLine, Stderr, needs_temporary, spell
from scaly_ir.tools.golden.run_parser import parse


def _parse(text: str) -> tuple[list[RunLine], list[str]]:
    runs, problems = parse(Source.from_text(text, "x.sir"))
    return runs, [problem.head() for problem in problems]


def _run(line: str) -> RunLine:
    runs, problems = _parse(f"// RUN: {line}\n")
    assert problems == []
    return runs[0]


def _only(line: str) -> Command:
    ((command,),) = _run(line).pipes
    return command


def _words(command: Command) -> list[str]:
    return [word.text for word in command.words]


@pytest.mark.parametrize(
    "line",
    [
        "echo a b",
        "echo 'a  b' \"c d\" e\\ f",
        "echo '' a''b \"\"",
        "echo 'a|b' \"a&&b\" a\\|b",
        'echo "a\\"b" "a\\\\b" "a\\nb" \'a\\b\'',
        "echo --name='x y'",
        "echo --pass=widen{lanes=4,x=1} [a] (b)",
    ],
)
def test_quoting_is_that_of_shlex(line: str) -> None:
    assert _words(_only(line)) == shlex.split(line)


def test_pipes_and_conjunctions() -> None:
    run = _run("a 1|b 2 && c | d|e")
    assert [[_words(command) for command in pipe] for pipe in run.pipes] == [
        [["a", "1"], ["b", "2"]],
        [["c"], ["d"], ["e"]],
    ]


def test_redirections() -> None:
    command = _only("a <%s >%t.out x")
    assert _words(command) == ["a", "x"]
    assert command.stdin
    assert command.stdin.text == "%s"
    assert command.stdout
    assert command.stdout.text == "%t.out"
    assert command.stderr is Stderr.KEPT


def test_where_stderr_goes_depends_on_the_order() -> None:
    assert _only("a 2>&1").stderr is Stderr.PIPE
    assert _only("a > %t 2>&1").stderr is Stderr.FILE
    assert _only("a 2>&1 > %t").stderr is Stderr.PIPE


def test_not_is_no_word_of_the_command() -> None:
    command = _only("not a not")
    assert command.negated
    assert _words(command) == ["a", "not"]
    assert command.title == "not a"


def test_continued_lines_are_joined_and_keep_their_places() -> None:
    runs, problems = _parse("// RUN: a \\\n// RUN:   b | \\\n//RUN: c \n// RUN: d\n")
    assert problems == []
    assert [run.name for run in runs] == ["run1", "run2"]
    ((first, second),) = runs[0].pipes
    assert [word.text for word in first.words] == ["a", "b"]
    assert [word.span.position() for word in (*first.words, *second.words)] == [(1, 9), (2, 11), (3, 8)]
    assert runs[1].span.position() == (4, 9)


def test_an_error_in_a_continued_line_is_placed_there() -> None:
    _, problems = _parse("// RUN: a \\\n// RUN:   b ; c\n")
    assert problems == ["x.sir:2:13: error: ';' is not supported in a RUN line; there are | && < > and 2>&1"]


def test_a_line_that_mentions_run_is_none() -> None:
    assert _parse("// see RUN: a\n%0 = x // RUN: a\n// RUNS: a\n") == ([], [])


def test_substitutions() -> None:
    paths = Paths(Path("folder/x.sir"), Path("tmp/x.tmp"))
    assert paths.expand("%s %S %t.out %% %%s %0 %") == "folder/x.sir folder tmp/x.tmp.out % %s %0 %"
    assert needs_temporary(_run("a %t"))
    assert needs_temporary(_run("a > %t"))
    assert not needs_temporary(_run("a %%t %s"))
    with pytest.raises(ValueError, match="no temporary path"):
        Paths(Path("x.sir")).expand("%t")


def test_spelling_reads_back() -> None:
    line = "not a 'x y' < %s 2>&1 | b > %t 2>&1 && c '' 2>&1 > %t"
    paths = Paths(Path("f/x.sir"), Path("f/t"))
    spelt = spell(_run(line), paths)
    assert spelt == "not a 'x y' < f/x.sir 2>&1 | b > f/t 2>&1 && c '' 2>&1 > f/t"


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("a || b", 11, "'||' is not supported in a RUN line; there are | && < > and 2>&1"),
        ("a & b", 11, "'&' is not supported in a RUN line; there are | && < > and 2>&1"),
        ("a >> %t", 11, "'>>' is not supported in a RUN line; there are | && < > and 2>&1"),
        ("a 2> %t", 11, "'2>' is not supported in a RUN line; there are | && < > and 2>&1"),
        ("a >&2", 11, "'>&2' is not supported in a RUN line; there are | && < > and 2>&1"),
        ("a << b", 11, "'<<' is not supported in a RUN line; there are | && < > and 2>&1"),
        ("a $HOME", 11, "a shell would expand '$H' here; put it in single quotes"),
        ('a "`b`"', 12, "a shell would expand '`' here; put it in single quotes"),
        ("a --x=*", 15, "a shell would expand '*' here; put it in quotes"),
        ("a 'b", 11, "this ' is never closed"),
        ('a b"c', 12, 'this " is never closed'),
        ("| a", 9, "expected a command between 'RUN:' and '|'"),
        ("a | && b", 13, "expected a command between '|' and '&&'"),
        ("a |", 11, "expected a command after '|'"),
        ("a &&", 11, "expected a command after '&&'"),
        ("", 9, "expected a command after 'RUN:'"),
        ("< %s", 11, "expected a command"),
        ("not", 9, "expected a command after 'not'"),
        ("not not a", 13, "'not' takes a command, not a second 'not'"),
        ("not --crash a", 13, "expected a command, found the option '--crash'"),
        ("! a", 9, "'!' is not supported in a RUN line; write 'not'"),
        ("A=1 b", 9, "write 'env NAME=VALUE command' to set a variable"),
        ("a <", 11, "expected a file name after '<'"),
        ("a > | b", 11, "expected a file name after '>'"),
        ("a < %s < %s", 16, "a second '<' in one command"),
        ("a > out.txt", 13, "'>' writes only to a path that starts with %t, which is private to the item"),
        ("a %p", 11, "'%p' is not supported in a RUN line; write %S"),
        ("a %T/x", 11, "'%T' is not supported in a RUN line; write %t, which is private to the item"),
        ("a %{fs-sep}", 11, "'%{fs-sep}' is not supported in a RUN line; there are %s, %S, %t and %%"),
    ],
)
def test_refused(line: str, column: int, message: str) -> None:
    runs, problems = _parse(f"// RUN: {line}\n")
    assert runs == []
    assert problems == [f"x.sir:1:{column}: error: {message}"]


def test_a_missing_continuation_is_placed_at_the_backslash() -> None:
    for text in ("// RUN: a \\\n// b\n", "// RUN: a \\\n", "// RUN: a \\"):
        assert _parse(text)[1] == ["x.sir:1:11: error: the line after a final '\\' is not a RUN line"]


def test_a_bad_line_does_not_hide_the_next() -> None:
    runs, problems = _parse("// RUN: a ;\n// RUN: b\n// RUN: c ;\n")
    assert [run.name for run in runs] == ["run2"]
    assert len(problems) == 2


def test_a_long_line_is_read_in_linear_time() -> None:
    run = _run("echo " + "a " * 100_000)
    assert len(run.pipes[0][0].words) == 100_001
