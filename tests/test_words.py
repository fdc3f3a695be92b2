"""Words that the glossary leaves out: they mean several things, or nothing to an engineer of the field."""

from __future__ import annotations

import re
from pathlib import Path

import rebind

SOURCE = Path(rebind.__file__).parent
FORBIDDEN = re.compile(r"\b(kept|anew|told|alike)\b", re.IGNORECASE)
#: Where one is part of a file format.
ALLOWED = {("metric/eval_metric.py", "kept")}


def test_the_words_of_the_glossary_are_used() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{number}: {match[0]}"
        for path in sorted(SOURCE.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for match in FORBIDDEN.finditer(line)
        if (path.relative_to(SOURCE).as_posix(), match[0]) not in ALLOWED
    ]
    assert not found, "docs/glossary.md says what to write instead"
