"""Write a page for each operator, and an index by topic and by name: ``docs/operators``, for the documentation site.

``docs/conf.py`` calls `write`. What a page says comes from the registry of operators, from the pages on ONNX, storage
types and differences, and from running the operator's example and the calls that were recorded with MXNet 1.9.1.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.parity.coverage import LEFT_OUT, NO_CALL
from tests.parity.golden import DATA
from tools import onnx_table, storage_table, stubs
from tools.formula_words import meanings
from tools.operator_comparison import Comparison, comparisons, recorded_calls
from tools.operator_differences import differences
from tools.operator_examples import numbers, programs, session
from tools.operator_formulas import formula
from tools.operator_formulas import gradient as gradient_formula
from tools.operator_topics import topics

import rebind as mx
from rebind.ops import Operator, find
from rebind.ops.frontend import NAMESPACES, documentation, split_docstring
from rebind.ops.storage_types import declared_kernels

__all__ = ["Facts", "called", "index", "page", "same_as_mxnet", "title", "write"]


@dataclass(frozen=True)
class Facts:
    """What is measured or read once for all pages: by the first name of an operator."""

    comparisons: Mapping[str, Comparison]
    #: The names of ONNX's operators, or why there are none.
    onnx: Mapping[str, str]
    #: Rows of the pages of differences: MXNet, rebind, why.
    differences: Mapping[str, list[str]]

    @classmethod
    def collect(cls, operators: list[str]) -> Facts:
        """Run the recorded calls, and read the other pages."""
        targets = [(row.names.split("`")[1], row.target) for row in onnx_table.read_rows()]
        onnx = {first_name(name): target for name, target in targets}
        return cls(comparisons(), onnx, differences(operators))


def first_name(name: str) -> str:
    """Return the name of the operator that has a name of MXNet's; its own where rebind has none."""
    return name if name in LEFT_OUT else find(name).name


def title(name: str) -> str:
    """Return an operator's name as a program writes it after ``mx.nd.``.

    >>> title("_linalg_gemm2"), title("_plus_scalar"), title("relu")
    ('linalg.gemm2', '_plus_scalar', 'relu')
    """
    for space in NAMESPACES:
        if name.startswith(f"_{space}_"):
            return f"{space}.{name.removeprefix(f'_{space}_')}"
    return name


def called(name: str, front: str) -> str:
    """Return what a program calls, of `nd` or `sym`.

    >>> called("_linalg_gemm2", "nd"), called("_plus_scalar", "sym")
    ('mx.nd.linalg.gemm2', 'mx.sym._internal._plus_scalar')
    """
    shown = title(name)
    return f"mx.{front}.{'_internal.' if shown.startswith('_') else ''}{shown}"


def file_of(name: str) -> str:
    """Return the name of an operator's page; a leading underscore would hide it on some servers.

    >>> file_of("_linalg_gemm2")
    'linalg_gemm2.md'
    """
    return f"{name.lstrip('_')}.md"


def page(name: str, names: list[str], facts: Facts) -> str:
    """Return the page of an operator.

    Parameters
    ----------
    name
        Its first name.
    names
        All names that MXNet has for it.
    facts
        What was measured.
    """
    op = find(name)
    summary, sections = split_docstring(documentation(op, "array", ""))
    summary, of_gradient = take_gradient(summary, op)
    who = f"For those who call `{called(name, 'nd')}` or `{called(name, 'sym')}`."
    parts = {
        "": [who, prose(summary), *aliases(name, names)],
        "Signature": signatures(name, op),
        "Parameters": parameters(sections.get("Parameters", "")),
        "Shapes": shapes(name, sections.get("Shapes", "")),
        "Formula": [*lines_of(formula(name)), *words(op, formula(name))],
        "Gradient": gradient(name, op, of_gradient),
        "Example": example(name),
        "Storage types": storage_types(op),
        "ONNX": [in_onnx(name, facts.onnx[name])],
        "Differences from MXNet": difference_table(facts.differences.get(name, [])),
        "Compared with MXNet 1.9.1": compared(name, facts.comparisons.get(name)),
        "References": [prose(sections["References"])] if "References" in sections else [],
    }
    text = f"# {title(name)}\n"
    for heading, paragraphs in parts.items():
        if paragraphs:
            text += (f"\n## {heading}\n" if heading else "") + "".join(f"\n{part}\n" for part in paragraphs)
    return text


