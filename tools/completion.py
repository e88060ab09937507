"""Scripts that complete the command lines of a tool in bash, zsh and fish, made from its table of options.

Owns the scripts. What an option takes is in the table (`Option.complete`), what it is for in the tool's help; names of
passes and targets are asked for when they are wanted, so that those of plug-ins are among them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scaly_ir.tools.command_line import Option

_HELP_LINE: Final = re.compile(r"^  (-\S.*?)(?:  +(\S.*))?$", re.MULTILINE)
_HELP_NAME: Final = re.compile(r"(?<![\w-])--?([A-Za-z][\w-]*)")

LISTS: Final = {"pass": "--list-passes", "passes": "--list-passes", "target": "--list-targets"}
"""What is asked for: its lines begin with the names."""


@dataclass(frozen=True, slots=True)
class _Flag:
    """Hold one spelling of an option."""

    name: str
    value: str  # no, yes or optional
    kind: str  # file, folder, a key of LISTS, choices, or nothing in particular
    choices: tuple[str, ...]
    about: str

    @property
    def dashed(self) -> str:
        """Return it as it is typed."""
        return f"-{self.name}" if len(self.name) == 1 else f"--{self.name}"


def script(shell: str, tool: str, options: Sequence[Option], help_text: str) -> str:
    """Return the script for a shell of `SHELLS`."""
    about = _descriptions(help_text)
    flags = [_flag(name, option, about) for option in options for name in option.names]
    return "".join([f"{line}\n" for line in SHELLS[shell](tool, flags)])


def _flag(name: str, option: Option, about: dict[str, str]) -> _Flag:
    choices = tuple(option.complete.split("|")) if "|" in option.complete else ()
    text = next((about[other] for other in (name, *option.names) if other in about), "")
    return _Flag(name, option.value, "choices" if choices else option.complete, choices, text)


def _descriptions(help_text: str) -> dict[str, str]:
    """Return what the help says about options; of several lines, the first."""
    found: dict[str, str] = {}
    for match in _HELP_LINE.finditer(help_text):
        for name in _HELP_NAME.findall(match[1]):
            found.setdefault(name, match[2] or "")
    return found


# --- bash -------------------------------------------------------------------------------------------------------------


def _bash(tool: str, flags: Sequence[_Flag]) -> Iterator[str]:
    function = f"_{tool.replace('-', '_')}"
    yield f"# bash completion for {tool}. Put it into ~/.local/share/bash-completion/completions/{tool},"
    yield f"# or in ~/.bashrc: source <({tool} --completion=bash)"
    yield f"{function}_from() {{"
    yield "    # Complete the word with the words given, behind what of it is complete already."
    yield '    local start=${1%"${1##*"$3"}"}'
    yield '    [[ -n $3 ]] || start=""'
    yield '    COMPREPLY=($(compgen -P "$2$start" -W "$4" -- "${1#"$start"}"))'
    yield "}"
    yield f"{function}() {{"
    yield '    local word=${COMP_WORDS[COMP_CWORD]} option="" typed="" equals=""'
    yield "    COMPREPLY=()"
    yield "    # bash takes '=' for a word of its own unless it is told otherwise."
    yield "    if [[ $word == = ]]; then"
    yield '        option=${COMP_WORDS[COMP_CWORD-1]} word="" equals=1'
    yield "    elif [[ ${COMP_WORDS[COMP_CWORD-1]} == = ]]; then"
    yield "        option=${COMP_WORDS[COMP_CWORD-2]} equals=1"
    yield "    elif [[ $word == -*=* ]]; then"
    yield '        option=${word%%=*} typed="${word%%=*}=" word=${word#*=} equals=1'
    yield "    else"
    yield "        option=${COMP_WORDS[COMP_CWORD-1]}"
    yield "    fi"
    yield "    [[ $option != -[a-z]?* || $option == --* ]] || option=-$option"
    yield "    case $option$equals in"
    for patterns, kind, choices in _by_value(flags):
        yield f"        {'|'.join(patterns)})"
        yield f"            {_bash_value(function, kind, choices)}"
        yield "            return;;"
    yield "    esac"
    yield "    [[ -z $equals ]] || return"
    yield "    if [[ $word == -* ]]; then"
    yield f"        local options='{' '.join([_typed(flag) for flag in flags])}'"
    if any([flag.kind == "passes" for flag in flags]):
        yield f"        [[ $word != --?* ]] || options+=$({_bash_list('passes')} | sed 's/^/ --/')"
    yield '        COMPREPLY=($(compgen -W "$options" -- "$word"))'
    yield "        [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace 2>/dev/null"
    yield "    else"
    yield f"        {_FILES}"
    yield '        COMPREPLY=($(compgen -f -X "!*.sir" -- "$word") $(compgen -d -- "$word"))'
    yield "    fi"
    yield "}"
    yield f"complete -F {function} {tool}"


_FILES: Final = r"compopt -o filenames 2>/dev/null; local IFS=$'\n'"
"""What comes before names of files, which may have blanks in them."""


def _typed(flag: _Flag) -> str:
    return f"{flag.dashed}=" if flag.value == "yes" and len(flag.name) > 1 else flag.dashed


def _by_value(flags: Sequence[_Flag]) -> Iterator[tuple[list[str], str, tuple[str, ...]]]:
    """Yield the options that take a value alike, as they are typed: alone, or with a 1 for a '=' behind them."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for flag in flags:
        if flag.value != "no":
            typed = groups.setdefault((flag.kind, flag.choices), [])
            typed += [flag.dashed, f"{flag.dashed}1"] if flag.value == "yes" else [f"{flag.dashed}1"]
    for (kind, choices), patterns in groups.items():
        yield patterns, kind, choices


