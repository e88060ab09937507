"""The text of IR as it is shown while a run goes on and at its end: whole or some functions, in the form asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from scaly_ir.dialect import dialect_of, render_as
from scaly_ir.errors import described
from scaly_ir.graph import Node
from scaly_ir.text.form import CANONICAL, Form
from scaly_ir.text.locations import Locations

if TYPE_CHECKING:
    from scaly_ir.text.origins import Origins
    from scaly_ir.text.provenance import Provenance
    from scaly_ir.text.source import Span

ELIDED: Final = "// constants are left out: this text does not verify\n"


class Input:
    """The input at hand: where its operations stand, and those that passes made of them, for all texts of one run."""

    def __init__(self) -> None:
        self.is_followed = False
        """Whether what passes make is to be followed, as a text will show where that comes from."""
        self._read: tuple[Node, Locations] | None = None
        self._programs: list[tuple[Node, Origins]] = []
        """The program at hand with where its operations come from, behind the one before the last pass."""
        self._provenance: Provenance | None = None
        """What the last pass told."""

    def begin(self, root: Node, locations: Locations) -> None:
        """Take note of another input."""
        self._read, self._programs, self._provenance = (root, locations), [], None

    def run(self, root: Node, step: Callable[[], Node]) -> Node:
        """Return what a pass makes of the program at hand, `root`, and follow that if it is to be followed."""
        before = self.origins(root) if self.is_followed else None
        if before is None:
            return step()
        from scaly_ir.graph.observe import observe_rewrites
        from scaly_ir.text.provenance import Provenance

        self._provenance = provenance = Provenance(dialect_of(root).operations(root))
        with observe_rewrites(provenance):
            made = step()
        if made is not root:
            after = before.after(provenance, dialect_of(made).operations(made))
            self._programs = [self._programs[-1], (made, after)]
        return made

    def span(self, blamed: Sequence[Node]) -> Span | None:
        """Return where that comes from at which the last pass stopped, as far as it was followed."""
        if self._provenance is None:
            return None
        from scaly_ir.text.provenance import function_among

        provenance, origins, within = self._provenance, self._programs[-1][1], function_among(blamed)
        places = [origins.span(provenance, node, within) for node in blamed]
        return next(filter(None, places), None)

    def origins(self, root: Node) -> Origins | None:
        """Return where the operations come from of a program, or a function in it; those of others by likeness."""
        if not self._programs and self._read is not None:
            from scaly_ir.text.origins import Origins

            read, locations = self._read
            self._programs = [(read, Origins(locations, dialect_of(read).operations(read)))]
        of = [origins for program, origins in self._programs if root is program or root in program.args]
        return of[-1] if of else self._programs[-1][1] if self._programs else None


@dataclass(frozen=True)
class IrText:
    """How IR is shown: only the functions of these names, without their ``@``, or all of it when there are none."""

    functions: frozenset[str] = frozenset()
    form: Form = CANONICAL
    input: Input | None = None
    """Whose locations are shown, if they are."""

    def __call__(self, root: Node) -> str:
        """Return the text of a root, empty when nothing of it is to be shown; the root need not be valid."""
        form = self._located(root)
        if not self.functions:
            return _shown(root, form)
        return "".join([_shown(node, form) for node in root.args if node.attrs.get("name") in self.functions])

    def result(self, root: Node) -> str:
        """Return the text of a valid root, which says in a comment when it cannot be read back."""
        form = self._located(root)
        return f"{ELIDED if form.elides(root) else ''}{render_as(root, form)}"

    def only(self, functions: Iterable[str]) -> IrText:
        """Return the same for some functions, or for all of it when there are none."""
        return replace(self, functions=frozenset(functions))

    def whole(self) -> IrText:
        """Return the same for a file that is to be read again: nothing is left out."""
        return replace(self, form=replace(self.form, elide=None))

    def _located(self, root: Node) -> Form:
        origins = None if self.input is None else self.input.origins(root)
        return self.form if origins is None else replace(self.form, locate=origins.finder())


def _shown(root: Node, form: Form) -> str:
    try:
        return render_as(root, form)
    except Exception:  # a printer may rely on what the verifier would have checked
        return generic_text(root, form)


def generic_text(root: Node, form: Form = CANONICAL) -> str:
    """Return the generic form of a root that need not be valid."""
    try:
        return render_as(root, replace(form, generic=True))
    except Exception as failure:
        return f"// this cannot be printed: {described(failure)}\n"
