"""The options of scaly-opt that say in which form IR is printed, in the result and wherever it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scaly_ir.tools.command_line import Given, Option

if TYPE_CHECKING:
    from scaly_ir.tools.opt.ir_text import Input, IrText

OPTIONS: Final = (
    Option(("generic", "mlir-print-op-generic")),
    Option(("print-locations", "mlir-print-debuginfo")),
    Option(("print-users", "mlir-print-value-users")),
    Option(("elide-constants", "mlir-elide-elementsattrs-if-larger"), "yes"),
)

HELP: Final = """\
  --generic, --print-locations, --print-users, --elide-constants=N
"""


class Printing:
    """In which form the command line asks IR to be printed."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._elide: int | None = None

    def apply(self, option: Given) -> bool:
        """Take note of an option; False when it is none of these."""
        if option.name not in {known.names[0] for known in OPTIONS}:
            return False
        self._given.add(option.name)
        if option.name == "elide-constants":
            self._elide = option.number()
        return True

    def text(self, given: Input) -> IrText:
        """Return how IR is printed; `given` is the input that locations are in."""
        from scaly_ir.text.form import Form
        from scaly_ir.tools.opt.ir_text import IrText

        given.is_followed |= "print-locations" in self._given
        form = Form(generic="generic" in self._given, elide=self._elide, users="print-users" in self._given)
        return IrText(form=form, input=given if "print-locations" in self._given else None)
