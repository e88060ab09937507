"""The `expr` dialect as the core sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scaly_ir.dialect import Dialect, in_order_of_text, verify_parsed
from scaly_ir.dialects.expr import generic_reader, ops, reader
from scaly_ir.dialects.expr.forms import brief, generic, show
from scaly_ir.dialects.expr.functions import body_of, inputs_of, make_function
from scaly_ir.dialects.expr.places import Range, Text, in_order, locations, place_of
from scaly_ir.dialects.expr.printer import render
from scaly_ir.dialects.expr.spec import SPEC
from scaly_ir.graph import Node, intern_node, postorder
from scaly_ir.text.diagnostics import Diagnostic
from scaly_ir.text.locations import Parsed
from scaly_ir.text.source import Source


def read(source: Source) -> Parsed:
    """Read a file: by the fast reader where it takes the text, else by the grammar."""
    generic_text = generic_reader.read(source.text)
    if generic_text is not None:
        return _placed(source, generic_text.root, None, [generic_text])
    fast = reader.read(source.text)
    if fast is not None:
        return _checked(source, *fast)
    from scaly_ir.dialects.expr import syntax  # Lark is loaded for unusual text and for messages only

    root, head, built, diagnostics = syntax.read(source)
    texts = []
    for body in built:
        if body.root is not None:
            starts, ends = [start for start, _ in body.places], [end for _, end in body.places]
            texts.append(Text(body.root, body.at, body.nodes, starts, ends))
    if root is None:
        from scaly_ir.dialects.expr.damaged import verify_damaged

        diagnostics += verify_damaged(source, built, diagnostics)
        return Parsed(None, locations(source, None, head, texts), in_order_of_text(diagnostics))
    return _placed(source, root, head, texts)


def _placed(source: Source, root: Node, head: Range | None, texts: Sequence[Text]) -> Parsed:
    """Return what was read: a module in the generic form is one text, in which nothing says what is in which."""
    if root.op is ops.MODULE and texts and texts[0].root is root:
        head = None if root.attrs.get("bare") else texts[0].at
        texts = _functions_in(texts[0])
    return _checked(source, root, head, texts)


def _functions_in(whole: Text) -> list[Text]:
    """Return the functions of a module that was read as one text."""
    places: dict[Node, Range] = {}
    for node, start, end in zip(whole.nodes, whole.starts, whole.ends, strict=True):
        places.setdefault(node, (start, end))
    texts = []
    for function in whole.root.args:
        nodes = [node for node in body_of(function) if node in places]
        starts, ends = [places[node][0] for node in nodes], [places[node][1] for node in nodes]
        texts.append(Text(function, places.get(function, whole.at), nodes, starts, ends))
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
    lowered_by="pass 'lower' makes a program of loops of it, the pipeline 'default' a good one",
    manual="scaly_ir.dialects.expr.manual:manual",
    show=show,
    generic=generic,
    brief=brief,
    operations=in_order,
    runner="scaly_ir.dialects.expr.running:RUNNER",
)
