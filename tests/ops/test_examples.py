"""Examples in the docstrings of operators run, with the names of the operator's own module."""

from __future__ import annotations

import doctest
import inspect

import pytest
import torch

from rebind.ops import all_operators

DOCUMENTED = [op for op in all_operators() if ">>>" in (inspect.getdoc(op.kernels.function) or "")]


@pytest.mark.parametrize("op", DOCUMENTED, ids=lambda op: op.name)
def test_examples_run(op):
    function = op.kernels.function
    names = {**vars(inspect.getmodule(function)), function.__name__: op, "torch": torch}
    for test in doctest.DocTestFinder(recurse=False).find(function, op.name, globs=names):
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
        assert not runner.run(test).failed
