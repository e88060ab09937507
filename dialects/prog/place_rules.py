"""What must hold for a `prog` node where it stands: names, storage and indices (program specification 3.2).

Rules of calls and of whole procedures are in `call_rules.py`.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import affine
from scaly_ir.dialects.prog.context import Context, Storage, buffer_size, declaration_name
from scaly_ir.graph import Node
from scaly_ir.spec import Fault, Faults, Rule
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.types import FLOAT64, INT64

_SUGGEST_AMONG: Final = 2000
"""With more names in scope than that, no similar one is looked for."""


# --- names
# -------------------------------------------------------------------------------------------------------------


def in_scope(node: Node, context: Context) -> Faults:
    """A name is declared before it is used."""
    name = node.attrs.get("buffer" if node.op is ops.VIEW else "name")
    if type(name) is not str or name in context.names or name.startswith(ops.RESERVED_PREFIX):
        return ()
    return (undeclared(name, node, context),)


def undeclared(name: str, node: Node, context: Context) -> Fault:
    """Return the fault for a name that is not in scope, with similar ones that are."""
    known = context.names if len(context.names) <= _SUGGEST_AMONG else ()
    hint = did_you_mean(f"%{name}", [f"%{other}" for other in known], quote="")
    return Fault(f"name %{name} is not declared here{hint}", node, "name")


def name_kind(node: Node, context: Context) -> Faults:
    """A name is used as what it was declared as."""
    of_buffer = node.op is ops.VIEW
    name = node.attrs.get("buffer" if of_buffer else "name")
    declaration = context.names.get(name) if type(name) is str else None
    if declaration is None:
        if of_buffer and type(name) is str and name.startswith(ops.RESERVED_PREFIX):
            return (Fault(f"%{name} is a reserved symbol and is used as a buffer", node, "name"),)
        return ()
    if (declaration.kind == "buffer") is of_buffer:
        return ()
    reason = f"%{name} is a {declaration.kind} and is used as a {'buffer' if of_buffer else 'scalar'}"
    return (Fault(reason, node, "name", context.declared_before(str(name))),)


def var_dtype(node: Node, context: Context) -> Faults:
    """A variable is used with the type it was declared with."""
    name = node.attrs.get("name")
    declaration = context.names.get(name) if type(name) is str else None
    if declaration is not None:
        declared = None if declaration.kind == "buffer" else declaration.dtype
    else:
        declared = INT64 if type(name) is str and name.startswith(ops.RESERVED_PREFIX) else None
    if declared is None or node.type is declared:
        return ()
    reason = f"variable %{name} has dtype {declared}, used as {node.type}"
    return (Fault(reason, node, "", context.declared_before(str(name))),)


def view_dtype(node: Node, context: Context) -> Faults:
    """A view has the element type of its buffer."""
    name = node.attrs.get("buffer")
    declaration = context.names.get(name) if type(name) is str else None
    if declaration is None or declaration.dtype is node.type or declaration.kind != "buffer":
        return ()
    reason = f"view dtype {node.type} differs from buffer %{name} dtype {declaration.dtype}"
    return (Fault(reason, node, "", context.declared_before(str(name))),)


def index_static_bounds(node: Node, context: Context) -> Faults:
    """An index that is known without running the program is inside its buffer."""
    return index_faults(node, context, beyond=0)


def index_faults(view: Node, context: Context, *, beyond: int) -> Faults:
    """Yield what is wrong with the index of a view that may reach `beyond` elements behind the last one."""
    name, args = view.attrs.get("buffer"), view.args
    size = context.size(name) if type(name) is str else None
    if size is None or len(args) != 1 or context.unknown_loops:
        return ()
    reached = context.reach(affine(args[0]))
    if reached is None or (reached[0] >= 0 and reached[1] < size + beyond):
        return ()
    low, high = reached
    verb = "is" if low == high else "gets"
    return (Fault(f"index {low if low < 0 else high} of %{name} {verb} outside [0, {size})", view),)


def unique_names(node: Node, context: Context) -> Faults:
    """A name is declared once where it is in scope."""
    if node.op is ops.BUFFER:
        name = node.attrs.get("name")
    elif node.op is ops.ASSIGN:
        name = node.attrs.get("target") if node.attrs.get("declare") else None
        declared = context.names.get(name) if type(name) is str else None
        if declared is not None and declared.kind == "scalar":
            return  # rule uninitialized-scalar
    else:
        name = node.attrs.get("name")
    if type(name) is not str:
        return
    if name.startswith(ops.RESERVED_PREFIX):
        yield Fault(
            f"name %{name} is reserved: names that begin with {ops.RESERVED_PREFIX} are not declared", node, "name"
        )
    elif name in context.names:
        where = "" if context.proc is None else f" in @{context.proc.attrs.get('name')}"
        yield Fault(f"name %{name} declared twice{where}", node, "name", context.declared_before(name))


def uninitialized_scalar(node: Node, context: Context) -> Faults:
    """A scalar is declared once, before it is assigned."""
    name = node.attrs.get("target")
    declaration = context.names.get(name) if type(name) is str else None
    if node.attrs.get("declare"):
        if declaration is not None and declaration.kind == "scalar":
            yield Fault(
                f"scalar %{name} redeclared", node, "name", context.declared_before(declaration_name(declaration))
            )
    elif declaration is None and type(name) is str:
        yield Fault(f"scalar %{name} assigned before declaration", node, "name")


def assign_target(node: Node, context: Context) -> Faults:
    """An assignment goes to a scalar of its type."""
    name = node.attrs.get("target")
    declaration = context.names.get(name) if type(name) is str else None
    if declaration is None or node.attrs.get("declare"):
        return
    if declaration.kind == "scalar" and declaration.dtype is not node.type:
        reason = f"variable %{name} has dtype {declaration.dtype}, used as {node.type}"
        yield Fault(reason, node, "name", context.declared_before(declaration_name(declaration)))


def assign_kind(node: Node, context: Context) -> Faults:
    """An assignment does not go to a buffer."""
    name = node.attrs.get("target")
    declaration = context.names.get(name) if type(name) is str else None
    if declaration is not None and declaration.kind == "buffer" and not node.attrs.get("declare"):
        yield Fault(f"%{name} is a buffer and is used as a scalar", node, "name", context.declared_before(str(name)))


# --- storage
# -----------------------------------------------------------------------------------------------------------


def store_readonly(node: Node, context: Context) -> Faults:
    """Nothing is written to an input, a table or a loop variable."""
    if node.op is ops.ASSIGN:
        name = node.attrs.get("target")
        declaration = context.names.get(name) if type(name) is str else None
        if declaration is not None and declaration.kind == "loop variable" and not node.attrs.get("declare"):
            yield Fault(
                f"assignment to %{name}, which is a loop variable", node, "name", context.declared_before(str(name))
            )
        return
    if not node.args or node.args[0].op is not ops.VIEW:
        return
    name = node.args[0].attrs.get("buffer")
    storage = context.storage.get(name) if type(name) is str else None
    if storage is not None and not storage.writable:
        what = _readonly_words(str(name), storage, context)
        yield Fault(f"store into %{name}, which is {what}", node.args[0], "name", context.declared_before(storage.root))


def _readonly_words(name: str, storage: Storage, context: Context) -> str:
    root = context.names[storage.root].node
    what = "a table" if "values" in root.attrs or "elided" in root.attrs else "an input"
    return what if storage.root == name else f"an alias of %{storage.root}, {what}"


def alias_target(node: Node, context: Context) -> Faults:
    """An alias names a buffer declared before it, of its element type."""
    source = node.attrs.get("alias_of")
    if type(source) is not str:
        return
    declaration = context.names.get(source)
    if declaration is None or declaration.kind != "buffer":
        yield f"alias %{node.attrs.get('name')} of undeclared or later buffer %{source}"
    elif declaration.dtype is not node.type:
        reason = f"alias %{node.attrs.get('name')} has dtype {node.type}, its buffer %{source} {declaration.dtype}"
        yield Fault(reason, node, "", context.declared_before(source))


def alias_bounds(node: Node, context: Context) -> Faults:
    """An alias lies inside the buffer it names."""
    source, offset, size = node.attrs.get("alias_of"), node.attrs.get("alias_offset"), buffer_size(node)
    whole = context.size(source) if type(source) is str else None
    if whole is None or size is None or type(offset) is not int:
        return
    if offset < 0 or offset + size > whole:
        covered = f"alias %{node.attrs.get('name')} covers [{offset}, {offset + size})"
        yield Fault(f"{covered} of %{source} with {whole} elements", node, "", context.declared_before(str(source)))


def workspace_bounds(node: Node, context: Context) -> Faults:
    """A window is float64, inside the procedure's own workspace, and apart from the other windows."""
    offset, size, name = node.attrs.get("workspace_offset"), buffer_size(node), node.attrs.get("name")
    if type(offset) is not int or size is None:
        return
    if node.type is not FLOAT64:
        yield f"window %{name} has dtype {node.type}, expected float64"
    own = context.proc.attrs.get("w_self", 0) if context.proc is not None else 0
    end = offset + size
    if type(own) is int and (offset < 0 or end > own):
        yield f"window [{offset}, {end}) of %{name} exceeds w_self {own}"
    place = bisect_left(context.windows, (offset, end, ""))
    for other in context.windows[max(place - 1, 0) : place + 1]:
        if other[0] < end and offset < other[1]:
            yield Fault(
                f"window [{offset}, {end}) of %{name} overlaps window %{other[2]}",
                node,
                "",
                context.declared_before(other[2]),
            )
    context.windows.insert(place, (offset, end, str(name)))


