"""What must hold for a `prog` node where it stands: names, storage and indices (program specification 3.2).

Rules of calls and of whole procedures are in `call_rules.py`. A node without a type breaks `dtype-is-DType` and no rule
here.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, Final

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import affine
from scaly_ir.dialects.prog.context import Context, Declaration, Storage, buffer_size, symbol_name, value_name, whole
from scaly_ir.dialects.prog.scalar_rules import on
from scaly_ir.graph import Node
from scaly_ir.spec import Fault, Faults, Rule, shown_value
from scaly_ir.types import FLOAT64, INT64

# --- names ------------------------------------------------------------------------------------------------------------


def _is_reserved(name: Any) -> bool:
    return type(name) is str and name.startswith(ops.RESERVED_PREFIX)


def in_scope(node: Node, context: Context) -> Faults:
    """A name is declared before it is used."""
    key = "buffer" if node.op is ops.VIEW else "name"
    name = node.attrs.get(key)
    if type(name) is not str or name in context.names or name.startswith(ops.RESERVED_PREFIX):
        return ()
    return (context.undeclared(name, node, key),)


def name_kind(node: Node, context: Context) -> Faults:
    """A name is used as what it was declared as."""
    of_buffer = node.op is ops.VIEW
    name = node.attrs.get("buffer" if of_buffer else "name")
    declaration = context.names.get(name) if type(name) is str else None
    if declaration is not None:
        return () if (declaration.kind == "buffer") is of_buffer else wrong_kind(str(name), declaration, context, node)
    if of_buffer and _is_reserved(name):
        return (Fault(f"{value_name(name)} is a reserved symbol and is used as a buffer", node, "buffer"),)
    return ()


def wrong_kind(name: str, declaration: Declaration, context: Context, node: Node) -> Faults:
    """Return the fault for a name that is used as something else; none when it is not known what it is."""
    if not declaration.kind:
        return ()
    used = "buffer" if declaration.kind != "buffer" else "scalar"
    key = {ops.VIEW: "buffer", ops.ASSIGN: "target"}.get(node.op, "name")
    reason = f"{value_name(name)} is a {declaration.kind} and is used as a {used}"
    return (Fault(reason, node, key, context.declared_before(name)),)


def var_dtype(node: Node, context: Context) -> Faults:
    """A variable is used with the type it was declared with."""
    name = node.attrs.get("name")
    declaration = context.names.get(name) if type(name) is str else None
    if declaration is not None:
        declared = None if declaration.kind in ("buffer", "") else declaration.dtype
    else:
        declared = INT64 if _is_reserved(name) else None
    if declared is None or node.type is declared or node.type is None:
        return ()
    reason = f"variable {value_name(name)} has dtype {declared}, used as {node.type}"
    return (Fault(reason, node, "", context.declared_before(str(name))),)


def view_dtype(node: Node, context: Context) -> Faults:
    """A view has the element type of its buffer."""
    name = node.attrs.get("buffer")
    declaration = context.names.get(name) if type(name) is str else None
    if declaration is None or declaration.dtype is node.type or declaration.kind != "buffer" or node.type is None:
        return ()
    reason = f"view dtype {node.type} differs from buffer {value_name(name)} dtype {declaration.dtype}"
    return (Fault(reason, node, "", context.declared_before(str(name))),)


def unique_names(node: Node, context: Context) -> Faults:
    """A name is declared once where it is in scope."""
    key = "target" if node.op is ops.ASSIGN else "name"
    name = node.attrs.get(key)
    if type(name) is not str or (node.op is ops.ASSIGN and not declares(node)):
        return
    declared = context.names.get(name)
    if name.startswith(ops.RESERVED_PREFIX):
        prefix = ops.RESERVED_PREFIX
        yield Fault(f"name {value_name(name)} is reserved: no declared name begins with {prefix}", node, key)
    elif declared is not None and declared.kind == "scalar" and node.op is ops.ASSIGN:
        yield from ()  # rule uninitialized-scalar
    elif declared is not None and not (declared.node.op is ops.ASSIGN and not declares(declared.node)):
        where = "" if context.proc is None else f" in {symbol_name(context.proc.attrs.get('name'))}"
        yield Fault(f"name {value_name(name)} declared twice{where}", node, key, context.declared_before(name))


def declares(assign: Node) -> bool:
    """Tell whether an assignment introduces its target."""
    return assign.attrs.get("declare", False) is not False


def uninitialized_scalar(node: Node, context: Context) -> Faults:
    """A scalar is declared once, before it is assigned."""
    name = node.attrs.get("target")
    if type(name) is not str or name.startswith(ops.RESERVED_PREFIX):
        return ()
    declaration = context.names.get(name)
    if declares(node):
        if declaration is None or declaration.kind != "scalar":
            return ()
        return (Fault(f"scalar {value_name(name)} redeclared", node, "target", context.declared_before(name)),)
    if declaration is not None:
        return ()
    hint = context.similar(name) or "; the first assignment has {declare=True}"
    return (Fault(f"scalar {value_name(name)} assigned before declaration{hint}", node, "target"),)


def assign_target(node: Node, context: Context) -> Faults:
    """An assignment goes to a scalar of its type."""
    name = node.attrs.get("target")
    declaration = context.names.get(name) if type(name) is str else None
    if declaration is None or declares(node) or declaration.kind != "scalar" or declaration.dtype is node.type:
        return ()
    reason = f"variable {value_name(name)} has dtype {declaration.dtype}, used as {node.type}"
    return (Fault(reason, node, "target", context.declared_before(str(name))),)


def assign_kind(node: Node, context: Context) -> Faults:
    """An assignment does not go to a buffer."""
    name = node.attrs.get("target")
    declaration = context.names.get(name) if type(name) is str else None
    if declaration is None or declaration.kind != "buffer" or declares(node):
        return ()
    return wrong_kind(str(name), declaration, context, node)


# --- indices ----------------------------------------------------------------------------------------------------------


def index_static_bounds(node: Node, context: Context) -> Faults:
    """An index that is known without running the program is inside its buffer."""
    return index_faults(node, context, beyond=0)


def index_faults(view: Node, context: Context, *, beyond: int) -> Faults:
    """Return what is wrong with the index of a view that may reach `beyond` elements behind the last one."""
    name, args = view.attrs.get("buffer"), view.args
    size = context.size(name)
    if size is None or len(args) != 1 or context.unknown_loops:
        return ()
    form = affine(args[0])
    reached = context.reach(form)
    if reached is None or (reached[0] >= 0 and reached[1] < size + beyond):
        return ()
    value = reached[0] if reached[0] < 0 else reached[1]
    reason = f"index {value} of {value_name(name)} is outside [0, {size})"
    return (Fault(reason, view, 0, context.reasons(form)),)


def pair_bounds(node: Node, context: Context) -> Faults:
    """Both elements of a pair are inside the buffer."""
    if not node.args or node.args[0].op is not ops.VIEW or len(node.args[0].args) != 1:
        return
    view = node.args[0]
    name = view.attrs.get("buffer")
    size = context.size(name)
    form = affine(view.args[0])
    reached = context.reach(form) if size is not None else None
    if size is not None and reached is not None and 0 <= reached[1] < size <= reached[1] + 1:
        at = reached[1]
        reason = f"pair at {at} needs elements {at} and {at + 1} of {value_name(name)}, which has {size}"
        yield Fault(reason, view, 0, context.reasons(form))


# --- storage ----------------------------------------------------------------------------------------------------------


def store_dtype(node: Node, context: Context) -> Faults:
    """A value has the element type of the buffer it is stored in."""
    args = node.args
    if len(args) != 2 or args[0].type is node.type or args[0].op is not ops.VIEW:
        return ()
    if node.type is None or args[0].type is None:
        return ()
    name = args[0].attrs.get("buffer")
    declaration = context.names.get(name) if type(name) is str else None
    if declaration is not None and declaration.kind != "buffer":
        return ()  # rule name-kind, or the name has a faulty declaration
    return (Fault(f"value dtype {node.type} differs from buffer dtype {args[0].type}", args[0]),)


def store_readonly(node: Node, context: Context) -> Faults:
    """Nothing is written to an input, a table or a loop variable."""
    if node.op is ops.ASSIGN:
        return () if declares(node) else _assigned_readonly(node, context)
    view = node.args[0] if node.args else node
    name = view.attrs.get("buffer")
    storage = context.storage.get(name) if type(name) is str else None
    declaration = context.names.get(name) if type(name) is str else None
    if storage is None or storage.writable or declaration is None or declaration.kind != "buffer":
        return ()  # rule name-kind, in-scope, or the name has a faulty declaration
    reason = f"store into {value_name(name)}, which is {_readonly_words(str(name), storage, context)}"
    return (Fault(reason, view, "buffer", context.declared_before(storage.root)),)


def _assigned_readonly(node: Node, context: Context) -> Faults:
    name = node.attrs.get("target")
    declaration = context.names.get(name) if type(name) is str else None
    if declaration is None and _is_reserved(name):
        return (Fault(f"store into {value_name(name)}, which is a reserved symbol", node, "target"),)
    if declaration is None or declaration.kind != "loop variable":
        return ()
    reason = f"store into {value_name(name)}, which is a loop variable"
    return (Fault(reason, node, "target", context.declared_before(str(name))),)


def _readonly_words(name: str, storage: Storage, context: Context) -> str:
    root = context.names[storage.root].node
    what = "a table" if "values" in root.attrs or "elided" in root.attrs else "an input"
    return what if storage.root == name else f"an alias of {value_name(storage.root)}, {what}"


def global_space(node: Node, context: Context) -> Faults:
    """Only a parameter is in global space."""
    if node.attrs.get("address_space") != "global" or context.in_header:
        return ()
    return (Fault("global space is for parameters; a temporary is private", node, "address_space"),)


def alias_target(node: Node, context: Context) -> Faults:
    """An alias names a buffer declared before it, of its element type."""
    source = node.attrs.get("alias_of")
    if type(source) is not str:
        return
    declaration = context.names.get(source)
    name = value_name(node.attrs.get("name"))
    if declaration is None or declaration.kind not in ("buffer", ""):
        reason = f"alias {name} of undeclared or later buffer {value_name(source)}"
        yield Fault(reason, node, "alias_of", context.declared_before(source))
    elif declaration.kind and declaration.dtype is not node.type:
        reason = f"alias {name} has dtype {node.type}, its buffer {value_name(source)} {declaration.dtype}"
        yield Fault(reason, node, "alias_of", context.declared_before(source))


def alias_bounds(node: Node, context: Context) -> Faults:
    """An alias lies inside the buffer it names."""
    source, offset, size = node.attrs.get("alias_of"), whole(node.attrs.get("alias_offset")), buffer_size(node)
    limit = context.size(source)
    if limit is None or size is None or offset is None or (offset >= 0 and offset + size <= limit):
        return ()
    covered = f"alias {value_name(node.attrs.get('name'))} covers [{offset}, {offset + size})"
    reason = f"{covered} of {value_name(source)} with {limit} elements"
    return (Fault(reason, node, "alias_offset", context.declared_before(str(source))),)


def workspace_bounds(node: Node, context: Context) -> Faults:
    """A window is float64, inside the procedure's own workspace, and apart from the other windows."""
    offset, size = whole(node.attrs.get("workspace_offset")), buffer_size(node)
    if offset is None or size is None:
        return
    name, end = node.attrs.get("name"), offset + size
    if node.type is not FLOAT64:
        yield Fault(f"window {value_name(name)} has dtype {node.type}, expected float64", node, "address_space")
    own = whole(context.proc.attrs.get("w_self", 0)) if context.proc is not None else None
    if own is not None and (offset < 0 or end > own):
        reason = f"window [{offset}, {end}) of {value_name(name)} exceeds w_self {own}"
        yield Fault(reason, node, "workspace_offset")
    if size == 0:
        return
    position = bisect_left(context.windows, (offset, end, ""))
    for start, stop, other in context.windows[max(position - 1, 0) : position + 1]:
        if start < end and offset < stop:
            reason = f"window [{offset}, {end}) of {value_name(name)} overlaps window {value_name(other)}"
            yield Fault(reason, node, "workspace_offset", context.declared_before(other))
    context.windows.insert(position, (offset, end, name if type(name) is str else ""))


