"""The options of scaly-opt that tell what there is. They need no input, and print to standard output."""

from __future__ import annotations

from typing import Final

from scaly_ir.tools.command_line import Given, Option

OPTIONS: Final = (
    Option(("list-passes",)),
    Option(("list-dialects",)),
    Option(("list-ops",), "optional"),
    Option(("describe",), "yes", "pass"),
)
NAMES: Final = frozenset([option.names[0] for option in OPTIONS])


def answer(option: Given) -> str:
    """Return what an option asks for; `UsageError` for the name of nothing."""
    match option.name:
        case "list-passes":
            from scaly_ir.tools.discovery.passes import list_passes

            return list_passes()
        case "list-dialects":
            from scaly_ir.tools.discovery.dialects import list_dialects

            return list_dialects()
        case "list-ops":
            return _operations(option)
    return _description(option)


def _operations(option: Given) -> str:
    from scaly_ir.text.diagnostics import did_you_mean, one_of
    from scaly_ir.tools.discovery.operations import list_operations, operation_dialects

    known = operation_dialects()
    quoted = [f"'{name}'" for name in known]
    if option.text and option.text not in known:
        hint = did_you_mean(option.text, known) or f"; expected {one_of(quoted)}"
        raise option.wrong(f"no operations are of dialect '{option.text}'{hint}")
    return list_operations(option.text)


def _description(option: Given) -> str:
    from scaly_ir.tools.discovery.subjects import describe, near_names

    text = describe(option.text)
    if text is None:
        raise option.wrong(f"nothing is called '{option.text}'{near_names(option.text)}")
    return text
