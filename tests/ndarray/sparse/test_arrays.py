"""Sparse arrays answer as MXNet 1.9.1 does: expressions, gradients of operators and a pickle that it recorded."""

from __future__ import annotations

import pickle

import pytest
from tests.installed import installed
from tests.parity.golden import DATA, read_manifest
from tests.parity.sparse_arrays import EXPRESSIONS, GRADIENTS, gradients_of, names_for, shown

import rebind as mx
from rebind.errors import MXNetError

RECORD = read_manifest(DATA / "sparse_arrays.json")


@pytest.fixture(autouse=True)
def no_warning_of_fallbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression(expression: str) -> None:
    wanted = RECORD["answers"][expression]
    if wanted == "refused":
        with pytest.raises(MXNetError):
            eval(expression, names_for(mx))
        return
    assert shown(eval(expression, names_for(mx))) == wanted


@pytest.mark.parametrize("number", range(len(GRADIENTS)), ids=[str(case) for case in GRADIENTS])
def test_gradients_of_an_operator(number: int) -> None:
    assert gradients_of(mx, *GRADIENTS[number]) == RECORD["gradients"][number]


def test_a_pickle_of_mxnet() -> None:
    with installed():
        found = pickle.loads((DATA / "pickles" / "sparse.pkl").read_bytes())
    names = names_for(mx)
    wanted = [
        names["p"],
        names["q"],
        mx.nd.zeros((2, 3), stype="csr"),
        mx.nd.zeros((2, 3), stype="row_sparse"),
    ]
    assert shown(found) == shown(wanted)
    assert shown(pickle.loads(pickle.dumps(found))) == shown(wanted)
