"""Python 2's syntax: where it is, what to write, and the program with that written, as far as Python then reads it."""

from __future__ import annotations

import re

__all__ = ["mended"]

_STRING = re.compile(
    r"'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|\#[^\n]*",
    re.DOTALL,
)

#: Stands for each letter of a text.
_TEXT = "\x01"

#: Where it begins, how it is mended, and what to write. A mend that has `rest` takes what follows up to the end of the
#: statement.
_RULES: tuple[tuple[str, str, str], ...] = (
    (
        r"(?<=[:;\n])(?P<before>[ \t]*)print(?=[ \t]*\x01|[ \t]+[^\s=(.,:;)\]]|[ \t]*(?:\n|;|$))(?P<rest>)",
        r"\g<before>print(\g<rest>)",
        "print is a function: write print(...)",
    ),
    (
        r"(?<=[:;\n])(?P<before>[ \t]*)exec(?=[ \t]*\x01|[ \t]+[^\s=(.,:;)\]])(?P<rest>)",
        r"\g<before>exec(\g<rest>)",
        "exec is a function: write exec(code, names)",
    ),
    (
        r"\bexcept[ \t]+(?P<kinds>[\w.]+|\([^()\n]*\))[ \t]*,[ \t]*(?P<name>\w+)[ \t]*:",
        r"except \g<kinds> as \g<name>:",
        "write except X as e, not except X, e",
    ),
    (
        r"\braise[ \t]+(?P<kind>[\w.]+)[ \t]*,(?P<rest>)",
        r"raise \g<kind>(\g<rest>)",
        "write raise X(message), not raise X, message",
    ),
    (r"<>", "!=", "write !=, not <>"),
    (r"`(?P<value>[^`\n]*)`", r"repr(\g<value>)", "write repr(x), not `x`"),
    (
        r"(?<![\w.])0(?P<digits>0*[1-7][0-7]*)(?![\w.])",
        r"0o\g<digits>",
        "write octal numbers as 0o17, not 017",
    ),
    (
        r"(?<![\w.])(?P<digits>\d+|0[xX][\da-fA-F]+)[lL]\b",
        r"\g<digits>",
        "int holds numbers of any size: write 10, not 10L",
    ),
    (r"\b[uU][rR](?=\x01)", "r", "write r'...', not ur'...'"),
    (
        r"\blambda[ \t]*\((?P<names>[\w, \t]+)\)[ \t]*:",
        r"lambda \g<names>:",
        "an argument is not unpacked in the list of arguments: write lambda pair: pair[0] ...",
    ),
)


def mended(text: str) -> tuple[str, list[tuple[int, str]]]:
    r"""Return a program with Python 2's syntax mended, and the lines that were, each with what to write.

    The result is for reading further only, and has the same lines.

    >>> mended('print "loss", x\n')
    ('print("loss", x)\n', [(1, 'print is a function: write print(...)')])
    """
    text = f"\n{text}"  # so that each statement follows something
    found: set[tuple[int, str]] = set()
    for pattern, mend, sentence in _RULES:
        lines: list[int] = []
        text = _apply(re.compile(pattern), mend, text, lines)
        found.update((line, sentence) for line in lines)
    return text[1:], sorted(found)


def _apply(pattern: re.Pattern[str], mend: str, text: str, lines: list[int]) -> str:
    position = 0
    while True:
        masked = _STRING.sub(_mask, text)
        found = pattern.search(masked, position)
        if found is None:
            return text
        lines.append(masked.count("\n", 0, found.start()))
        end = _end_of_statement(masked, found.end()) if "rest" in found.groupdict() else found.end()
        parts = {name: text[slice(*found.span(name))] for name in found.groupdict()}
        if "rest" in parts:
            parts["rest"] = text[found.end() : end].lstrip(" \t").removeprefix(">>")
        new = _filled(mend, parts)
        text = text[: found.start()] + new + text[end:]
        position = found.start() + len(new) - len(parts.get("rest", "")) - ("rest" in parts)


def _filled(mend: str, parts: dict[str, str]) -> str:
    return re.sub(r"\\g<(\w+)>", lambda group: parts[group[1]], mend)


def _mask(found: re.Match[str]) -> str:
    """Return a text of the same length and lines, without what a rule could take for code."""
    letter = " " if found[0].startswith("#") else _TEXT
    return re.sub(r"[^\n]", letter, found[0])


def _end_of_statement(masked: str, start: int) -> int:
    depth = 0
    for position in range(start, len(masked)):
        letter = masked[position]
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif (letter == "\n" and masked[position - 1] != "\\" and depth <= 0) or (
            letter == ";" and depth <= 0
        ):
            if _is_in_text(masked, position):
                continue
            return len(masked[:position].rstrip(" \t"))
    return len(masked)


def _is_in_text(masked: str, position: int) -> bool:
    """Whether a line ends inside a text of several lines."""
    return masked[position - 1 : position] == _TEXT == masked[position + 1 : position + 2]
