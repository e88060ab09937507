"""The runner of pages: what it accepts, and above all what it does not let pass."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest

from tests.docs.page import PageError
from tests.docs.runner import run_page, same_output
from tests.docs.sessions import SessionError, Shell, make_environment

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the pages are written for a POSIX shell")


def _run(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(textwrap.dedent(text), encoding="utf-8")
    run_page(page, folder)
    return folder / "page"


def _refused(folder: Path, text: str) -> str:
    with pytest.raises(PageError) as failure:
        _run(folder, text)
    return str(failure.value)


GOOD = """\
Put three lines into `notes/a.txt`:

```text notes/a.txt
one
two

three
```

and read them:

```sh
$ cat notes/a.txt
one
...
three
$ cd notes; WORD=four
$ grep $WORD a.txt   # exit code 1
$ echo $WORD \\
>   five >> a.txt
$ cat a.txt missing 2>&1   # exit code 1
one
two

three
four five
cat: ... No such file or directory
```

In `notes/a.txt`, change

```diff notes/a.txt
 one
-two
+2

```

1. so that it has

   ```toml
   one
   2
   ```

```text
Free text.
```

```python
>>> def twice(x):
...     return 2 * x
>>> twice(21)
42
>>> open("notes/a.txt").read().splitlines()[1]
'2'
>>> print("a\\n\\nb")
a
<BLANKLINE>
b
>>> twice()
Traceback (most recent call last):
  ...
TypeError: twice() missing 1 required positional argument: 'x'
```
"""


def test_a_page_that_is_right(tmp_path: Path) -> None:
    folder = _run(tmp_path, GOOD)
    assert (folder / "notes" / "a.txt").read_text(encoding="utf-8") == "one\n2\n\nthree\nfour five\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "...\nthree\n$ cd",
            "...\nfour\n$ cd",
            "page.md:13: this prints something else\n  $ cat notes/a.txt\nexpected:",
        ),
        ("\none\n...\nthree\n$ cd", "\none\n$ cd", "actual:\n  | one\n  | two\n  |\n  | three"),
        ("one\n...\nthree\n$ cd", "$ cd", "page.md:13: this prints something else"),
        (
            "# exit code 1\n$ echo",
            "# exit code 2\n$ echo",
            "page.md:18: this command exited with 1, expected 2",
        ),
        (
            "   # exit code 1\n$ echo",
            "\n$ echo",
            "page.md:18: this command exited with 1, expected 0",
        ),
        ("cat notes/a.txt", "cat notes/b.txt", "page.md:13: this command exited with 1, expected 0"),
        ("five >> a.txt", "six >> a.txt", "page.md:21: this prints something else"),
        ("$ cat notes", "$ exit; cat notes", "page.md:13: it ended the session"),
        ("$ cat notes", "$ fi; cat notes", "page.md:13: it ended the session"),
        ("-two", "-too", "page.md:32: the lines to edit occur nowhere in 'notes/a.txt'"),
        ("```diff notes/a.txt", "`b`\n```diff b", "page.md:33: 'b' cannot be edited: No such file or directory"),
        ("   2\n", "   3\n", "page.md:41: no file or output above has these lines"),
        (
            "\n42\n",
            "\n43\n",
            "  >>> twice(21)\nexpected:\n  | 43\nactual:\n  | 42",
        ),
        ("TypeError:", "ValueError:", "page.md:61: this prints something else"),
        ("twice(21)", "once(21)", "NameError: name 'once' is not defined"),
    ],
)
def test_a_page_that_is_wrong(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert GOOD.count(old) == 1
    assert message in _refused(tmp_path, GOOD.replace(old, new))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Nothing.\n", "page.md:1: the page has nothing to run"),
        ("```\nls\n```\n", "page.md:1: a block names its language; what nothing checks is 'text'"),
        ("\n```sh\nls\n```\n", "page.md:3: a line before the first command; what a reader types begins with '$ '"),
        ("```sh\n```\n", "page.md:1: a session without a command"),
        ("```python\nx = 1\n```\n", "page.md:1: Python that nothing runs; give it a file name or begin lines with"),
        ("```python\n>>>x\n```\n", "page.md:1: line 1 of the docstring"),
        (
            "In `b.py`:\n```python a.py\n```\n",
            "page.md:2: the text before this block does not tell readers the",
        ),
        ("`../a`\n```text ../a\n```\n", "page.md:2: '../a' is outside of the folder of the page"),
        ("`/a`\n```text /a\n```\n", "page.md:2: '/a' is outside of the folder of the page"),
        ("```text a b\n```\n", "page.md:1: a block has a language and a file name, not 'text a b'"),
        ("```sh\n$ ls\n", "page.md:1: this block is never closed"),
        (
            "`a`\n```text a\nx\nx\n```\n`a`\n```diff a\n-x\n```\n",
            "page.md:7: the lines to edit occur more than once",
        ),
    ],
)
def test_a_listing_that_nothing_would_check(tmp_path: Path, text: str, message: str) -> None:
    assert _refused(tmp_path, text).startswith(message)


def test_a_page_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PageError, match=r"^docs/no\.md:1: the page cannot be read: No such file"):
        run_page(tmp_path / "no.md", tmp_path, "docs/no.md")


def test_a_page_from_a_line_on(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\npip install\n```\n## Then\n```sh\n$ echo one\ntwo\n```\n", encoding="utf-8")
    with pytest.raises(PageError, match=r"^page\.md:2: a line before the first command"):
        run_page(page, tmp_path)
    with pytest.raises(PageError, match=r"^page\.md:6: this prints something else"):
        run_page(page, tmp_path, start="## Then")
    with pytest.raises(PageError, match=r"^page\.md:1: there is no line '## Than' to begin at"):
        run_page(page, tmp_path, start="## Than")


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("", "\n", True),
        ("", "a\n", False),
        ("a", "", False),
        ("...", "", True),
        ("...", "a\nb\n", True),
        ("a  \n", "a\n\n", True),
        (" a", "a", False),
        ("a\nb", "a", False),
        ("a\n...", "a", True),
        ("...\nb\nc", "a\nb\nb\nc", True),
        ("...\nb\nc", "a\nb\nb", False),
        ("a\n...\nb\n...\nc", "a\nb\nx\nb\nc", True),
        ("a\n...\nb\n...\nc", "a\nx\nc", False),
        ("in ...s", "in 0.02s", True),
        ("in ...s", "in 0.02m", False),
        ("x.*", "x.y", False),
    ],
)
def test_outputs_are_compared(expected: str, actual: str, same: bool) -> None:
    assert same_output(expected, actual) is same


def test_the_environment_is_that_of_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTHONPATH", "SCALY_IR_PLUGINS", "PYTEST_PLUGINS", "FORCE_COLOR"):
        monkeypatch.setenv(name, "1")
    text = f"""\
    ```sh
    $ scaly-opt --version
    scaly-opt ...
    $ command -v pytest
    {tmp_path}/environment/bin/pytest
    $ command -v python
    {tmp_path}/environment/bin/python
    $ env | grep -E '^(PYTHONPATH|SCALY_IR_|PYTEST_P|FORCE)'   # exit code 1
    $ cat
    $ pwd
    {tmp_path}/page
    ```
    ```python
    >>> import sys, scaly_ir
    >>> sys.prefix
    '{tmp_path}/environment'
    ```
    """
    _run(tmp_path, text)


def test_a_command_that_does_not_end(tmp_path: Path) -> None:
    shell = Shell(tmp_path, make_environment(tmp_path / "environment"), patience=0.3)
    try:
        with pytest.raises(SessionError, match=r"no end after 0\.3 seconds; so far it printed:\nwaiting\n"):
            shell.ask("echo waiting; sleep 30")
    finally:
        shell.close()
