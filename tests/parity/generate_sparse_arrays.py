"""Record what MXNet 1.9.1 answers to expressions of sparse arrays, and the gradients of their operators.

Run with the Python of an environment that has MXNet 1.9.1::

    python -m tests.parity.generate_sparse_arrays

It writes ``data/sparse_arrays.json``, ``data/pickles/sparse.pkl`` and ``data/files/sparse-mixed.params`` beside this
file.
"""

from __future__ import annotations

import pickle

from .golden import DATA, FILES, write_manifest
from .oracle import mx, origin
from .sparse_arrays import EXPRESSIONS, GRADIENTS, MIXED, gradients_of, mixed_arrays, names_for, shown


def answer(expression: str) -> object:
    """Return what an expression gives, or that it is refused."""
    try:
        return shown(eval(expression, names_for(mx)))
    except Exception:  # of whatever class
        return "refused"


def generate_sparse_arrays() -> None:
    """Record the answers, the gradients, a pickle and a file."""
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
    mixed = mixed_arrays(mx)
    mx.nd.waitall()  # or sizes would be written that are not known yet
    mx.nd.save(str(FILES / MIXED), mixed)


if __name__ == "__main__":
    generate_sparse_arrays()
