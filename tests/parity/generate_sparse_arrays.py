"""Record what MXNet 1.9.1 answers to expressions of sparse arrays, and the gradients of their operators.

Run with the Python of an environment that has MXNet 1.9.1::

    python -m tests.parity.generate_sparse_arrays

It writes ``data/sparse_arrays.json`` and ``data/pickles/sparse.pkl`` beside this file.
"""

from __future__ import annotations

import pickle

from .golden import DATA, write_manifest
from .oracle import mx, origin
from .sparse_arrays import EXPRESSIONS, GRADIENTS, gradients_of, names_for, shown


def answer(expression: str) -> object:
    """Return what an expression gives, or that it is refused."""
    try:
        return shown(eval(expression, names_for(mx)))
    except Exception:  # of whatever class
        return "refused"


def generate_sparse_arrays() -> None:
    """Record the answers, the gradients and a pickle."""
    gradients = [gradients_of(mx, *case) for case in GRADIENTS]
    answers = {expression: answer(expression) for expression in EXPRESSIONS}
    write_manifest(
        DATA / "sparse_arrays.json", {"origin": origin(), "answers": answers, "gradients": gradients}
    )
    names = names_for(mx)
    arrays = [
        names["p"],
        names["q"],
        mx.nd.sparse.zeros("csr", (2, 3)),
        mx.nd.sparse.zeros("row_sparse", (2, 3)),
    ]
    (DATA / "pickles" / "sparse.pkl").write_bytes(pickle.dumps(arrays, protocol=2))


if __name__ == "__main__":
    generate_sparse_arrays()