def decl_at_top(node: Node, context: Context) -> Faults:
    """A buffer is declared at the top level of its procedure."""
    if not context.loops:
        return ()
    notes = (("the loop is here", context.loops[0]._replace(part="")),)
    return (Fault(f"buffer {value_name(node.attrs.get('name'))} declared inside a loop", node, "name", notes),)


# --- loops ------------------------------------------------------------------------------------------------------------


def lane_loop(node: Node, context: Context) -> Faults:
    """A vector loop is the only statement of a serial loop that steps by a width symbol."""
    domain = node.args[0] if node.args else node
    if domain.op is not ops.RANGE or domain.attrs.get("kind") != "vector":
        return ()
    if not context.loops:
        # What a fragment stands in is not known.
        return () if context.fragment else (Fault(_LANE_LOOP, domain, "kind"),)
    outer = context.loops[-1].statement
    differs = _no_lane_parent(outer)
    if not differs:
        return ()
    return (Fault(_LANE_LOOP, domain, "kind", ((f"the loop around it {differs}", context.loops[-1]),)),)


_LANE_LOOP: Final = "a vector loop must be the only statement of a serial loop stepping by a width symbol"


def _no_lane_parent(outer: Node) -> str:
    """Return why a loop can hold no vector loop, or an empty string."""
    domain = outer.args[0] if outer.args else outer
    step = domain.args[2] if domain.op is ops.RANGE and len(domain.args) == 3 else domain
    if domain.attrs.get("kind") != "serial":
        return f"is of kind {shown_value(domain.attrs.get('kind'))}"
    if step.op is not ops.VAR or not _is_reserved(step.attrs.get("name")):
        return "does not step by a width symbol"
    return "" if len(outer.args) == 2 else f"has {len(outer.args) - 1} statements"


