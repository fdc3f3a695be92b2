"""Record what MXNet makes of the snippets: ``ORACLE_PYTHON -m tests.parity.generate_snippets [GROUP...]``.

Each snippet runs in a process of its own, since some end MXNet's: such a one is reported, and not recorded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from .oracle import mx, origin
from .snippets import GROUPS, environment_of, outcome, record_of, snippets_of


def record(group: str, name: str) -> object:
    """Run one snippet in a process of its own and return its outcome."""
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, "--run", group, name],
        env={**os.environ, **environment_of(group)},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        print(f"{group}: {name} ended MXNet's process; not recorded", file=sys.stderr)
        return None
    found = json.loads(done.stdout.splitlines()[-1])
    if isinstance(found, dict):
        found.pop("text", None)  # MXNet's own words are not ours to keep
    return found


def main() -> None:
    """Record all groups, or those that are named."""
    if sys.argv[1:2] == ["--run"]:
        group, name = sys.argv[2:]
        print(json.dumps(outcome(snippets_of(group)[name], mx)))
        return
    for group in sys.argv[1:] or GROUPS:
        names = list(snippets_of(group))
        with ThreadPoolExecutor(2) as pool:
            found = dict(zip(names, pool.map(lambda name: record(group, name), names)))  # noqa: B023
        outcomes = {name: {"outcome": each} for name, each in found.items() if each is not None or name}
        record_of(group).parent.mkdir(exist_ok=True)
        made = origin()
        if environment_of(group):
            made["environment"]["MXNET_MKLDNN_ENABLED"] = "1"
        text = json.dumps({"origin": made, "snippets": outcomes}, indent=1)
        record_of(group).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
