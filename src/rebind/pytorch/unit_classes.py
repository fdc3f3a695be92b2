"""One class for all copies of a unit: what they differ in are the arguments of its constructor."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any, NamedTuple, TypeAlias

from .layer_calls import Call, in_loops, is_number, parsed
from .layout import statement

__all__ = ["Member", "UnitClasses", "UnitMember", "UnitText", "class_text", "member_lines"]

#: Numbers of channels and the like, which are the same number wherever they are equal in all copies.
_SIZES = ("channels", "features", "groups", "num_embeddings", "embedding_dim", "num_parameters")


@dataclass
class UnitText:
    """A unit as it is written in PyTorch, by names of its own.

    Attributes
    ----------
    label
        What the names of its nodes have in common.
    members, buffers
        What makes its layers, and the names of buffers that are no layer's.
    arguments, lines, result
        Of its ``forward``.
    unit_class
        The class that it is a copy of.
    values
        The arguments of that class's constructor, by their names; without those that are its defaults.
    """

    label: str
    members: Sequence[Member]
    buffers: Sequence[str]
    arguments: Sequence[str]
    lines: Sequence[str]
    result: str
    unit_class: _UnitClass | None = None
    values: dict[str, str] = field(default_factory=dict)


class UnitMember(NamedTuple):
    """A layer that is a unit, or units that follow each other."""

    name: str
    units: tuple[UnitText, ...]


#: A line that makes a layer, parameter or buffer, or a unit.
Member: TypeAlias = "str | UnitMember"


class _Parameter(NamedTuple):
    name: str
    annotation: str
    default: str | None
    is_size: bool


class _Slot(NamedTuple):
    """One argument of one call, as each copy has it."""

    position: tuple[int, int]
    member: str
    role: str
    texts: tuple[str, ...]
    default: str | None
    is_size: bool

    @property
    def column(self) -> object:
        """What is equal for arguments that are the same number in all copies."""
        return self.texts, "" if self.is_size else self.role


class UnitClasses:
    """The classes of a file, with their copies."""

    def __init__(self) -> None:
        self._by_text: dict[object, _UnitClass] = {}

    def add(self, text: UnitText) -> None:
        """Let a unit be a copy of those that differ from it in numbers alone."""
        members = tuple(map(_skeleton, text.members))
        key = (members, *map(tuple, (text.buffers, text.arguments, text.lines)), text.result)
        text.unit_class = self._by_text.setdefault(key, _UnitClass())
        text.unit_class.copies.append(text)

    def texts(self, taken: Iterable[str]) -> list[str]:
        """Return the text of the classes, those that others use first; `taken` names are not theirs."""
        used = set(taken)
        for unit_class in self._by_text.values():
            unit_class.name = _class_name(unit_class.copies, used)
            used.add(unit_class.name)
        return [unit_class.text() for unit_class in self._by_text.values()]


def _class_name(copies: Sequence[UnitText], used: set[str]) -> str:
    """Return a name after the last words that all labels have, such as ``StageUnit``, or after the layers."""
    words = [[word for word in map(_letters, copy.label.split("_")) if word] for copy in copies]
    common: list[str] = []
    for ends in zip(*(reversed(own) for own in words)):
        if len(set(ends)) > 1:
            break
        common.insert(0, ends[0])
    layers = [_member_name(member) for member in copies[0].members if _calls_of(member)]
    common = common or [word for layer in layers[:2] for word in layer.split("_")]
    base = "".join(word[0].upper() + word[1:] for word in common if word) or "Unit"
    name, number = base, 1
    while name in used:
        number += 1
        name = f"{base}{number}"
    return name


def _letters(word: str) -> str:
    return "".join(char for char in word if char.isascii() and char.isalpha())


class _UnitClass:
    def __init__(self) -> None:
        self.name = ""
        self.copies: list[UnitText] = []
        self.parameters: list[_Parameter] = []

    def text(self) -> str:
        """Find what the copies differ in, and return the class."""
        first, calls = self.copies[0], self._calls()
        replaced = self._find_parameters(calls)
        lines = [
            _line(
                member,
                [
                    call._replace(arguments=call.arguments | replaced.get((m, k), {}))
                    for k, call in enumerate(made)
                ],
            )
            for m, (member, made) in enumerate(zip(first.members, calls[0], strict=True))
        ]
        others = len(self.copies) - 1
        doc = f"The layers of {first.label}" + (
            f", and of {others} more such unit{'s' if others > 1 else ''}." if others else "."
        )
        parameters = [
            f"{name}: {annotation}" + ("" if default is None else f" = {default}")
            for name, annotation, default, _ in self.parameters
        ]
        return class_text(
            self.name, doc, lines, first.buffers, first.arguments, first.lines, [first.result], parameters
        )

    def _calls(self) -> list[list[list[Call]]]:
        """Return by copy and member what is called; all copies have all arguments that one has."""
        calls = [[_calls_of(member) for member in copy.members] for copy in self.copies]
        for m, made in enumerate(calls[0]):
            for k in range(len(made)):
                group = [copy[m][k] for copy in calls]
                names = list(dict.fromkeys(name for call in group for name in call.arguments))
                defaults = made[k].defaults
                names.sort(key=lambda name: list(defaults).index(name) if name in defaults else -1)
                for copy, call in zip(calls, group, strict=True):
                    arguments = {name: call.arguments.get(name) or defaults[name] for name in names}
                    copy[m][k] = call._replace(arguments=arguments)
        return calls

    def _find_parameters(
        self, calls: Sequence[Sequence[Sequence[Call]]]
    ) -> dict[tuple[int, int], dict[str, str]]:
        """Set the parameters and each copy's values; return by member and call which arguments are parameters."""
        slots = {
            (m, k, name): _slot(self.copies[0].members[m], (m, k), name, [copy[m][k] for copy in calls])
            for m, made in enumerate(calls[0])
            for k, call in enumerate(made)
            for name in call.arguments
        }
        columns: dict[object, list[_Slot]] = {}
        for slot in slots.values():
            columns.setdefault(slot.column, []).append(slot)
        names = _column_names(columns)
        found_parameters = [(column, _parameter(name, columns[column])) for column, name in names.items()]
        for column, parameter in sorted(found_parameters, key=lambda item: not item[1].is_size):
            self.parameters.append(parameter)
            for copy, text in zip(self.copies, columns[column][0].texts, strict=True):
                if text != parameter.default:
                    copy.values[parameter.name] = text
        found: dict[tuple[int, int], dict[str, str]] = {}
        for (m, k, name), slot in slots.items():
            if slot.column in names:
                found.setdefault((m, k), {})[name] = names[slot.column]
        return found


