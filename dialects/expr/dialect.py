"""The `expr` dialect as the core sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from scaly_ir.dialect import Dialect, verify_parsed
from scaly_ir.dialects.expr import ops, reader
from scaly_ir.dialects.expr.forms import brief, generic, show
from scaly_ir.dialects.expr.functions import body_of, inputs_of, make_function
from scaly_ir.dialects.expr.places import Range, Text, in_order, locations, place_of
from scaly_ir.dialects.expr.printer import render
from scaly_ir.dialects.expr.spec import SPEC
from scaly_ir.graph import Node, intern_node, postorder
from scaly_ir.text.diagnostics import Diagnostic
from scaly_ir.text.locations import Parsed
from scaly_ir.text.source import Source

if TYPE_CHECKING:
    from scaly_ir.dialects.expr.assembler import Built


def read(source: Source) -> Parsed:
    """Read a file: by the fast reader where it takes the text, else by the grammar."""
    fast = reader.read(source.text)
    if fast is not None:
        return _checked(source, *fast)
    from scaly_ir.dialects.expr import syntax  # Lark is loaded for unusual text and for messages only

    root, head, built, diagnostics = syntax.read(source)
    if root is not None and len(built) == 1 and root.op is ops.MODULE and built[0].root is root:
        return _checked(source, root, None if root.attrs.get("bare") else built[0].at, _generic_texts(root, built[0]))
    texts = []
    for body in built:
        if body.root is not None:
            starts, ends = [start for start, _ in body.places], [end for _, end in body.places]
            texts.append(Text(body.root, body.at, body.nodes, starts, ends))
    if root is None:
        return Parsed(None, locations(source, None, head, texts), tuple(diagnostics))
    return _checked(source, root, head, texts)


def _generic_texts(root: Node, built: Built) -> list[Text]:
    """Return the functions of a module that was read in the generic form, where nothing says what is in which."""
    places: dict[Node, Range] = {}
    for node, at in zip(built.nodes, built.places, strict=True):
        places.setdefault(node, at)
    texts = []
    for function in root.args:
        nodes = [node for node in body_of(function) if node in places]
        starts, ends = [places[node][0] for node in nodes], [places[node][1] for node in nodes]
        texts.append(Text(function, places.get(function, built.at), nodes, starts, ends))
    return texts


def _checked(source: Source, root: Node, head: Range | None, texts: Sequence[Text]) -> Parsed:
    """Return what was read, or what is wrong with operations that no result depends on, which are then dropped."""
    diagnostics = tuple(_wrong_if_kept(source, root, head, texts))
    return Parsed(None if diagnostics else root, locations(source, root, head, texts), diagnostics)


def _wrong_if_kept(source: Source, root: Node, head: Range | None, texts: Sequence[Text]) -> list[Diagnostic]:
    """Return what is wrong with a file whose operations are all results; nothing if it is none that was dropped."""
    dropped: set[Node] = set()
    kept = []
    for text in texts:
        unused = _unreached(text)
        dropped.update(unused)
        kept.append(text._replace(root=_with_results(text.root, unused)) if unused else text)
    if not dropped:
        return []
    whole = kept[0].root if root.op is not ops.MODULE else root.replace(args=[text.root for text in kept])
    if not any([violation.place.statement in dropped for violation in SPEC.check(whole)]):
        return []
    return verify_parsed(whole, locations(source, whole, head, kept))


def _unreached(text: Text) -> list[Node]:
    """Return the operations of a text that its results do not depend on."""
    used = set(text.root.args)
    for node in text.nodes:
        used.update(node.args)
    if used.issuperset(text.nodes):
        return []  # what is used last, is used by the results, and so on upwards
    reached = set(postorder(*text.root.args))
    return [node for node in text.nodes if node not in reached]


def _with_results(root: Node, more: Sequence[Node]) -> Node:
    """Return a function, region or fragment with further results."""
    if root.op is not ops.FUNC:
        return intern_node(root.op, (*root.args, *more), root.attrs, None)
    names: tuple[str, ...] = root.attrs["output_names"]
    names = (*names, *[f"unused{number}" for number in range(len(more))])
    inputs = inputs_of(root)
    return make_function(root.attrs["name"], inputs, (*root.args[: len(root.args) - len(inputs)], *more), names)


DIALECT: Final = Dialect(
    "expr",
    read,
    render,
    SPEC,
    place_of=place_of,
    summary="functions of tensors: what is to be computed",
    manual="scaly_ir.dialects.expr.manual:manual",
    show=show,
    generic=generic,
    brief=brief,
    operations=in_order,
    runner="scaly_ir.dialects.expr.running:RUNNER",
)
