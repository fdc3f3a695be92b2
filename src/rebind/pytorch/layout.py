"""Lines of Python as a formatter leaves them: 88 columns, arguments below each other where they do not fit."""

from __future__ import annotations

__all__ = ["statement"]

_WIDTH = 88
_OPEN, _CLOSE = "([{", ")]}"


def statement(text: str, indent: int) -> list[str]:
    """Return the lines of a statement.

    >>> for line in statement("x = torch.cat([" + ", ".join(["a_long_name"] * 7) + "], dim=1)", 4):
    ...     print(line)
        x = torch.cat(
            [
                a_long_name,
                a_long_name,
                a_long_name,
                a_long_name,
                a_long_name,
                a_long_name,
                a_long_name,
            ],
            dim=1,
        )
    >>> for line in statement(
    ...     "the_" + "very_" * 6 + "long_name = self.the_" + "very_" * 6 + "long_name(x)", 8
    ... ):
    ...     print(line)
            the_very_very_very_very_very_very_long_name = (
                self.the_very_very_very_very_very_very_long_name(x)
            )
    """
    if indent + len(text) <= _WIDTH:
        return [" " * indent + text]
    spans = _brackets(text)
    lines = (
        _split(text, indent, spans[0 if text.startswith("def ") else -1]) if spans else [" " * indent + text]
    )
    head, sign, value = text.partition(" = ")
    if text.startswith("return "):
        head, sign, value = "return", " ", text.removeprefix("return ")
    # What does not fit even so is in parentheses of its own.
    if sign and "(" not in head and (not spans or len(lines[0]) > _WIDTH):
        inner = [f"{part}," for part in _parts(value)] if len(_parts(value)) > 1 else [value]
        split = [line for part in inner for line in statement(part, indent + 4)]
        return [f"{' ' * indent}{head}{sign}(", *split, f"{' ' * indent})"]
    return lines


def _split(text: str, indent: int, span: tuple[int, int]) -> list[str]:
    """Return the lines of a text that is split at brackets."""
    start, end = span
    head, inner, tail = text[: start + 1], text[start + 1 : end], text[end:]
    if indent + 4 + len(inner) <= _WIDTH and len(_parts(inner)) >= 1 and not head.endswith("def ("):
        return [" " * indent + head, " " * (indent + 4) + inner, " " * indent + tail]
    lines = [" " * indent + head]
    for part in _parts(inner):
        lines += statement(f"{part},", indent + 4)
    return [*lines, " " * indent + tail]


def _brackets(text: str) -> list[tuple[int, int]]:
    """Return where the outermost brackets open and close, but for empty ones."""
    found, depth, start = [], 0, 0
    for i, char in enumerate(text):
        if char in _OPEN:
            start = i if depth == 0 else start
            depth += 1
        elif char in _CLOSE:
            depth -= 1
            if depth == 0 and i > start + 1:
                found.append((start, i))
    return found


def _parts(text: str) -> list[str]:
    """Return what commas separate outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in _OPEN) - (char in _CLOSE)
        if char == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    rest = text[start:].strip()
    return [*parts, rest] if rest else parts
