"""One thing that was found in a program."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KINDS", "Finding"]

#: What is found, by the word for it.
KINDS = {
    "absent": "a name of MXNet's that rebind does not have",
    "mistake": "a name that neither rebind nor MXNet has",
    "keyword": "an argument that a function does not take",
    "choice": "a name that no optimizer, metric, store or network has, or a value that an argument does not take",
    "environment": "an environment variable of MXNet's without an effect",
    "value": "a value that rebind treats otherwise",
    "file": "a file that rebind reads or writes otherwise, or not at all",
    "python2": "what Python 2 had",
    "numpy": "what older versions of NumPy had",
    "number": "an array of one number where a number is needed",
    "syntax": "what Python cannot read",
}


@dataclass(frozen=True, order=True)
class Finding:
    """One thing, with the line where it is.

    Parameters
    ----------
    file, line
        Where it is; lines count from 1.
    kind
        One of `KINDS`.
    message
        What it is, and what to write instead.
    stops
        Whether the program ends there with an error; else something is only different.
    """

    file: str
    line: int
    kind: str
    message: str
    stops: bool = True