def pair_bounds(node: Node, context: Context) -> Faults:
    """Both elements of a pair are inside the buffer."""
    if not node.args or node.args[0].op is not ops.VIEW or len(node.args[0].args) != 1:
        return
    view = node.args[0]
    name = view.attrs.get("buffer")
    size = context.size(name) if type(name) is str else None
    reached = context.reach(affine(view.args[0])) if size is not None else None
    if size is not None and reached is not None and 0 <= reached[1] < size <= reached[1] + 1:
        at = reached[1]
        yield Fault(f"pair at {at} needs elements {at} and {at + 1} of %{name}, which has {size}", view)


def decl_at_top(node: Node, context: Context) -> Faults:
    """A buffer is declared at the top level of its procedure."""
    if context.loops:
        yield f"buffer %{node.attrs.get('name')} declared inside a loop"


def lane_loop(node: Node, context: Context) -> Faults:
    """A vector loop is the only statement of a serial loop that steps by a width symbol."""
    domain = node.args[0] if node.args else node
    if domain.op is not ops.RANGE or domain.attrs.get("kind") != "vector":
        return
    outer = context.loops[-1] if context.loops else None
    fits = outer is not None and len(outer.args) == 2 and outer.args[0].op is ops.RANGE
    if fits and outer is not None:
        step = outer.args[0].args[2:3]
        width = [bound.op is ops.VAR and str(bound.attrs.get("name")).startswith(ops.RESERVED_PREFIX) for bound in step]
        fits = outer.args[0].attrs.get("kind") == "serial" and width == [True]
    if not fits:
        yield Fault("a vector loop must be the only statement of a serial loop stepping by a width symbol", domain)


