"""What ``rebind check`` prints, and its exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from ..errors import MXNetError
from ..terminal import Console, Text
from .findings import Finding
from .programs import check_file, files_of

__all__ = ["run_check"]


def run_check(paths: Sequence[str], strict: bool, as_json: bool) -> int:
    """Print what is found in programs; return 1 if something stops one of them (or is found at all, if `strict`)."""
    try:
        files = list(files_of(paths))
        findings = [finding for file in files for finding in check_file(file)]
    except MXNetError as error:
        print(f"rebind check: {error}", file=sys.stderr)
        return 2
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _print(findings, len(files))
    return int(any(finding.stops or strict for finding in findings))


def _print(findings: Sequence[Finding], files: int) -> None:
    console = Console(soft_wrap=True, highlight=False)
    for finding in findings:
        console.print(
            Text.assemble(
                (f"{finding.file}:{finding.line}: ", "bold"),
                ("error" if finding.stops else "note", "red" if finding.stops else "yellow"),
                f": {finding.message} ",
                (f"[{finding.kind}]", "dim"),
            )
        )
    errors = sum(finding.stops for finding in findings)
    console.print(
        Text(f"{_count(files, 'file')}: {_count(errors, 'error')}, {_count(len(findings) - errors, 'note')}")
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
