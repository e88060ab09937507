"""Lanes side by side, in GNU C: the body of a lane loop on vectors of doubles.

Floating scalars are vectors and truth values are masks; integers, which only indices are made of, are computed lane by
lane where they differ between lanes. Memory is read and written whole where lanes lie beside each other and all are
valid. Source: lowering specification 5.7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.affine import Affine
from scaly_ir.dialects.prog.build import body_of
from scaly_ir.graph import Node, postorder
from scaly_ir.graph.rewrite import Mode, substitute
from scaly_ir.passes.prog.lane_loops import Kind, index_form, lane_kind, sum_operand
from scaly_ir.tools.c.body import INDENT, Unit, address, loop_head
from scaly_ir.tools.c.errors import CTranslateError
from scaly_ir.tools.c.lane_groups import LaneGroup
from scaly_ir.tools.c.literals import int_text
from scaly_ir.tools.c.names import Names
from scaly_ir.tools.c.ranges import Ranges
from scaly_ir.tools.c.scalars import Scalars
from scaly_ir.tools.c.spelling import SpellingError, Template, call_of, is_identifier, template_of
from scaly_ir.tools.c.usage import Usage
from scaly_ir.tools.c.vector_types import MOST_LANES, function_for
from scaly_ir.types import BOOL


class VectorPlan(NamedTuple):
    """A group of lanes that vectors may compute: its body in terms of `element`, the number of a lane's trip."""

    group: LaneGroup
    kind: Kind
    element: str
    body: Sequence[Node]

    def of_program(self, failure: CTranslateError) -> CTranslateError:
        """Return an error in the body as one in the program, where lanes have not been given an element yet."""
        place, back = failure.place, {build.var(self.element): self.group.element}
        if place is not None:
            statement, node = [substitute(found, back, mode=Mode.ONCE) for found in (place.statement, place.node)]
            place = place._replace(statement=statement, node=node)
        return CTranslateError(str(failure), place, failure.hint)


def vector_plan(group: LaneGroup, roots: Mapping[str, str]) -> VectorPlan | None:
    """Return how vectors compute a group of lanes; None where lanes may depend on each other, or hold integers."""
    element = f"{group.start}+{group.lane}"
    while element in group.scalars or element in group.buffers:
        element += "+"
    body = [substitute(node, {group.element: build.var(element)}, mode=Mode.ONCE) for node in group.body]
    names = {node.attrs["name"] for node in postorder(*body) if node.op is ops.VAR}
    if not names.isdisjoint((group.start, group.lane)):
        return None
    values = range(group.trips)
    kind = lane_kind(body, element, values, "global", roots) or lane_kind(body, element, values, "reduce", roots)
    return None if kind is None else VectorPlan(group, kind, element, body)


