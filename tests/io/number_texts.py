"""Numbers as texts, for what reads them: of all lengths, and close to where rounding turns."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st


def _between(bits: int, digits: int, shift: int) -> str:
    """Return a decimal of some digits at half way between two neighbours of float32, or right beside it."""
    low, high = (float(np.uint32(each).view(np.float32)) for each in (bits, bits + 1))
    half = (Fraction(low) + Fraction(high)) / 2
    exponent = (
        digits - 1 - len(str(int(half))) if half >= 1 else digits + int(-np.log10(float(half) or 1e-45))
    )
    return f"{int(half * Fraction(10) ** exponent) + shift}e{-exponent}"


def _decimal(whole: int, fraction: str, exponent: int | None, sign: str) -> str:
    return (
        f"{sign}{whole}" + ("." + fraction if fraction else "") + ("" if exponent is None else f"e{exponent}")
    )


DIGITS = st.text("0123456789", max_size=22)

#: Numbers as JSON has them, too.
JSON_NUMBERS = st.one_of(
    st.integers(-300, 300).map(str),
    st.integers(-(2**64), 2**64).map(str),
    st.sampled_from(
        ["0", "-0", "-0.0", "0e5", "-0e-5", "4611686018427387904", "9007199254740993", "1e400", "1e-400"]
    ),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda value: f"{value:.6g}"),
    st.builds(_between, st.integers(0, 0x7F7FFFFE), st.integers(9, 24), st.integers(-1, 1)),
    st.builds(
        _decimal,
        st.integers(0, 10**20),
        DIGITS,
        st.one_of(st.none(), st.integers(-50, 50)),
        st.sampled_from(["", "-"]),
    ),
)

#: Pieces of text that JSON takes for something else than the readers of text do, or not at all.
NO_JSON = st.one_of(
    st.sampled_from(["", " ", "+1", ".5", "1.", "007", "nan", "-inf", "1_0", "0x1", "-", "e5", "1 2"]),
    st.sampled_from(["null", "true", '"1"', "[1]", "[", "]", "{}", "1]", "1],[2", "\x00", "\u00e9"]),
    st.sampled_from(["9" * 5000, "0." + "3" * 5000, "0" * 5000, " " * 5000 + "1"]),
)
