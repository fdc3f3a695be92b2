"""Run the cells of a notebook without Jupyter, and record what they print and show.

``python -m tools.notebooks docs/tutorials/first_hour.ipynb`` writes the outputs into the notebook; the tests run it
again and compare. The documentation site shows a notebook as a page (`as_markdown`).
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def read_notebook(path: Path) -> dict[str, Any]:
    """Return a notebook as the dictionary that its file holds."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def run_cells(notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    r"""Run the code cells in order, in one namespace; yield each with its outputs, in the format of notebooks.

    >>> cell = {"cell_type": "code", "source": ["x = 2\n", "print('two')\n", "x * 3"]}
    >>> [(_, outputs)] = run_cells({"cells": [cell]})
    >>> outputs[0]["text"], outputs[1]["data"]
    (['two\n'], {'text/plain': ['6']})
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, start=1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = _execute("".join(cell["source"]), f"<cell {number}>", names)
        outputs: list[dict[str, Any]] = []
        if printed.getvalue():
            text = printed.getvalue().splitlines(keepends=True)
            outputs.append({"name": "stdout", "output_type": "stream", "text": text})
        if value is not None:
            result = {"execution_count": number, "metadata": {}, "output_type": "execute_result"}
            outputs.append({"data": _shown(value), **result})
        cell["execution_count"] = number
        yield cell, outputs


def _execute(source: str, file: str, names: dict[str, Any]) -> Any:
    """Run the code of a cell; return the value of its last line, if that is an expression."""
    tree = ast.parse(source, file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file, "exec"), names)
    return eval(compile(ast.Expression(last.value), file, "eval"), names) if last else None


def _shown(value: Any) -> dict[str, Any]:
    """Return a value by the types of content that a notebook shows."""
    formats: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "image/png": ("_repr_png_", lambda data: base64.b64encode(data).decode()),
        "text/html": ("_repr_html_", lambda text: text.splitlines(keepends=True)),
    }
    shown = {
        kind: write(getattr(value, method)())
        for kind, (method, write) in formats.items()
        if hasattr(value, method)
    }
    return {**shown, "text/plain": repr(value).splitlines(keepends=True)}


def as_markdown(notebook: dict[str, Any], file: str) -> str:
    r"""Return a notebook as a page of the site, with a link to download the file.

    >>> text = {"cell_type": "markdown", "source": ["# First\n", "\n", "For all."]}
    >>> code = {
    ...     "cell_type": "code",
    ...     "source": ["1 + 1"],
    ...     "metadata": {},
    ...     "outputs": [{"data": {"text/plain": ["2"]}}],
    ... }
    >>> print(as_markdown({"cells": [text, code]}, "first.ipynb"))
    # First
    <BLANKLINE>
    For all.
    <BLANKLINE>
    This page is a notebook: {download}`first.ipynb`.
    <BLANKLINE>
    ```python
    1 + 1
    ```
    <BLANKLINE>
    ```text
    2
    ```
    <BLANKLINE>
    """
    pieces = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            pieces.append(source)
        else:
            pieces.append(f"```python\n{source}\n```")
            pieces += [
                _output_as_markdown(output, cell["metadata"].get("alt", "")) for output in cell["outputs"]
            ]
    pieces.insert(1, f"This page is a notebook: {{download}}`{file}`.")
    return "\n\n".join(pieces) + "\n"


def _output_as_markdown(output: dict[str, Any], alt: str) -> str:
    """Return what a cell printed or showed, in the richest form that it has."""
    data = output.get("data", {"text/plain": output.get("text")})
    if "image/png" in data:
        return f"![{alt}](data:image/png;base64,{data['image/png']})"
    if "text/html" in data:
        return f"```{{raw}} html\n{''.join(data['text/html'])}\n```"
    return f"```text\n{''.join(data['text/plain']).strip(chr(10))}\n```"


def record(path: Path) -> None:
    """Run a notebook and write its outputs into the file."""
    notebook = read_notebook(path)
    for cell, outputs in run_cells(notebook):
        cell["outputs"] = outputs
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        record(Path(name))
