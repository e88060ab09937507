"""The target ``python``: a `prog` module as Python source with NumPy that computes the same, slowly.

Each procedure becomes a function of flat arrays, one for each parameter in order; what it writes is written in place.
Scalars are NumPy scalars of their types, so that integers wrap and floats round as in the program. Python nests neither
loops nor parentheses deeply, so deep expressions are cut into assignments, and more than twenty loops are refused.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from scaly_ir.dialect import dialect_of
from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import body_of, buffer_of, params_of, statements_in
from scaly_ir.errors import TranslateError
from scaly_ir.graph import Node
from scaly_ir.numeric.table import scalar_name
from scaly_ir.text.spelling import float_bits, spell_name
from scaly_ir.tools.c.scalars import what_helps
from scaly_ir.tools.c.usage import Sizes, element_count, workspace_sizes
from scaly_ir.tools.translate.targets import Input
from scaly_ir.types import DType

_DEEPEST: Final = 25
"""Expressions that are deeper are cut into assignments."""
_MOST_LOOPS: Final = 18
"""CPython takes twenty blocks inside each other."""
_LANES: Final = 4
"""What a lane width is: results do not depend on it."""

_DIV: Final = '''\
def _div(x, y):
    """Divide integers, rounding toward zero."""
    quotient = abs(int(x)) // abs(int(y))
    return np.array(quotient if (x < 0) == (y < 0) else -quotient).astype(x.dtype)[()]


'''
_MOD: Final = '''\
def _mod(x, y):
    """Return the remainder of a division that rounds toward zero: it has the sign of x."""
    rest = abs(int(x)) % abs(int(y))
    return type(x)(-rest if x < 0 else rest)


'''

_DOUBLE: Final = "sin cos tan sinh cosh tanh exp log sqrt arcsin arccos arctan".split()
_LIBRARY: Final = {
    **{name.replace("arc", "a"): f"np.{name}({{0}})" for name in _DOUBLE},
    "erf": "np.float64(math.erf({0}))",
    "pow": "np.power({0}, {1})",
    "atan2": "np.arctan2({0}, {1})",
}
"""Functions of the C library: float32 goes through double."""

_TEXT: Final = {
    "add": "({0} + {1})",
    "sub": "({0} - {1})",
    "mul": "({0} * {1})",
    "floordiv": "({0} // {1})",
    "floormod": "({0} % {1})",
    "neg": "(-{0})",
    "abs": "abs({0})",
    "floor": "np.floor({0})",
    "ceil": "np.ceil({0})",
    "lt": "({0} < {1})",
    "le": "({0} <= {1})",
    "eq": "({0} == {1})",
    "ne": "({0} != {1})",
    "and": "({0} & {1})",
    "or": "({0} | {1})",
    "not": "(~{0})",
    "isfinite": "np.isfinite({0})",
    "select": "({1} if {0} else {2})",
}
_OF_INTEGERS: Final = {
    **_TEXT,
    "div": "_div({0}, {1})",
    "mod": "_mod({0}, {1})",
    "minimum": "min({0}, {1})",
    "maximum": "max({0}, {1})",
}
_OF_FLOATS: Final = {
    **_TEXT,
    "div": "({0} / {1})",
    "minimum": "np.fmin({0}, {1})",
    "maximum": "np.fmax({0}, {1})",
}
_TAKEN: Final = frozenset("np math w abs min max map range".split())
"""What the text uses itself."""


def python_text(given: Input, options: object) -> str:
    """Return Python source for a `prog` module; `TranslateError` for what has no such form."""
    module = given.root
    if module.op is not ops.PROGRAM:
        first = dialect_of(module).place_of(module, module.args[0]) if module.args else None
        raise TranslateError("statements without a procedure have no Python form", first)
    procs = {proc.attrs["name"]: proc for proc in module.args}
    sizes, functions = workspace_sizes(procs), _identifiers(procs, _TAKEN)
    taken = _TAKEN.union(functions.values())
    parts = []
    for proc in module.args:
        try:
            parts += _Function(proc, sizes, functions, taken).lines()
        except _FormlessError as failure:
            place = dialect_of(module).place_of(module, failure.node, proc.attrs["name"])
            raise TranslateError(str(failure), place, failure.hint) from failure
        parts.append("\n\n")
    text = "".join(parts).rstrip("\n") + "\n"
    helpers = [helper for name, helper in (("_div(", _DIV), ("_mod(", _MOD)) if name in text]
    library = "import math\n\n" if "math.erf(" in text else ""
    return "".join([library, "import numpy as np\n\n\n", *helpers, text])


def _identifiers(names: Iterable[str], taken: frozenset[str]) -> dict[str, str]:
    """Return a Python identifier for each name; of names that would meet, later ones get a number."""
    used: set[str] = set()
    found = {}
    for name in names:
        text = re.sub(r"[^A-Za-z0-9_]", "_", name)
        if not text or text[0].isdigit() or text.startswith("_") or keyword.iskeyword(text):
            text = f"x{text}" if text.startswith("_") or not text else f"x_{text}"
        number, wanted = 2, text
        while text in used or text in taken:
            text, number = f"{wanted}_{number}", number + 1
        used.add(text)
        found[name] = text
    return found


class _FormlessError(Exception):
    """A node has no Python form."""

    def __init__(self, reason: str, node: Node, hint: str = "") -> None:
        super().__init__(reason)
        self.node = node
        self.hint = hint


class _Function:
    """One procedure."""

    def __init__(
        self, proc: Node, sizes: Mapping[str, Sizes], functions: Mapping[str, str], taken: frozenset[str]
    ) -> None:
        self._proc = proc
        self._functions = functions
        self._sizes = sizes
        names = [param.attrs["name"] for param in params_of(proc)]
        names += [_declared(node) for node in statements_in(proc)]
        self._names = _identifiers(dict.fromkeys([name for name in names if name]), taken)
        self._temporaries = 0
        self._lines: list[str] = []

    def lines(self) -> list[str]:
        """Return the source."""
        name = self._proc.attrs["name"]
        params = ", ".join([self._names[param.attrs["name"]] for param in params_of(self._proc)])
        size = self._sizes[name].whole
        self._lines = [
            '@np.errstate(all="ignore")\n',
            f"def {self._functions[name]}({params}{', ' if params else ''}w=None):\n",
            f"    # @{spell_name(name)}: flat arrays, read or written in place\n",
        ]
        if size:
            self._lines.append(f"    w = np.empty({size}) if w is None else w\n")
        elif not body_of(self._proc):
            self._lines.append("    pass\n")
        pending: list[tuple[Iterator[Node], str]] = [(iter(body_of(self._proc)), "")]
        while pending:
            statements, advance = pending[-1]
            indent = "    " * len(pending)
            for node in statements:
                if node.op is ops.FOR:
                    if len(pending) > _MOST_LOOPS:
                        reason = f"loops are nested more than {_MOST_LOOPS} deep, which Python does not take"
                        raise _FormlessError(reason, node)
                    pending.append((iter(body_of(node)), self._loop(node, indent)))
                    break
                self._statement(node, indent)
            else:
                pending.pop()
                if advance:
                    self._lines.append(advance)
        return self._lines

    def _loop(self, node: Node, indent: str) -> str:
        """Open a loop; return the line that ends its body."""
        domain = node.args[0]
        name = self._names[domain.attrs["name"]]
        if all([bound.op is ops.CONST_INT for bound in domain.args]):
            start, stop, step = [str(bound.attrs["value"]) for bound in domain.args]
            self._lines.append(f"{indent}for {name} in map(np.int64, range({start}, {stop}, {step})):\n")
            return "" if body_of(node) else f"{indent}    pass\n"
        inner = f"{indent}    "
        self._lines.append(f"{indent}{name} = {self._scalar(domain.args[0], indent)}\n")
        before = len(self._lines)
        stop = self._scalar(domain.args[1], inner)
        computed = self._lines[before:]
        if computed:  # before each trip
            self._lines[before:] = [f"{indent}while True:\n", *computed, f"{inner}if not {name} < {stop}:\n"]
            self._lines.append(f"{inner}    break\n")
        else:
            self._lines.append(f"{indent}while {name} < {stop}:\n")
        # The step is read after the body, and what it needs is computed there.
        before = len(self._lines)
        text = f"{inner}{name} = {name} + {self._scalar(domain.args[2], inner)}\n"
        computed = self._lines[before:]
        del self._lines[before:]
        return "".join([*computed, text])

    def _statement(self, node: Node, indent: str) -> None:
        op = node.op
        if op is ops.BUFFER:
            self._lines.append(f"{indent}{self._names[node.attrs['name']]} = {self._storage(node)}\n")
        elif op is ops.ASSIGN:
            text = self._scalar(node.args[0], indent)
            self._lines.append(f"{indent}{self._names[node.attrs['target']]} = {text}\n")
        elif op is ops.CALL:
            own = self._sizes[self._proc.attrs["name"]].own
            callee = node.attrs["callee"]
            if callee not in self._functions:
                raise _FormlessError(f"procedure '@{callee}' is not defined in this file", node)
            passed = [self._address(argument, indent) for argument in node.args]
            if self._sizes[callee].whole:
                passed.append(f"w=w[{own}:]")
            self._lines.append(f"{indent}{self._functions[callee]}({', '.join(passed)})\n")
        else:
            view, *values = node.args
            index = self._index(view, indent)
            if len(values) > 1 and view.args[0].args:
                index = self._bound(index, indent)  # it may read what is written first
            place = self._names[view.attrs["buffer"]]
            texts = [self._scalar(value, indent) for value in values]
            targets = [f"{place}[{index}{f' + {step}' if step else ''}]" for step in range(len(texts))]
            self._lines.append(f"{indent}{', '.join(targets)} = {', '.join(texts)}\n")

    def _storage(self, node: Node) -> str:
        attrs, size = node.attrs, element_count(node)
        if "values" in attrs:
            values = ", ".join([_number(value, node.type) for value in attrs["values"]])
            return f"np.array([{values}], dtype=np.{_numpy(node.type)})"
        if "alias_of" in attrs:
            return f"{self._names[attrs['alias_of']]}[{attrs['alias_offset']}:]"
        if "workspace_offset" in attrs and size:
            return f"w[{attrs['workspace_offset']}:]"
        return f"np.empty({size}, dtype=np.{_numpy(node.type)})"

    def _address(self, argument: Node, indent: str) -> str:
        name = self._names[buffer_of(argument)]
        return name if argument.op is ops.BUFFER else f"{name}[{self._index(argument, indent)}:]"

    def _index(self, view: Node, indent: str) -> str:
        index = view.args[0]
        return str(index.attrs["value"]) if index.op is ops.CONST_INT else self._scalar(index, indent)

    # --- scalars ------------------------------------------------------------------------------------------------------

    def _scalar(self, root: Node, indent: str) -> str:
        """Return the text of a scalar; what it is cut into is assigned before the current line."""
        done: dict[Node, tuple[str, int]] = {}
        pending = [root]
        while pending:
            node = pending[-1]
            if node in done:
                pending.pop()
                continue
            missing = [operand for operand in node.args if operand not in done]
            if missing:
                pending.extend(reversed(missing))
                continue
            pending.pop()
            depth = 1 + max([done[operand][1] for operand in node.args], default=0)
            text = self._text(node, [done[operand][0] for operand in node.args])
            if depth > _DEEPEST and node is not root and node.op is not ops.VIEW:
                text, depth = self._bound(text, indent), 0
            done[node] = (text, depth)
        return done[root][0]

    def _bound(self, text: str, indent: str) -> str:
        """Assign a value to a new name, and return that."""
        self._temporaries += 1
        self._lines.append(f"{indent}_t{self._temporaries} = {text}\n")
        return f"_t{self._temporaries}"

    def _text(self, node: Node, operands: list[str]) -> str:
        op, attrs = node.op, node.attrs
        if op is ops.VIEW:
            index = node.args[0]
            at = str(index.attrs["value"]) if index.op is ops.CONST_INT else operands[0]
            return f"{self._names[attrs['buffer']]}[{at}]"
        if op is ops.LOAD:
            return operands[0]
        if op is ops.VAR:
            name = attrs["name"]
            return f"np.int64({_LANES})" if name.startswith(ops.RESERVED_PREFIX) else self._names[name]
        if op in (ops.CONST_INT, ops.CONST_FLOAT):
            return _number(attrs["value"], node.type)
        return _applied(node, operands)


def _declared(node: Node) -> str:
    """Return the name that a statement declares, or an empty string."""
    if node.op is ops.FOR:
        return str(node.args[0].attrs["name"])
    return str(node.attrs.get("target", node.attrs.get("name", "")))


def _numpy(dtype: DType) -> str:
    return "bool_" if dtype.kind == "bool" else str(dtype)


def _number(value: float, dtype: DType) -> str:
    kind = f"np.{_numpy(dtype)}"
    if not dtype.is_float:
        return f"{kind}({bool(value) if dtype.kind == 'bool' else value})"
    if value != value:
        return f"np.uint{dtype.size * 8}(0x{float_bits(value, dtype):x}).view({kind})"
    text = repr(value)
    return f'{kind}("{text}")' if "inf" in text else f"{kind}({text})"


def _applied(node: Node, operands: list[str]) -> str:
    """Return the text of an operator on operands."""
    name = scalar_name(node.op)
    kind = node.args[-1].type.kind if node.args else "float"
    if name == "cast":
        return f"{operands[0]}.astype(np.{_numpy(node.type)})"
    if name in _LIBRARY:
        if node.type.size == 8:
            return _LIBRARY[name].format(*operands)
        double = [f"np.float64({operand})" for operand in operands]
        return f"np.float32({_LIBRARY[name].format(*double)})"
    text = (_OF_INTEGERS if kind == "int" else _OF_FLOATS).get(name or "")
    if text is None:
        reason = f"no python lowering for operator '{node.op.name}'"
        raise _FormlessError(reason, node, what_helps(node.op, "python"))
    return text.format(*operands)