class VectorBody:
    """Writes the statements of a plan; `valid` is the variable that holds how many lanes are valid."""

    def __init__(self, unit: Unit, usage: Usage, names: Names, ranges: Ranges, plan: VectorPlan, valid: str) -> None:
        self._unit = unit
        self._usage = usage
        self._names = names
        self._ranges = ranges
        self._plan = plan
        self._valid = valid
        group = plan.group
        self._kind = unit.vectors.type_of(unit.widths[group.width])
        self._lane = names.of[group.lane]
        self._places = {name: names.of[name] for name in group.buffers}
        ranges.enter(plan.element, range(group.trips))
        start = names.of[group.start]
        same = {**names.of, **unit.widths}
        last = int_text(group.trips - 1)
        clamped = {plan.element: f"scaly_min_i64(({start} + {self._lane}), {last})"}
        self._first_names = {**same, plan.element: start}
        """The text of variables in the first lane."""
        self._each_names = {**same, **clamped}
        """The text of variables in the lane at hand."""
        self._scalars = Scalars(unit.options.dialect, self._places, same, ranges, unit.helpers)
        self._varying_names = {plan.element}
        self._varying: dict[Node, bool] = {}
        self._forms: dict[str, Affine | None] = {}
        self._gathered: dict[Node, str] = {}
        self._lines: list[str] = []
        self._mark = ""
        self._indent = INDENT

    def lines(self) -> list[str]:
        """Return the text of all statements."""
        pending: list[Iterator[Node]] = [iter(self._plan.body)]
        while pending:
            for node in pending[-1]:
                self._indent = INDENT * len(pending)
                self._begin(node)
                if node.op is ops.FOR:
                    self._add(f"{self._loop(node)} {{")
                    pending.append(iter(body_of(node)))
                    break
                self._statement(node)
            else:
                pending.pop()
                if pending:
                    self._lines.append(f"{INDENT * len(pending)}}}\n")
        return self._lines

    def _begin(self, node: Node) -> None:
        self._mark, directive = self._unit.begin()
        if directive:
            self._lines.append(directive)
        self._varying = {}
        self._gathered = {}
        self._scalars.begin(self._unit.number, node)

    def _add(self, text: str) -> None:
        self._lines.append(f"{self._indent}{text}{self._mark}\n")

    def _each_lane(self, stop: str, statement: str) -> None:
        self._add(f"{loop_head(self._lane, '0', stop)} {{")
        self._add(f"{INDENT}{statement}")
        self._add("}")
        if "scaly_min_i64" in statement:
            self._unit.helpers.add("scaly_min_i64")

    # --- statements ---------------------------------------------------------------------------------------------------

    def _loop(self, node: Node) -> str:
        domain = node.args[0]
        self._ranges.enter_loop(domain)
        name = domain.attrs["name"]
        self._is_same(name)
        start, stop = [self._scalars.text(bound) for bound in domain.args[:2]]
        return loop_head(self._names.of[name], start, stop, self._scalars.advance(self._names.of[name], domain))

    def _is_same(self, name: str) -> None:
        """Take note of an integer that all lanes share."""
        self._varying_names.discard(name)
        self._first_names[name] = self._each_names[name] = self._names.of[name]

    def _statement(self, node: Node) -> None:
        if node.op is ops.ASSIGN:
            self._assign(node)
        elif self._plan.kind == "sum":
            self._sum(node)
        elif node.op is ops.STORE:
            view, value = node.args
            self._store(view, self._text(value))
        else:
            view, *values = node.args
            texts = [self._text(value) for value in values]
            names = [self._names.fresh(name) for name in ("first", "second")]
            for name, text in zip(names, texts, strict=True):
                self._add(f"{self._kind.vec} {name} = {text};")
            for offset, name in enumerate(names):
                self._store(view, name, offset)

    def _assign(self, node: Node) -> None:
        target, (value,) = node.attrs["target"], node.args
        name, declares = self._names.of[target], node.attrs.get("declare", False)
        if node.type.is_float or node.type is BOOL:
            kind = f"{self._kind.of(node)} " if declares else ""
            self._add(f"{kind}{name} = {self._text(value)};")
            self._varying_names.add(target)
            self._forms.pop(target, None)
            self._each_names[target] = f"{name}[{self._lane}]" if node.type.is_float else f"({name}[{self._lane}] != 0)"
        else:
            self._index(node, name)
        self._ranges.assign(target, value)
        if declares and target not in self._usage.scalars:
            self._add(f"(void){name};")

    def _index(self, node: Node, name: str) -> None:
        """Add an integer: an array, where lanes differ in it."""
        target, (value,) = node.attrs["target"], node.args
        self._forms[target] = index_form(value, self._forms)
        if not self._varies(value):
            self._add(f"{node.type.c_type} {name} = {self._scalars.text(value)};")
            self._is_same(target)
            return
        self._add(f"{node.type.c_type} {name}[{MOST_LANES}];")
        self._each_lane(self._kind.width, f"{name}[{self._lane}] = {self._scalars.text(value, self._each_names)};")
        self._varying_names.add(target)
        self._first_names[target] = f"{name}[0]"
        self._each_names[target] = f"{name}[{self._lane}]"

    def _store(self, view: Node, text: str, offset: int = 0) -> None:
        stride = self._stride(view)
        assert stride  # trips would not be independent
        place = self._address(view, offset)
        if stride == 1:
            self._add(f"{self._call('store')}({place}, {text}, {self._valid});")
        else:
            self._add(f"{self._call('store_stride')}({place}, {int_text(stride)}, {text}, {self._valid});")

    def _sum(self, node: Node) -> None:
        """Add up the lanes in order; what is added does not depend on the sum."""
        view, value = node.args
        added = sum_operand(node)
        assert added is not None
        terms, total = [self._names.fresh(name) for name in ("terms", "sum")]
        place = self._scalars.text(view)
        self._add(f"{self._kind.vec} {terms} = {self._text(added)};")
        self._add(f"double {total} = {place};")
        operands = {added: f"{terms}[{self._lane}]"}
        texts = [operands.get(operand, total) for operand in value.args]
        self._each_lane(self._valid, f"{total} = {' + '.join(texts)};")
        self._add(f"{place} = {total};")

    # --- places -------------------------------------------------------------------------------------------------------

    def _stride(self, view: Node) -> int | None:
        """Return how far apart two lanes lie, or None when that is not the same everywhere."""
        form = index_form(view.args[0], self._forms)
        return None if form is None else form.coefficients.get(self._plan.element, 0)

    def _address(self, view: Node, offset: int = 0) -> str:
        """Return a pointer to the element of the first lane."""
        index = view.args[0]
        if offset:
            index = build.apply("add", index, build.index(offset))
        return address(self._places[view.attrs["buffer"]], self._scalars.text(index, self._first_names))

    def _load(self, view: Node) -> str:
        stride = self._stride(view)
        if stride == 1:
            return f"{self._call('load')}({self._address(view)}, {self._valid})"
        if stride is not None:
            return f"{self._call('load_stride')}({self._address(view)}, {int_text(stride)}, {self._valid})"
        if view not in self._gathered:
            name = self._gathered[view] = self._names.fresh("gathered")
            self._add(f"double {name}[{MOST_LANES}];")
            self._each_lane(self._kind.width, f"{name}[{self._lane}] = {self._scalars.text(view, self._each_names)};")
        return f"{self._call('from')}({self._gathered[view]})"

    # --- values -------------------------------------------------------------------------------------------------------

    def _text(self, root: Node) -> str:
        """Return the text of a value as a vector, or of a truth value as a mask."""
        pieces: list[str] = []
        pending: list[str | Node] = [root]
        while pending:
            entry = pending.pop()
            if isinstance(entry, str):
                pieces.append(entry)
            elif not self._varies(entry):
                what = "all" if entry.type is BOOL else "splat"
                pieces.append(f"{self._call(what)}({self._scalars.text(entry)})")
            elif entry.op is ops.VAR:
                pieces.append(self._names.of[entry.attrs["name"]])
            elif entry.op is ops.LOAD:
                pieces.append(self._load(entry.args[0]))
            else:
                parts = reversed(self._template(entry))
                pending += [part if isinstance(part, str) else entry.args[part] for part in parts]
        return "".join(pieces)

    def _template(self, node: Node) -> Template:
        text = node.op.get_attr("TCVectorSpelling")
        if text is None:
            found = self._scalars.spelling(node)
            return call_of(self._unit.vectors.lane_by_lane(self._kind, node, found), len(node.args))
        try:
            if is_identifier(text):
                return call_of(self._call(function_for(text, node)), len(node.args))
            plain = template_of(node.op, text, len(node.args))
        except SpellingError as problem:
            raise self._scalars.refused(str(problem), node) from problem
        return (f"(({self._kind.mask})", *plain, ")") if node.type is BOOL else plain

    def _call(self, what: str) -> str:
        return self._unit.vectors.function(self._kind, what)

    def _varies(self, root: Node) -> bool:
        """Tell whether lanes differ in a scalar."""
        known = self._varying
        if root not in known:
            for node in postorder(root):
                if node.op is ops.VAR:
                    known[node] = node.attrs["name"] in self._varying_names
                else:
                    known[node] = any([known[operand] for operand in node.args])
        return known[root]