def prose(text: str) -> str:
    r"""Return the text of a docstring as Markdown: literals are between single backticks there.

    >>> prose("``a * b`` of `a`: a*b")
    '`a * b` of `a`: a\\*b'
    """
    pieces = re.split(r"(``.*?``|`[^`]*`)", text, flags=re.DOTALL)
    return "".join(
        f"`{piece.strip('`')}`" if i % 2 else re.sub(r"([*_<\[\]])", r"\\\1", piece)
        for i, piece in enumerate(pieces)
    )


def cell(text: str) -> str:
    """Return text for a cell of a table."""
    return " ".join(text.split()).replace("|", r"\|")


def aliases(name: str, names: list[str]) -> list[str]:
    """Return a sentence with the other names."""
    others = [f"`{other}`" for other in names if other != name]
    return [f"Other names: {', '.join(others)}."] if others else []


def signatures(name: str, op: Operator) -> list[str]:
    """Return the signatures of the functions on arrays and on symbols."""
    text = ""
    for front in (stubs.ARRAYS, stubs.SYMBOLS):
        arguments = [a for a in stubs.operator_arguments(op, front) if not a.startswith("**attributes")]
        listed = "".join(f"    {argument},\n" for argument in arguments)
        text += f"{called(name, front.short)}(\n{listed}) -> {front.returned(op)}\n\n"
    return [f"```python\n{text.rstrip()}\n```"]


def parameters(section: str) -> list[str]:
    """Return the table of a help text's parameters: name, type and default, meaning."""
    rows: list[list[str]] = []
    for line in section.splitlines():
        if line and not line[0].isspace():
            name, _, kind = line.partition(" : ")
            rows.append([f"`{name}`", cell(prose(kind)), ""])
        else:
            rows[-1][2] += f" {line.strip()}"
    lines = ["| name | type, default | meaning |", "| --- | --- | --- |"]
    lines += [f"| {name} | {kind} | {cell(prose(meaning))} |" for name, kind, meaning in rows]
    return ["\n".join(lines)] if rows else []


def shapes(name: str, section: str) -> list[str]:
    """Return the shapes that the docstring declares, and those of recorded calls."""
    parts = [f"```text\n{section.replace('``', '')}\n```"] if section else []
    rows = []
    for group, call in recorded_calls().get(name, [])[:3]:
        entry = onnx_table.MANIFESTS[group][call]
        given = ", ".join(
            f"{key.removeprefix('op_')} {tuple(value[2:])}" for key, value in entry["arguments"].items()
        )
        out = ", ".join(str(tuple(value[2:])) for value in entry["inference"])
        settings = call.partition("(")[2].rpartition(")")[0]
        rows.append(f"| {cell(given)} | {f'`{cell(settings)}`' if settings else ''} | {out} |")
    if rows:
        parts.append("\n".join(["| inputs | parameters | outputs |", "| --- | --- | --- |", *rows]))
    return parts


def lines_of(lines: list[str]) -> list[str]:
    """Return lines as a block of code; a single comment is a sentence instead."""
    if len(lines) == 1 and lines[0].startswith("# "):
        return [lines[0].removeprefix("# ")]
    text = "\n".join(lines)
    return [f"```python\n{text}\n```"] if lines else []


def words(op: Operator, lines: list[str], known: str = "") -> list[str]:
    """Return a paragraph with what words of lines mean, without the sentences in `known`."""
    given = [*op.signature.input_names, *op.signature.parameters]
    text = " ".join(each for each in meanings(lines, given) if each not in known)
    return [text] if text else []