PLACE_RULES: Final = (
    Rule("in-scope", in_scope, on(ops.VAR, ops.VIEW), context=True),
    Rule("name-kind", name_kind, on(ops.VAR, ops.VIEW), context=True),
    Rule("var-dtype", var_dtype, on(ops.VAR), context=True),
    Rule("view-dtype", view_dtype, on(ops.VIEW), context=True),
    Rule("index-static-bounds", index_static_bounds, on(ops.VIEW), context=True),
    Rule("pair-bounds", pair_bounds, on(ops.STORE_PAIR), context=True),
    Rule("store-dtype", store_dtype, on(ops.STORE), context=True, fragments=True),
    Rule("store-readonly", store_readonly, on(ops.STORE, ops.STORE_PAIR, ops.ASSIGN), context=True),
    Rule("name-kind", assign_kind, on(ops.ASSIGN), context=True),
    Rule("var-dtype", assign_target, on(ops.ASSIGN), context=True),
    Rule("uninitialized-scalar", uninitialized_scalar, on(ops.ASSIGN), context=True),
    Rule("unique-names", unique_names, on(ops.BUFFER, ops.ASSIGN, ops.RANGE), context=True),
    Rule("decl-at-top", decl_at_top, on(ops.BUFFER), context=True),
    Rule("buffer-init", global_space, on(ops.BUFFER), context=True, fragments=True),
    Rule("alias-target", alias_target, on(ops.BUFFER), context=True),
    Rule("alias-bounds", alias_bounds, on(ops.BUFFER), context=True),
    Rule("workspace-bounds", workspace_bounds, on(ops.BUFFER), context=True),
    Rule("lane-loop", lane_loop, on(ops.FOR), context=True, fragments=True),
)
