"""Say what keeps a release from being published: ``python tools/release.py v0.2.0``.

Version, changelog, citation and addresses must agree with the tag; the exit code is 1 where they do not.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _version(name: str, pattern: str) -> str | None:
    found = re.search(pattern, _read(name), re.MULTILINE)
    return found and found[1]


def problems(tag: str) -> list[str]:
    """Return a sentence for each thing that does not fit a tag, such as ``v0.2.0``."""
    if not re.fullmatch(r"v\d+\.\d+\.\d+(rc\d+)?", tag):
        return [f"the tag must be v, and a version of three numbers, such as v0.2.0; got {tag!r}"]
    version, found = tag[1:], []
    for name, pattern in (
        ("src/rebind/_version.py", r'^__version__ = "(.+)"$'),
        ("CITATION.cff", r"^version: (.+)$"),
        ("CHANGELOG.md", r"^## \[(\d.*?)\]"),
    ):
        if (said := _version(name, pattern)) != version:
            found.append(f"{name} must say {version}; it says {said}")
    if "[project.urls]" not in _read("pyproject.toml"):
        found.append(
            "pyproject.toml must have [project.urls] with the addresses of source, issues and documentation"
        )
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/release.py TAG")
    if found := problems(sys.argv[1]):
        sys.exit("\n".join(f"{sys.argv[1]}: {problem}" for problem in found))
    print(f"{sys.argv[1]}: version, changelog, citation and addresses agree")