def take_gradient(summary: str, op: Operator) -> tuple[str, str]:
    r"""Return a description without the sentences on the gradient, and these.

    >>> take_gradient("The data itself.\n\nThe gradient is ``grad_scale``. It takes any shape.", find("relu"))
    ('The data itself.\n\nIt takes any shape.', 'The gradient is ``grad_scale``.')
    """
    if op.kernels.function.__module__.startswith("rebind.ops.update"):  # whose input is a gradient
        return summary, ""
    first, *paragraphs = summary.split("\n\n")
    taken, left = [], []
    for paragraph in paragraphs:
        sentences = re.split(r"(?<=[.)])\s+(?=[A-Z`])", paragraph)
        taken += [sentence for sentence in sentences if re.search(r"\bgradients?\b", sentence)]
        left.append(" ".join(s for s in sentences if not re.search(r"\bgradients?\b", s)))
    return "\n\n".join([first, *filter(None, left)]), " ".join(taken)


def gradient(name: str, op: Operator, text: str) -> list[str]:
    """Return what `backward` computes: a formula, what the docstring says, and which inputs have none."""
    kernels = op.kernels
    if not op.signature.inputs and not op.signature.variadic:
        return ["It has no inputs, and so no gradients."]
    lines = gradient_formula(name)
    parts = lines_of(lines)
    if lines:
        several = re.search(r"\bgrad\[\d\]|\bin grad\b|, grad,", "\n".join(lines))
        meaning = (
            f"`grad` is the gradient of the result{', a list where there are several' if several else ''}."
        )
        if name.startswith("broadcast_"):
            meaning += " The gradient of an input is summed over the axes along which that input is repeated."
        parts += [meaning, *words(op, lines, "".join(words(op, formula(name))))]
    if text:
        parts.append(prose(text))
    notes = []
    if not lines and not text:
        if op.kernels.function.__module__.startswith("rebind.ops.update"):
            notes.append("An optimizer's step has none.")
        elif kernels.head_gradient is False:
            notes.append("It is zero.")
        elif kernels.gradient is None:
            notes.append("The derivative of what is computed.")
        else:
            notes.append("By a rule that is declared with the operator.")
    elif kernels.head_gradient is False:
        notes.append("`backward` needs no head gradient.")
    if kernels.no_gradient:
        zeros = ", ".join(f"`{name}`" for name in sorted(kernels.no_gradient))
        notes.append(f"That of {zeros} is zero.")
    return [*parts, " ".join(notes)] if notes else parts


def example(name: str) -> list[str]:
    """Return the example with what it prints, and whether MXNet prints the same."""
    shown = session(mx, programs()[name])
    same = ["MXNet 1.9.1 prints the same numbers."] if same_as_mxnet(name, shown) else []
    return [f"```python\n>>> import numpy as np, rebind as mx\n{shown}\n```", *same]


def same_as_mxnet(name: str, shown: str) -> bool:
    """Return whether the session of an example shows the numbers that MXNet printed."""
    recorded = printed_by_mxnet()[name]
    if recorded is None:
        return False
    found = numbers("\n".join(line for line in shown.splitlines() if line[:3] not in (">>>", "...")))
    expected = numbers(recorded)
    return len(found) == len(expected) and np.allclose(found, expected, rtol=1e-5, atol=2e-5, equal_nan=True)


@functools.cache
def printed_by_mxnet() -> dict[str, str | None]:
    """Return what MXNet printed for each example; None where it failed."""
    return json.loads((DATA / "examples.json").read_text(encoding="utf-8"))["printed"]


def storage_types(op: Operator) -> list[str]:
    """Return the declared combinations of storage types; an operator without any computes on dense copies."""
    rows = []
    for name, kernel in declared_kernels():
        if find(name) is op:
            inputs, outputs, gradients = (cell(text) for text in storage_table.row(kernel))
            rows.append(f"| {inputs} | {outputs} | {gradients} |")
    if not rows:
        return ["Dense. Other arrays are copied into dense ones ([storage types](../storage_types.md))."]
    return ["\n".join(["| inputs | outputs | gradients |", "| --- | --- | --- |", *dict.fromkeys(rows)])]


