"""Record what MXNet prints for the examples of operators: ``python -m tests.parity.generate_examples``.

Each program of ``tools/operator_examples.txt`` runs in a process of its own, since some end the process.
"""

from __future__ import annotations

import json
import os
import sys

from tools.operator_examples import programs, results

from .golden import DATA
from .oracle import mx, origin


def printed(program: str) -> str | None:
    """Return what a program prints with MXNet; None where it fails."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            lines = [text for _, text in results(mx, program) if text]
            os.write(writing, "\n".join(lines).encode())
            os._exit(0)
        except Exception:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as answer:
        text = answer.read()
    return text if os.waitpid(process, 0)[1] == 0 else None


def main() -> None:
    """Write the record."""
    found = {name: printed(program) for name, program in programs().items()}
    record = {"origin": origin(), "printed": found}
    (DATA / "examples.json").write_text(json.dumps(record, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    failed = [name for name, text in found.items() if text is None]
    print(f"{len(found)} examples, of which {len(failed)} fail in MXNet", file=sys.stderr)


if __name__ == "__main__":
    main()
