"""Passes from text: options of every type, every mistake with its range, and running passes in order."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass
from typing import Any, ClassVar, Literal, cast

import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.errors import PassError, PipelineError
from scaly_ir.graph import Node
from scaly_ir.pass_manager import Pass, build_pipeline, load_pass, run_pipeline
from scaly_ir.types import FLOAT64


@dataclass(frozen=True)
class Options(Pass):
    name: ClassVar[str] = "options"
    dialects: ClassVar[frozenset[str] | None] = frozenset({"prog"})

    flag: bool = False
    count: int = 3
    ratio: float = 0.5
    text: str = ""
    mode: Literal["slow", "fast"] = "slow"
    width: Literal[1, 2, 4] = 1
    sizes: tuple[int, ...] = ()
    words: tuple[str, ...] = ("a",)
    two_words: bool = True

    def run(self, root: Node) -> Node:
        return root


@dataclass(frozen=True)
class Needs(Options):
    name: ClassVar[str] = "needs"

    def run(self, root: Node) -> Node:
        return cast(Node, None)


@dataclass(frozen=True)
class Rename(Pass):
    """Append a letter to the name of every procedure."""

    name: ClassVar[str] = "rename"
    dialects: ClassVar[frozenset[str] | None] = frozenset({"prog"})

    letter: str = "x"

    def run(self, root: Node) -> Node:
        return root.replace(args=[proc.with_attrs(name=proc.attrs["name"] + self.letter) for proc in root.args])


@dataclass(frozen=True)
class Foreign(Rename):
    name: ClassVar[str] = "foreign"
    dialects: ClassVar[frozenset[str] | None] = frozenset({"expr", "buffer"})


@dataclass(frozen=True)
class Anywhere(Rename):
    name: ClassVar[str] = "anywhere"
    dialects: ClassVar[frozenset[str] | None] = None


REGISTRY: dict[str, str | type[Pass]] = {
    "options": Options,
    "needs": Needs,
    "rename": Rename,
    "foreign": Foreign,
    "anywhere": Anywhere,
    "fuse_elementwise": "scaly_ir.passes.prog.fuse_elementwise:FuseElementwise",
}


def options(text: str) -> Options:
    (built,) = build_pipeline(f"options{{{text}}}", REGISTRY)
    assert isinstance(built, Options)
    return built


def test_options_have_their_defaults() -> None:
    assert build_pipeline("options", REGISTRY) == [Options()] == build_pipeline("options{}", REGISTRY)
    assert build_pipeline("", REGISTRY) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("flag", Options(flag=True)),
        ("flag=TRUE two_words=0", Options(flag=True, two_words=False)),
        ("two-words=false", Options(two_words=False)),
        ("count=-7", Options(count=-7)),
        ("count=007", Options(count=7)),
        ("ratio=1e-3", Options(ratio=0.001)),
        ("ratio=-2", Options(ratio=-2.0)),
        ("ratio=inf", Options(ratio=float("inf"))),
        ("ratio=.5", Options(ratio=0.5)),
        ('text="a b"', Options(text="a b")),
        ("text={a {b}}", Options(text="a {b}")),
        ("text=''", Options(text="")),
        ("mode=fast", Options(mode="fast")),
        ("width=4", Options(width=4)),
        ("sizes=1,2,3", Options(sizes=(1, 2, 3))),
        ('sizes="1, 2"', Options(sizes=(1, 2))),
        ("sizes=''", Options(sizes=())),
        ("words=b,c", Options(words=("b", "c"))),
    ],
)
def test_options_are_read_as_their_type(text: str, expected: Options) -> None:
    assert options(text) == expected


@pytest.mark.parametrize(
    ("text", "message", "blamed"),
    [
        ("flag=yes", "option 'flag' of pass 'options' expects true or false, got 'yes'", "yes"),
        ("count=1.5", "option 'count' of pass 'options' expects an integer, got '1.5'", "1.5"),
        ("count", "option 'count' of pass 'options' expects an integer, got 'true'", "count"),
        ("count=''", "option 'count' of pass 'options' expects an integer, got ''", "''"),
        ('count="1 2"', "option 'count' of pass 'options' expects an integer, got '1 2'", '"1 2"'),
        ("count={x}", "option 'count' of pass 'options' expects an integer, got 'x'", "{x}"),
        ("count=1_000", "option 'count' of pass 'options' expects an integer, got '1_000'", "1_000"),
        ("count=\uff11", "option 'count' of pass 'options' expects an integer, got '\uff11'", "\uff11"),
        ("ratio=fast", "option 'ratio' of pass 'options' expects a number, got 'fast'", "fast"),
        ("ratio=1_0.5", "option 'ratio' of pass 'options' expects a number, got '1_0.5'", "1_0.5"),
        ("mode=medium", "option 'mode' of pass 'options' expects 'slow' or 'fast', got 'medium'", "medium"),
        ("width=3", "option 'width' of pass 'options' expects '1', '2' or '4', got '3'", "3"),
        ("sizes=1,b", "option 'sizes' of pass 'options' expects an integer, got 'b'", "1,b"),
        ("coun=1", "pass 'options' has no option 'coun'; did you mean 'count'?", "coun"),
        ("two-wordz=1", "pass 'options' has no option 'two-wordz'; did you mean 'two_words'?", "two-wordz"),
        ("qqqqqqqq=1", None, "qqqqqqqq"),
    ],
)
def test_wrong_options_are_blamed_where_they_stand(text: str, message: str | None, blamed: str) -> None:
    pipeline = f"rename, options{{ flag {text} }}".replace("flag flag", "flag")
    with pytest.raises(PipelineError) as failure:
        build_pipeline(pipeline, REGISTRY)
    assert failure.value.text[failure.value.start : failure.value.end] == blamed
    listed = (
        "pass 'options' has no option 'qqqqqqqq'; it has flag, count, ratio, text, mode, width, sizes, words, two_words"
    )
    assert str(failure.value) == (message or listed)


def test_huge_numbers_are_refused() -> None:
    with pytest.raises(PipelineError, match="expects an integer"):
        options(f"count={'9' * 5000}")


@pytest.mark.parametrize(
    ("text", "message", "blamed"),
    [
        ("rename,optoins", "unknown pass 'optoins'; did you mean 'options'?", "optoins"),
        ("zzzzzzzzz", "unknown pass 'zzzzzzzzz'; --list-passes shows all", "zzzzzzzzz"),
        (
            "rename{}, fuse-elementwize",
            "unknown pass 'fuse-elementwize'; did you mean 'fuse_elementwise'?",
            "fuse-elementwize",
        ),
    ],
)
def test_unknown_passes(text: str, message: str, blamed: str) -> None:
    with pytest.raises(PipelineError) as failure:
        build_pipeline(text, REGISTRY)
    assert str(failure.value) == message
    assert text[failure.value.start : failure.value.end] == blamed


def test_dashes_and_underscores_are_the_same_in_names() -> None:
    assert build_pipeline("fuse-elementwise", REGISTRY) == build_pipeline("fuse_elementwise", REGISTRY)


def test_a_pass_is_loaded_by_name_or_given_as_a_class() -> None:
    assert load_pass(REGISTRY, "rename") is Rename
    assert load_pass(REGISTRY, "fuse_elementwise").name == "fuse_elementwise"
    with pytest.raises(KeyError):
        load_pass(REGISTRY, "unknown")


def test_a_pass_is_frozen_and_compares_by_its_options() -> None:
    step: Any = Options(count=1)
    with pytest.raises(FrozenInstanceError):
        step.count = 2
    assert step == Options(count=1) != Options(count=2)


# --- running ----------------------------------------------------------------------------------------------------------

ROOT = build.program([build.proc("f", [build.param("y", 1, FLOAT64)], [])])


def names(root: Node) -> list[str]:
    return [proc.attrs["name"] for proc in root.args]


def test_passes_run_in_order_and_are_watched() -> None:
    steps: list[tuple[str, int, list[str], list[str]]] = []
    passes = build_pipeline("rename{letter=a},options,rename{letter=b}", REGISTRY)
    result = run_pipeline(
        ROOT, passes, lambda step, number, before, after: steps.append((step.name, number, names(before), names(after)))
    )
    assert names(result) == ["fab"]
    assert steps == [
        ("rename", 1, ["f"], ["fa"]),
        ("options", 2, ["fa"], ["fa"]),
        ("rename", 3, ["fa"], ["fab"]),
    ]
    assert run_pipeline(ROOT, []) is ROOT
    assert run_pipeline(ROOT, [Options()]) is ROOT


def test_a_pass_takes_modules_of_its_dialects_only() -> None:
    with pytest.raises(
        PassError, match=r"^pass 'foreign' takes a module of dialect 'buffer', 'expr', not of 'prog'$"
    ) as failure:
        run_pipeline(ROOT, [Rename(), Foreign()])
    assert failure.value.pass_name == "foreign"
    assert names(run_pipeline(ROOT, [Anywhere()])) == ["fx"]


def test_a_pass_takes_no_fragment() -> None:
    fragment = build.block([build.call("f", [])])
    for step in (Rename(), Anywhere()):
        with pytest.raises(PassError, match="takes a module or procedures, not a fragment"):
            run_pipeline(fragment, [step])


def test_a_pass_that_returns_nothing_has_failed() -> None:
    with pytest.raises(PassError, match=r"^pass 'needs' failed without a message$"):
        run_pipeline(ROOT, [Needs()])


def test_a_pass_without_a_run_says_so() -> None:
    with pytest.raises(AssertionError, match="pass 'foreign' defines no run"):
        Pass.run(Foreign(), ROOT)


def test_passes_run_by_text_are_verified() -> None:
    assert sc.run_passes(ROOT, "") is ROOT
    assert sc.run_passes(ROOT, "fuse_elementwise") is ROOT
    with pytest.raises(PipelineError, match="unknown pass 'nothing_of_the_sort'"):
        sc.run_passes(ROOT, "nothing_of_the_sort")
    with pytest.raises(sc.VerifyError, match="unique-procedures"):
        sc.run_passes(build.program([ROOT.args[0], ROOT.args[0]]), "fuse_elementwise")