def _slot(member: Member, position: tuple[int, int], name: str, calls: Sequence[Call]) -> _Slot:
    owner, default = _member_name(member), calls[0].defaults.get(name)
    if isinstance(member, UnitMember):
        number = position[1]
        unit = member.units[number]
        owner = owner if len(member.units) == 1 else f"{owner}_{number}"
        assert unit.unit_class is not None
        parameter = next(each for each in unit.unit_class.parameters if each.name == name)
        is_size = parameter.is_size or name.endswith(_SIZES)
    else:
        is_size = name.endswith(_SIZES)
    return _Slot(position, owner, name, tuple(call.arguments[name] for call in calls), default, is_size)


def _column_names(columns: Mapping[object, Sequence[_Slot]]) -> dict[object, str]:
    """Name what copies differ in: ``in_channels``, ``out_channels``, ``channels`` between them, ``stride``."""
    slots = sorted((slot for own in columns.values() for slot in own), key=lambda slot: slot.position)
    first = next((slot for slot in slots if slot.role.startswith("in_")), None)
    last = next((slot for slot in reversed(slots) if slot.role.startswith("out_")), None)
    varying = [column for column, own in columns.items() if len(set(own[0].texts)) > 1]
    names: dict[object, str] = {}
    for column in sorted(
        varying, key=lambda column: first not in columns[column] and last not in columns[column]
    ):
        own = columns[column]
        ends = [slot.role for slot in own if slot.role.startswith(("in_", "out_"))]
        if (first in own) != (last in own):
            base = first.role if first in own and first else last.role if last else ""
        elif ends:
            base = ends[0].partition("_")[2]
        else:
            base = own[0].role.removeprefix("num_")
        names[column] = _unused(base, own[0].member, names.values())
    return {column: names[column] for column in varying}


