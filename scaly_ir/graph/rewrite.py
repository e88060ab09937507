"""Rewriting a graph with rules: the one engine of every dialect.

`graph_rewrite` goes through a graph, gives each node to a matcher before or after its operands (or both) and rebuilds
what stands above a change, so that what was shared stays shared. It is iterative and, rules aside, linear in the size
of the graphs it meets. Nothing outlives a call, so a rewrite that an exception ends leaves no trace. Source of the
rules: graph specification A7 and A8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from scaly_ir.graph.match_code import Run
from scaly_ir.graph.matcher import PatternMatcher
from scaly_ir.graph.node import Node, intern_node
from scaly_ir.graph.observe import Rebuild, observed, observer
from scaly_ir.graph.pattern import Pattern
from scaly_ir.graph.rewrite_errors import Became, endless, no_node, too_many
from scaly_ir.graph.walk import Calls, operands_of, toposort

REWRITE_STACK_LIMIT: Final = 250_000
"""How many rewrites may wait for the results of others, beside four for each node that is there at the start."""


class Mode(Enum):
    """How often rules apply.

    - `FIXED_POINT`: rules before operands apply until none does. What a rule after operands makes, and a node that was
      rebuilt on new operands, is rewritten in turn. Each node is given to each matcher at most once.
    - `ONCE`: what a rule before operands makes is left as it is, and what is below it. Other nodes are rebuilt on the
      results of their operands and given to the rules after operands; what these make is left as it is.
    """

    FIXED_POINT = "fixed_point"
    ONCE = "once"


class BottomUpGate(Exception):  # noqa: N818 (it is no error, and the specification names it)
    """Raised by a rule before operands in `Mode.FIXED_POINT`: keep the node as it is now and leave what is below it.

    From any other rule it goes to the caller.
    """


@dataclass(frozen=True, slots=True)
class AfterOperands:
    """Rules for a node whose operands have been rewritten."""

    matcher: PatternMatcher


@dataclass(frozen=True, slots=True)
class BeforeOperands:
    """Rules for a node whose operands have not been rewritten."""

    matcher: PatternMatcher


@dataclass(frozen=True, slots=True)
class AroundOperands:
    """Rules for both times."""

    before: PatternMatcher
    after: PatternMatcher


Rules = AfterOperands | BeforeOperands | AroundOperands

SUBSTITUTE: Final = PatternMatcher(
    [(Pattern(lambda op: True, name="node"), lambda node, ctx: ctx.get(node), "substitute")]
)
"""The rule that replaces each node which the context, a mapping, has a value for (`pm_substitute`)."""


def rebuild(node: Node, args: Sequence[Node]) -> Node:
    """Return `node` with other operands.

    Its type is inferred again when the operator has a rule for it (`TFixedReturnType`, else `FInferType`) and stays
    otherwise. What the rule raises is raised.
    """
    new = intern_node(node.op, tuple(args), node.attrs, node.type)
    inferred = node.op.result_type(new)
    if inferred is None or inferred is node.type:
        return new
    return intern_node(node.op, new.args, node.attrs, inferred)


def graph_rewrite(
    root: Node,
    rules: Rules,
    *,
    calls: Calls = Calls.ENTER,
    mode: Mode = Mode.FIXED_POINT,
    ctx: Any = None,
    stack_limit: int = REWRITE_STACK_LIMIT,
    quiet: bool = False,
) -> Node:
    """Return `root` rewritten by `rules`, which receive `ctx`; `root` itself when no rule applies.

    Under `Calls.SKIP` the body of a call stays as it is in that call. In `Mode.FIXED_POINT` it raises `RewriteError`
    when rules before operands rewrite a node in a ``cycle``, when a rewrite waits for its own result
    (``self_dependence``), and when more than `stack_limit` rewrites and four for each node of `root` wait for others
    (``stack_limit``). `TypeError` when a rule makes something that is no node; what a rule raises is raised.
    An observer of rewrites (`observe_rewrites`) is told of each, unless `quiet` says that `root` is no part of the
    program, or that what happens to it is part of a larger rewrite; it then hears of what is rebuilt alone.
    """
    before: PatternMatcher | None = None
    after: PatternMatcher | None = None
    match rules:
        case BeforeOperands(before):
            pass
        case AfterOperands(after):
            pass
        case AroundOperands(before, after):
            pass
    told = observer()
    remake: Rebuild = rebuild if told is None else observed(rebuild)
    if told is not None and not quiet:
        before, after = [None if matcher is None else matcher.telling(told) for matcher in (before, after)]
    if mode is Mode.ONCE:
        return _rewrite_once(root, before, after, calls, ctx, remake)
    return _rewrite_to_fixed_point(root, before, after, calls, ctx, remake, stack_limit)


def substitute(
    root: Node,
    mapping: Mapping[Node, Node],
    *,
    calls: Calls = Calls.ENTER,
    mode: Mode = Mode.FIXED_POINT,
    extra: PatternMatcher | None = None,
) -> Node:
    """Return `root` with each key of `mapping` replaced by its value, users before operands.

    In `Mode.FIXED_POINT` replacements are searched in turn, in `Mode.ONCE` they stay as they are. The rules `extra`
    apply where nothing is replaced, and receive the mapping as `ctx`. Pairs of a node with itself are ignored; without
    other pairs the result is `root`. No observer is told what was replaced. Raises as `graph_rewrite` does.
    """
    pairs = {old: new for old, new in mapping.items() if old is not new}
    if not pairs:
        return root
    matcher = SUBSTITUTE if extra is None else SUBSTITUTE + extra
    return graph_rewrite(root, BeforeOperands(matcher), calls=calls, mode=mode, ctx=pairs, quiet=True)


def _rewrite_once(
    root: Node,
    before: PatternMatcher | None,
    after: PatternMatcher | None,
    calls: Calls,
    ctx: Any,
    remake: Rebuild,
) -> Node:
    results: dict[Node, Node] = {}
    path: list[Node] = []  # the entered nodes, and for each the operands of its user that are still to be visited
    suspended: list[Iterator[Node]] = []
    pending = iter((root,))
    while True:
        for node in pending:
            if node in results:
                continue
            made = None if before is None else _first_result(before, node, ctx)
            if made is None:
                path.append(node)
                suspended.append(pending)
                pending = iter(operands_of(node, calls))
                break
            results[node] = made
        else:
            if not path:
                return results[root]
            node = path.pop()
            pending = suspended.pop()
            operands = _operand_results(node, results, calls)
            new = node if operands == node.args else remake(node, operands)
            made = None if after is None else _first_result(after, new, ctx)
            results[node] = new if made is None else made


def _first_result(matcher: PatternMatcher, node: Node, ctx: Any) -> Node | None:
    for run in matcher.runs(node):
        made = run(node, ctx)
        if made is not None:
            if not isinstance(made, Node):
                raise no_node(node, made, run)
            return made
    return None


def _operand_results(node: Node, results: Mapping[Node, Any], calls: Calls) -> tuple[Any, ...]:
    """Return what the operands of a node became; the body of a call that is not entered stays."""
    found = tuple(map(results.__getitem__, operands_of(node, calls)))
    return found if len(found) == len(node.args) else (node.args[0], *found)


def _rewrite_to_fixed_point(
    root: Node,
    before: PatternMatcher | None,
    after: PatternMatcher | None,
    calls: Calls,
    ctx: Any,
    remake: Rebuild,
    stack_limit: int,
) -> Node:
    # A node is entered (rules before operands), then its operands are, then it is left (rebuilt or rules after
    # operands). What it is made into at either time is visited like one more operand, and its result taken over. All
    # that is entered and not left is one path from the root; so where the end of the path asks for the result of a
    # node on it, no work that is left could ever find that result.
    enter = calls is Calls.ENTER
    results: dict[Node, Node | None] = {}  # None from when a node is entered until its result is known
    became: Became = {}
    path: list[Node] = []  # the entered nodes, and for each the operands of its user that are still to be visited
    suspended: list[Iterator[Node]] = []
    pending = iter((root,))
    nothing: Iterator[Node] = iter(())
    limit = stack_limit
    while True:
        made: Any = None  # what the node at hand is made into, and by which rule
        run: Run | None = None
        result: Node | None
        entering = True
        for node in pending:
            if node in results:
                continue
            results[node] = None
            if before is not None:
                try:
                    for run in before.runs(node):
                        made = run(node, ctx)
                        if made is not None:
                            break
                except BottomUpGate:
                    results[node] = node
                    continue
            path.append(node)
            suspended.append(pending)
            pending = iter(node.args if enter else operands_of(node, calls))
            break
        else:
            if not path:
                break
            node = result = path[-1]
            entering = False
            if node in became:
                result = results[became[node][0]]
                if result is None:
                    raise endless(path, became, became[node][0])
                del became[node]
            else:
                args = node.args
                operands: tuple[Any, ...] = (
                    tuple(map(results.__getitem__, args)) if enter else _operand_results(node, results, calls)
                )
                if operands != args:
                    if None in operands:
                        raise endless(path, became, args[operands.index(None)])
                    made = remake(node, operands)
                    if before is None and made not in results:
                        # Entered at once, as its operands are results already and none of them is to be visited.
                        became[node] = (made, None, False)
                        results[made] = None
                        path.append(made)
                        suspended.append(nothing)
                        node = result = made
                        made = None
                if made is None and after is not None:
                    for run in after.runs(node):
                        made = run(node, ctx)
                        if made is not None:
                            break
        if made is not None:
            if not isinstance(made, Node):
                raise no_node(node, made, run)
            result = results.get(made)
            if result is None:
                became[node] = (made, run, entering)
                pending = iter((made,))
                if len(became) > limit:
                    if limit > stack_limit:
                        raise too_many(node, became, limit)
                    limit += 4 * len(toposort(root, calls=calls))
                continue
        elif entering:
            continue
        results[node] = result
        path.pop()
        pending = suspended.pop()
    result = results[root]
    assert result is not None
    return result
