#!/usr/bin/env bash
# rich 15.0.0: the first import of rich.console (so that of rich.progress, rich.live, ...) draws from Python's global
# random generator. A program that is seeded, and imports something that shows progress later, gets other numbers than one
# that does not: random.seed(0) before such an import does not mean the same sequence after it.
# Seen: state unchanged by `import rich`: True, by `import rich.console`: False
# Needs Python 3.10 or newer; another one: PYTHON=python3.12.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check rich==15.0.0
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import random

random.seed(0)
before = random.getstate()
import rich  # noqa: E402

quiet = random.getstate() == before
import rich.console  # noqa: E402

unchanged = random.getstate() == before
print(f"state unchanged by `import rich`: {quiet}, by `import rich.console`: {unchanged}")
assert quiet and not unchanged
PY