def _unused(base: str, member: str, used: Iterable[str]) -> str:
    """Return a name that is not in use, after a layer where it must be."""
    taken = set(used)
    first = [base, f"hidden_{base}", f"{member}_{base}"] if base in _SIZES else [base, f"{member}_{base}"]
    names = chain(first, (f"{member}_{base}_{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


def _parameter(name: str, slots: Sequence[_Slot]) -> _Parameter:
    values = [ast.literal_eval(text) for text in slots[0].texts]
    kinds = sorted({_annotation(value) for value in values}, key=lambda kind: (kind != "int", kind))
    is_size = slots[0].is_size and any(slot.role != "groups" for slot in slots)
    defaults = {slot.default for slot in slots}
    default = defaults.pop() if len(defaults) == 1 and not is_size else None
    return _Parameter(name, " | ".join(kinds), default, is_size)


def _annotation(value: Any) -> str:
    if isinstance(value, tuple):
        return f"tuple[{', '.join(map(_annotation, value))}]"
    return type(value).__name__


def _member_name(member: Member) -> str:
    if isinstance(member, UnitMember):
        return member.name
    return member.partition(" = ")[0].removeprefix("self.")


def _calls_of(member: Member) -> list[Call]:
    """Return what makes a member; nothing for a line of another kind."""
    if not isinstance(member, UnitMember):
        call = parsed(member)
        return [] if call is None else [call]
    calls = []
    for unit in member.units:
        assert unit.unit_class is not None
        parameters = unit.unit_class.parameters
        positional = sum(each.is_size for each in parameters)
        defaults = {each.name: each.default for each in parameters if each.default is not None}
        calls.append(Call(unit.unit_class.name, dict(unit.values), positional, defaults))
    return calls


def _skeleton(member: Member) -> object:
    """Return what members of one class have in common: all but numbers."""
    if isinstance(member, UnitMember):
        return member.name, tuple(id(unit.unit_class) for unit in member.units)
    call = parsed(member)
    if call is None:
        return member
    others = [
        (name, "number" if is_number(text) else text)
        for name, text in call.arguments.items()
        if not (name in call.defaults and is_number(text))
    ]
    return _member_name(member), call.function, call.positional, tuple(others)


def _line(member: Member, calls: Sequence[Call]) -> str:
    if not calls:
        return str(member)
    made = str(calls[0]) if len(calls) == 1 else f"nn.Sequential({', '.join(in_loops(calls))})"
    return f"self.{_member_name(member)} = {made}"


def member_lines(members: Iterable[Member]) -> list[str]:
    """Return the lines that make the members of the network; the classes of units must have been written."""
    return [_line(member, _calls_of(member)) for member in members]


def class_text(
    name: str,
    doc: str,
    members: Iterable[str],
    buffers: Sequence[str],
    arguments: Iterable[str],
    lines: Iterable[str],
    results: Sequence[str],
    parameters: Iterable[str] = (),
) -> str:
    """Return the text of a module, without an end of line."""
    text = [f"class {name}(nn.Module):", f'    """{doc}"""', ""]
    text += [f"    {buffer}: Tensor" for buffer in buffers]
    text += [""] if buffers else []
    text += [*statement(f"def __init__({', '.join(['self', *parameters])}) -> None:", 4)]
    text.append("        super().__init__()")
    for line in members:
        text += statement(line, 8)
    result = "Tensor" if len(results) == 1 else f"tuple[{', '.join(['Tensor'] * len(results))}]"
    taken = ", ".join(["self", *(f"{argument}: Tensor" for argument in arguments)])
    text += ["", *statement(f"def forward({taken}) -> {result}:", 4)]
    for line in lines:
        text += statement(line, 8)
    return "\n".join([*text, *statement(f"return {', '.join(results)}", 8)])