PLACE_RULES: Final = (
    Rule("in-scope", in_scope, frozenset({ops.VAR, ops.VIEW}), context=True),
    Rule("name-kind", name_kind, frozenset({ops.VAR, ops.VIEW}), context=True),
    Rule("var-dtype", var_dtype, frozenset({ops.VAR}), context=True),
    Rule("view-dtype", view_dtype, frozenset({ops.VIEW}), context=True),
    Rule("index-static-bounds", index_static_bounds, frozenset({ops.VIEW}), context=True),
    Rule("pair-bounds", pair_bounds, frozenset({ops.STORE_PAIR}), context=True),
    Rule("store-readonly", store_readonly, frozenset({ops.STORE, ops.STORE_PAIR, ops.ASSIGN}), context=True),
    Rule("name-kind", assign_kind, frozenset({ops.ASSIGN}), context=True),
    Rule("var-dtype", assign_target, frozenset({ops.ASSIGN}), context=True),
    Rule("uninitialized-scalar", uninitialized_scalar, frozenset({ops.ASSIGN}), context=True),
    Rule("unique-names", unique_names, frozenset({ops.BUFFER, ops.ASSIGN, ops.RANGE}), context=True),
    Rule("decl-at-top", decl_at_top, frozenset({ops.BUFFER}), context=True),
    Rule("alias-target", alias_target, frozenset({ops.BUFFER}), context=True),
    Rule("alias-bounds", alias_bounds, frozenset({ops.BUFFER}), context=True),
    Rule("workspace-bounds", workspace_bounds, frozenset({ops.BUFFER}), context=True),
    Rule("lane-loop", lane_loop, frozenset({ops.FOR}), context=True),
)
