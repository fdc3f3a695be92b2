#!/usr/bin/env bash
# torch 2.13.0: run_decompositions({}), with a table that is empty, replaces the Dropout of a program in evaluation mode by a
# clone, and its rate is lost; before it the program has the operator, with the rate.
# Seen: before ['aten.dropout.default', 'aten.linear.default'], after ['aten.clone.default', 'aten.linear.default']
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import torch

module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.3)).eval()
program = torch.export.export(module, (torch.ones(2, 3),))


def calls(program: torch.export.ExportedProgram) -> list[str]:
    return sorted(str(node.target) for node in program.graph.nodes if node.op == "call_function")


seen = calls(program), calls(program.run_decompositions({}))
print(f"before {seen[0]}, after {seen[1]}")
assert "aten.dropout.default" in seen[0] and "aten.linear.default" in seen[1]
assert seen[1] == ["aten.clone.default", "aten.linear.default"]
PY
