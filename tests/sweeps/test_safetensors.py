"""Every network goes out to safetensors and back, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.parity.golden import same_arrays
from tests.sweeps.networks import checkpoint, each_network

from rebind.convert.safetensors_files import load_safetensors, save_safetensors

pytest.importorskip("safetensors")


@each_network
def test_out_and_back(name: str, tmp_path: Path) -> None:
    before = checkpoint(name)
    path = tmp_path / "net.safetensors"
    save_safetensors(path, before.symbol, before.arg_params, before.aux_params)
    symbol, arg_params, aux_params = load_safetensors(path)
    assert symbol is not None and symbol.tojson() == before.symbol.tojson()
    for found, expected in ((arg_params, before.arg_params), (aux_params, before.aux_params)):
        same_arrays(
            {key: found[key].asnumpy() for key in expected},
            {key: value.asnumpy() for key, value in expected.items()},
            what=name,
        )
    after = replace(before, symbol=symbol, arg_params=arg_params, aux_params=aux_params)
    before.check(after.outputs())
