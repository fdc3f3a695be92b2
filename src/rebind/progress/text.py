"""The texts: the bar of the running epoch, and the lasting line of a finished one, for any width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import takewhile
from typing import TypeAlias

__all__ = ["BarState", "EpochFigures", "bar_pieces", "duration", "epoch_line", "number"]

#: Texts with rich's names of their styles.
Pieces: TypeAlias = list[tuple[str, str]]

_GAP = "  "
_SHORTEST_BAR, _LONGEST_BAR = 8, 24


@dataclass
class EpochFigures:
    """What is known of a finished epoch.

    Attributes
    ----------
    epoch, last
        The epoch's number from 1, and that of the last one.
    train, validation
        The figures, by the names of the metrics.
    seconds
        How long the training took, without the validation.
    samples
        How many samples it used, without padding.
    """

    epoch: int
    last: int
    train: dict[str, float] = field(default_factory=dict)
    validation: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    samples: int = 0

    @property
    def speed(self) -> float:
        """Samples per second."""
        return self.samples / self.seconds if self.seconds > 0 else 0.0


@dataclass
class BarState:
    """How far the running epoch is; what is None is not known yet.

    Attributes
    ----------
    epoch, last
        The epoch's number from 1, and that of the last one.
    done, total
        Batches.
    figures
        What the metric says so far.
    speed
        Samples per second.
    left
        Seconds to the end of the training.
    """

    epoch: int
    last: int
    done: int = 0
    total: int | None = None
    figures: Sequence[tuple[str, float]] = ()
    speed: float | None = None
    left: float | None = None


def number(value: float) -> str:
    """Return a figure with four digits that matter.

    >>> number(0.25), number(0.0000123), number(123456.0), number(float("nan"))
    ('0.2500', '1.23e-05', '1.23e+05', 'nan')
    """
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e4 else f"{value:.3g}"


def bar_pieces(state: BarState, width: int, ascii_only: bool = False) -> Pieces:
    """Return the bar as one line of at most `width` columns; epoch and count are always there.

    What else fits is added in the order of its use: a figure, the bar, further figures, speed, time left.

    >>> state = BarState(3, 10, 25, 100, [("accuracy", 0.9)], speed=12345.0, left=75)
    >>> for width in 24, 60, 80:
    ...     print("".join(text for text, _ in bar_pieces(state, width, ascii_only=True)))
    epoch 3/10  25/100
    epoch 3/10  ###----------  25/100  accuracy 0.9000  12,345/s
    epoch 3/10  ###--------  25/100  accuracy 0.9000  12,345 samples/s  0:01:15 left
    """
    epoch = f"epoch {state.epoch}/{state.last}"
    count = f"{state.done}/{'?' if state.total is None else state.total}"
    room = width - len(epoch) - len(_GAP) - len(count)

    def fits(text: str) -> bool:
        nonlocal room
        if not text or len(_GAP) + len(text) > room:
            return False
        room -= len(_GAP) + len(text)
        return True

    # Room is given by importance: the first figure, a bar, the other figures, speed, time left.
    figures = [f"{name} {number(value)}" for name, value in state.figures]
    shown = list(takewhile(fits, figures[:1]))
    length = _SHORTEST_BAR if fits(" " * _SHORTEST_BAR) else 0
    shown += takewhile(fits, figures[1:])
    speed = next(filter(fits, _speeds(state.speed)), "")
    left = "" if state.left is None else f"{timedelta(seconds=round(state.left))} left"
    left = left if fits(left) else ""
    if length:
        length = min(length + room, _LONGEST_BAR)
    full, rest = ("#", "-") if ascii_only else ("━", "─")
    filled = round(length * min(state.done / state.total, 1)) if state.total else 0
    fields: list[Pieces] = [
        [(epoch, "bold")],
        [(full * filled, "green"), (rest * (length - filled), "dim")],
        [(count, "")],
        *([(text, "cyan")] for text in shown),
        [(speed, "green")],
        [(left, "dim")],
    ]
    found: Pieces = []
    for pieces in fields:
        present = [piece for piece in pieces if piece[0]]
        found += [(_GAP, ""), *present] if found and present else present
    return found


def _speeds(speed: float | None) -> Iterable[str]:
    """Return the longer and the shorter form."""
    return () if speed is None else (f"{speed:,.0f} samples/s", f"{speed:,.0f}/s")


def epoch_line(figures: EpochFigures, width: int) -> str:
    """Return the line of a finished epoch; where it is too long for `width` columns, it breaks between figures.

    >>> figures = EpochFigures(
    ...     3, 10, {"accuracy": 0.9}, {"accuracy": 0.8, "mse": 0.5}, seconds=2.0, samples=3000
    ... )
    >>> print(epoch_line(figures, 120))
    epoch 3/10  accuracy 0.9000 (val 0.8000)  val mse 0.5000  2.0 s  1,500 samples/s
    >>> print(epoch_line(figures, 60))
    epoch 3/10  accuracy 0.9000 (val 0.8000)  val mse 0.5000
      2.0 s  1,500/s
    """
    texts = [f"epoch {figures.epoch}/{figures.last}"]
    for name, value in figures.train.items():
        validated = figures.validation.get(name)
        texts.append(f"{name} {number(value)}" + ("" if validated is None else f" (val {number(validated)})"))
    texts += [
        f"val {name} {number(value)}"
        for name, value in figures.validation.items()
        if name not in figures.train
    ]
    texts.append(duration(figures.seconds))
    long, short = _speeds(figures.speed)
    whole = _GAP.join([*texts, long])
    return whole if len(whole) <= width else _broken([*texts, short], width)


def _broken(texts: Sequence[str], width: int) -> str:
    """Join texts, with line breaks between them where they are needed."""
    lines = [texts[0]]
    for text in texts[1:]:
        if len(lines[-1]) + len(_GAP) + len(text) <= width:
            lines[-1] += _GAP + text
        else:
            lines.append(_GAP + text)
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """Return a time as people read it.

    >>> duration(2.34), duration(75)
    ('2.3 s', '0:01:15')
    """
    return f"{seconds:.1f} s" if seconds < 60 else str(timedelta(seconds=round(seconds)))