def in_onnx(name: str, target: str) -> str:
    """Return what an operator becomes in ONNX, or why it does not."""
    why = onnx_table.reason(name)
    return f"Exported as {target}." if why is None else f"Not exported: {prose(why)}."


def difference_table(rows: list[str]) -> list[str]:
    """Return the rows of the pages of differences that name the operator."""
    if not rows:
        return ["None is known."]
    return ["\n".join(["| | MXNet 1.9.1 | rebind | why |", "| --- | --- | --- | --- |", *rows])]


def compared(name: str, comparison: Comparison | None) -> list[str]:
    """Return how many calls are recorded, and the largest differences; or why none is."""
    if comparison is None:
        instead = NO_CALL[name]
        return [f"No single call is recorded: {instead.reason} (`{instead.tests}`)."]
    calls = "1 recorded call" if comparison.calls == 1 else f"{comparison.calls} recorded calls"
    text = f"{calls}, with outputs of {', '.join(sorted(comparison.types))}."
    for what in ("outputs", "gradients"):
        largest = getattr(comparison, what)
        if largest is not None:
            text += f" Largest difference of {what}: {largest:.1g}." if largest else f" All {what} are equal."
    return [text + " Differences are relative to the largest number of an array, in float32 and float64."]


def index(operators: Mapping[str, list[str]], by_topic: Mapping[str, list[str]]) -> str:
    """Return the page of all topics, with the operators of each."""
    count = sum(map(len, operators.values()))
    text = (
        "# Operators\n\nFor those who look for an operator: a page for each, which covers "
        f"{count - len(LEFT_OUT)} of MXNet 1.9.1's {count} names.\n\n- [By name](names.md): all names, aliases too\n"
    )
    for topic, names in by_topic.items():
        text += f"- [{topic}]({topic_file(topic)}): {', '.join(link(name) for name in names)}\n"
    text += "\n## Names that are missing\n\n| name | why |\n| --- | --- |\n"
    return text + "".join(f"| `{name}` | {reason} |\n" for name, reason in LEFT_OUT.items())


def topic_page(topic: str, names: list[str]) -> str:
    """Return the page of a topic: its operators, and what each computes."""
    text = f"# {topic}\n\nFor those who look for an operator of this kind.\n\n"
    for name in names:
        summary = documentation(find(name), "array", "").partition("\n\n")[0]
        text += f"- {link(name)}: {cell(prose(summary))}\n"
    return text


def names_page(operators: Mapping[str, list[str]]) -> str:
    """Return the table of all names that MXNet has."""
    text = "# Operators by name\n\nFor those who know a name, or find one in a file.\n\n"
    text += "| name | operator |\n| --- | --- |\n"
    rows = [(alias, name) for name, several in operators.items() for alias in several]
    for alias, name in sorted(rows, key=lambda row: (row[0].lstrip("_").lower(), row[0])):
        text += f"| `{alias}` | {LEFT_OUT.get(name) or link(name)} |\n"
    return text


def link(name: str) -> str:
    """Return a link to an operator's page."""
    return f"[`{title(name)}`]({file_of(name)})"


def topic_file(topic: str) -> str:
    """Return the name of a topic's page.

    >>> topic_file("Sums, means, norms")
    'topic_sums_means_norms.md'
    """
    return f"topic_{re.sub(r'[^a-z0-9]+', '_', topic.lower())}.md"


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and text of each file."""
    operators = {first_name(names[0]): names for names in onnx_table.names_by_operator().values()}
    by_topic = topics([name for name in operators if name not in LEFT_OUT])
    facts = Facts.collect(list(operators))
    yield "index.md", index(operators, by_topic)
    yield "names.md", names_page(operators)
    for topic, names in by_topic.items():
        yield topic_file(topic), topic_page(topic, names)
        for name in names:
            yield file_of(name), page(name, operators[name], facts)


def write(folder: Path) -> None:
    """Write all pages; a file that is right already stays as it is, so that Sphinx does not read it again."""
    folder.mkdir(exist_ok=True)
    for name, text in pages():
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