def _bash_list(kind: str) -> str:
    return f'"${{COMP_WORDS[0]}}" {LISTS[kind]} 2>/dev/null | cut -d" " -f1'


def _bash_value(function: str, kind: str, choices: Sequence[str]) -> str:
    if kind in LISTS:
        separator = "," if kind == "passes" else ""
        return f'{function}_from "$word" "$typed" "{separator}" "$({_bash_list(kind)})"'
    if kind == "choices":
        return f'{function}_from "$word" "$typed" "" "{" ".join(choices)}"'
    if kind in ("file", "folder"):
        flag = "f" if kind == "file" else "d"
        return f'{_FILES}; COMPREPLY=($(compgen -P "$typed" -{flag} -- "$word"))'
    return ":"


# --- zsh --------------------------------------------------------------------------------------------------------------


def _zsh(tool: str, flags: Sequence[_Flag]) -> Iterator[str]:
    function = f"_{tool.replace('-', '_')}"
    yield f"#compdef {tool}"
    yield f"# zsh completion for {tool}. Put it into a folder of $fpath as _{tool},"
    yield f"# or in ~/.zshrc, behind compinit: source <({tool} --completion=zsh)"
    for kind in sorted({flag.kind for flag in flags} & LISTS.keys()):
        values = "_values -s , name $names" if kind == "passes" else "compadd -a names"
        yield f"{function}_{kind}() {{"
        yield "    local -a names"
        yield f"    names=(${{(f)\"$({tool} {LISTS[kind]} 2>/dev/null | cut -d' ' -f1)\"}})"
        yield f"    {values}"
        yield "}"
    yield f"{function}() {{"
    yield "    _arguments -S \\"
    for flag in flags:
        yield f"        {_zsh_option(function, flag)} \\"
    yield "        '*:file:_files -g \"*.sir\"'"
    yield "}"
    yield f'if [[ $zsh_eval_context[-1] == loadautofunc ]]; then {function} "$@"; else compdef {function} {tool}; fi'


def _zsh_option(function: str, flag: _Flag) -> str:
    about = re.sub(r"([\[\]:\\])", r"\\\1", flag.about).replace("'", "'\\''")
    described = f"[{about}]" if about else ""
    if flag.value == "no":
        return f"'*{flag.dashed}{described}'"
    mark = "+" if len(flag.name) == 1 else "=" if flag.value == "yes" else "=-"
    colons = "::" if flag.value == "optional" else ":"
    action = {
        "file": "_files",
        "folder": "_files -/",
        "choices": f"({' '.join(flag.choices)})",
        "": " ",
    }.get(flag.kind, f"{function}_{flag.kind}")
    return f"'*{flag.dashed}{mark}{described}{colons}{flag.kind or 'value'}:{action}'"


# --- fish -------------------------------------------------------------------------------------------------------------


def _fish(tool: str, flags: Sequence[_Flag]) -> Iterator[str]:
    yield f"# fish completion for {tool}. Put it into ~/.config/fish/completions/{tool}.fish,"
    yield f"# or in ~/.config/fish/config.fish: {tool} --completion=fish | source"
    function = f"__{tool.replace('-', '_')}"
    for kind in sorted({flag.kind for flag in flags} & LISTS.keys()):
        names = f"{tool} {LISTS[kind]} 2>/dev/null | string split -f1 ' '"
        yield f"function {function}_{kind}"
        if kind == "passes":  # what is before the last comma stays
            yield "    set -l before (commandline -ct | string replace -r '^--?[a-z-]+=' '' | string match -r '.*,')"
            yield f'    {names} | string replace -r "^" "$before"'
        else:
            yield f"    {names}"
        yield "end"
    for flag in flags:
        yield f"complete -c {tool} {'-s' if len(flag.name) == 1 else '-l'} {flag.name}{_fish_value(function, flag)}"
    yield f"complete -c {tool} -k -xa '(__fish_complete_suffix .sir)'"


def _fish_value(function: str, flag: _Flag) -> str:
    about = flag.about.replace("\\", "\\\\").replace("'", "\\'")
    described = f" -d '{about}'" if about else ""
    if flag.value == "no":
        return described
    value = {
        "file": "-rF",
        "folder": "-xa '(__fish_complete_directories)'",
        "choices": f"-xa '{' '.join(flag.choices)}'",
        "": "-x",
    }.get(flag.kind, f"-xa '({function}_{flag.kind})'")
    if flag.value == "optional":
        value = value.replace("-x", "-f").replace("-fa", "-f -a").replace("-rF", "-F")
    return f" {value}{described}"


SHELLS: Final[dict[str, Callable[[str, Sequence[_Flag]], Iterator[str]]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
