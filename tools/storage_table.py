"""Write the table of operators and storage types: ``python tools/storage_table.py``.

The rows of ``docs/storage_types.md`` are the kernels that are declared with `storage_kernel`. With ``--check`` nothing
is written, and the exit code is 1 where the page differs from them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import rebind as mx
from rebind.ops.storage_types import StorageKernel, declared_kernels

PAGE = Path(__file__).parent.parent / "docs" / "storage_types.md"
BEGIN, END = "<!-- operators -->\n", "<!-- end of operators -->\n"

#: Beside `declared_kernels`: what their declarations leave to a function of the parameters.
_HEADER = "| inputs | outputs | gradients | operators |\n| --- | --- | --- | --- |\n"


def _types(stypes: Sequence[str], *, repeats: bool = False) -> str:
    text = ", ".join("dense" if stype == "default" else "any" if stype == "*" else stype for stype in stypes)
    return f"{text}, ..." if repeats else text or "–"


def row(kernel: StorageKernel) -> tuple[str, str, str]:
    """Return the storage types of inputs, outputs and gradients."""
    outputs = "by parameters" if callable(kernel.outputs) else _types(kernel.outputs)
    return _types(kernel.inputs, repeats=kernel.repeats), outputs, _types(kernel.gradients)


def table() -> str:
    """Return the table: operators with one behaviour are one row."""
    assert mx.nd.sparse  # which declares the kernels
    rows: dict[tuple[str, str, str], dict[str, None]] = {}
    for name, kernel in declared_kernels():
        some = " (for some parameters)" if kernel.when is not None else ""
        rows.setdefault(row(kernel), {})[f"`{name}`{some}"] = None
    return _HEADER + "".join(
        f"| {' | '.join(types)} | {', '.join(sorted(names))} |\n" for types, names in sorted(rows.items())
    )


def page() -> Iterator[str]:
    """Return the page as it is around the table, with the table that the declarations give."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    yield from (before, BEGIN, table(), END, after)


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where the page is another")
    wanted = "".join(page())
    if parser.parse_args().check:
        return int(PAGE.read_text(encoding="utf-8") != wanted)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
