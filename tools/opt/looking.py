"""The options of scaly-opt that show what a run does, and the watchers that they ask for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from scaly_ir.tools.command_line import Given, Option, UsageError
from scaly_ir.tools.opt.watcher import Watcher
from scaly_ir.tools.reporting import Reporter

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass
    from scaly_ir.tools.opt.ir_text import Input, IrText

OPTIONS: Final = (
    Option(("verify-roundtrip", "mlir-verify-roundtrip")),
    Option(("reproducer", "mlir-pass-pipeline-crash-reproducer"), "yes", "file"),
    Option(("reproducer-full",)),
    Option(("print-ir-diff",)),
    Option(("print-rewrites",), "yes", "passes"),
    Option(("print-ir-before", "mlir-print-ir-before"), "yes", "passes"),
    Option(("print-ir-after", "mlir-print-ir-after"), "yes", "passes"),
    Option(("print-ir-before-all", "mlir-print-ir-before-all")),
    Option(("print-ir-after-all", "mlir-print-ir-after-all")),
    Option(("print-ir-after-change", "mlir-print-ir-after-change")),
    Option(("print-ir-after-failure", "mlir-print-ir-after-failure")),
    Option(("print-ir-func",), "yes"),
    Option(("print-ir-module-scope", "mlir-print-ir-module-scope")),
    Option(("print-ir-tree-dir", "mlir-print-ir-tree-dir"), "yes", "folder"),
    Option(("statistics", "mlir-pass-statistics"), "optional"),
    Option(("timing", "mlir-timing"), "optional"),
)

HELP: Final = """\
Looking inside (on standard error)
  --print-ir-diff                what each pass changed, as a diff
  --print-ir-before=NAME,..., --print-ir-after=NAME,...  the IR around passes
  --print-ir-before-all, --print-ir-after-all, --print-ir-after-change,
  --print-ir-after-failure       the same for all passes, or those that did so
  --print-ir-func=@f,...         only these functions in dumps and diffs
  --print-ir-module-scope        the whole module, also for passes on functions
  --print-ir-tree-dir=DIR        one file for each step
  --print-rewrites=NAME,...      each rewrite of these passes, and its rule
  --statistics[=json]            operations before and after, and counters
  --timing[=json]                where the time goes
  --reproducer=FILE              when a pass fails, save what repeats that;
  --reproducer-full              with the input and the whole pipeline
"""


class Looking:
    """What the command line asks to see."""

    def __init__(self) -> None:
        self._given: dict[str, list[Given]] = {}

    def apply(self, option: Given) -> bool:
        """Take note of an option; False when it is none of these."""
        known = option.name in {known.names[0] for known in OPTIONS}
        if known:
            self._given.setdefault(option.name, []).append(option)
        return known

    def watchers(
        self, passes: Sequence[Pass], files: int, reporter: Reporter, text: IrText, given: Input
    ) -> list[Watcher]:
        """Return what looks on; `UsageError` for options that do not fit the passes or the number of files.

        `text` prints the IR that is shown, and `given` says where its operations stand.
        """
        if not self._given:
            return []
        return list(self._watchers(passes, files, reporter, text, given))

    def reproducer(
        self, passes: Sequence[Pass], options: Sequence[str], plugins: Sequence[str], reporter: Reporter, text: IrText
    ) -> list[Watcher]:
        """Return what writes a reproducer when a pass fails, if one is wanted; `options` are to be in it.

        `plugins` are those that load plug-ins. `text` prints the IR in it.
        """
        given = self._given.get("reproducer", ())
        path = given[-1].text if given else os.environ.get("SCALY_IR_REPRODUCER_DIR", "")
        if not path:
            if "reproducer-full" in self._given:
                raise UsageError("option '--reproducer-full' needs '--reproducer=FILE'")
            return []
        from scaly_ir.tools.opt.reproducer import Reproducer

        return [Reproducer(path, passes, options, plugins, reporter, text, whole="reproducer-full" in self._given)]

    def _watchers(
        self, passes: Sequence[Pass], files: int, reporter: Reporter, every: IrText, given: Input
    ) -> Iterator[Watcher]:
        functions = [name.lstrip("@").strip('"') for name in self._names("print-ir-func")]
        if functions:
            from scaly_ir.tools.opt.named import Named

            yield Named(functions, reporter)
        text = every.only(functions)
        if "print-ir-tree-dir" in self._given:
            yield self._tree(files, reporter, every.whole())
        dumps = [name for name in self._given if name.startswith(("print-ir-before", "print-ir-after"))]
        if dumps:
            yield self._dumps(passes, text, reporter)
        if "print-rewrites" in self._given:
            from scaly_ir.tools.opt.rewrites import Rewrites

            names = self._passes("print-rewrites", passes)
            yield Rewrites(reporter.write, names, text, given, colour=reporter.colour)
        if "print-ir-diff" in self._given or (text.functions and not dumps and "print-rewrites" not in self._given):
            from scaly_ir.tools.opt.diff import Diffs

            yield Diffs(reporter.write, text, colour=reporter.colour, say=reporter.say if reporter.verbose else None)
        if "verify-roundtrip" in self._given:
            from scaly_ir.tools.opt.roundtrip import RoundTrip

            yield RoundTrip(reporter, every.whole())
        if "statistics" in self._given:
            from scaly_ir.tools.opt.statistics import Statistics

            yield Statistics(reporter.write, as_json=self._is_json("statistics"))
        if "timing" in self._given:
            from scaly_ir.tools.opt.timing import Timing

            yield Timing(reporter.write, as_json=self._is_json("timing"))

    def _is_json(self, name: str) -> bool:
        return self._given[name][-1].choice({"": False, "table": False, "json": True})

    def _names(self, name: str) -> list[str]:
        return [part.strip() for given in self._given.get(name, ()) for part in given.text.split(",")]

    def _dumps(self, passes: Sequence[Pass], text: IrText, reporter: Reporter) -> Watcher:
        from scaly_ir.tools.opt.dumps import Dumps, When

        when = When(
            before=self._passes("print-ir-before", passes),
            before_all="print-ir-before-all" in self._given,
            after=self._passes("print-ir-after", passes),
            after_all="print-ir-after-all" in self._given,
            after_change="print-ir-after-change" in self._given,
            after_failure="print-ir-after-failure" in self._given,
        )
        return Dumps(reporter.write_ir, when, text)

    def _passes(self, name: str, passes: Sequence[Pass]) -> frozenset[str]:
        """Return the passes that an option names; `UsageError` for one that is not run."""
        wanted = set()
        for given in self._given.get(name, ()):
            start = 0
            for part in given.text.split(","):
                known = part.strip().replace("-", "_")
                if known not in [step.name for step in passes]:
                    raise given.wrong(f"pass '{known}' is not run{those_run(known, passes)}", start, start + len(part))
                wanted.add(known)
                start += len(part) + 1
        return frozenset(wanted)

    def _tree(self, files: int, reporter: Reporter, text: IrText) -> Watcher:
        from scaly_ir.tools.opt.tree import Tree

        if files > 1:
            raise UsageError("option '--print-ir-tree-dir' takes one input")
        return Tree(self._given["print-ir-tree-dir"][-1].text, text, reporter)


def those_run(name: str, passes: Sequence[Pass]) -> str:
    """Return the end of a message that a pass of this name is not run: a similar one, or all that are."""
    from scaly_ir.text.diagnostics import did_you_mean

    if not passes:
        return "; no pass is"
    names = dict.fromkeys([step.name for step in passes])
    return did_you_mean(name, names) or f"; these are: {', '.join(names)}"
