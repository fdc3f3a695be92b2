"""Each kind of module computes what MXNet 1.9.1 computes, and writes its files (``generate_modules.py``)."""

from __future__ import annotations

import numpy as np
import pytest

import rebind as mx

from .golden import DATA, assert_close, group, read_arrays
from .modules import LENGTHS, PROGRAMS, SGD, bucketing, cpus, fit_chain, model_parallel, sequential

RECORDED = read_arrays(DATA / "modules.npz")


@pytest.mark.parametrize("name", PROGRAMS)
def test_module(name, tmp_path):
    found, expected = PROGRAMS[name](mx, tmp_path), group(RECORDED, name)
    assert sorted(found) == sorted(expected)
    for key, values in expected.items():
        what = f"{name}: {key}"
        if values.dtype.kind in "US":
            assert found[key].tolist() == values.tolist(), what
        elif key.startswith("file/"):
            assert found[key].tobytes() == values.tobytes(), what
        else:
            assert_close(found[key], values, rtol=1e-5 if key.startswith("output") else 1e-4, what=what)


def same(found, expected, what):
    assert sorted(found) == sorted(expected)
    for key, values in expected.items():
        if values.dtype.kind == "f":
            assert_close(found[key], values, rtol=1e-5, what=f"{what}: {key}")


def weights(found):
    return {key: value for key, value in found.items() if key.startswith(("weight", "output"))}


def buckets(kvstore):
    def train(devices, folder):
        folder.mkdir()
        return weights(bucketing(mx, folder, devices, kvstore if devices > 1 else None, "sgd", SGD))

    return train


def chain(devices, folder):
    # Without batch norm, whose statistics are those of each device's slice.
    first = mx.mod.Module(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=6, name="body"),
        label_names=None,
        context=cpus(mx, devices),
    )
    second = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="head"), name="softmax"
    )
    made = mx.mod.SequentialModule()
    made.add(first)
    made.add(mx.mod.Module(second, context=cpus(mx, devices)), take_labels=True, auto_wiring=True)
    return weights(fit_chain(mx, made))


@pytest.mark.parametrize(
    "train",
    [
        pytest.param(buckets(None), id=f"buckets-of-lengths-{LENGTHS}"),
        pytest.param(buckets("local"), id="buckets-local"),
        pytest.param(buckets("device"), id="buckets-device"),
        pytest.param(lambda devices, folder: model_parallel(mx, folder.parent, devices), id="groups"),
        pytest.param(chain, id="chain"),
    ],
)
def test_four_devices_give_what_one_gives(train, tmp_path):
    same(train(4, tmp_path / "four"), train(1, tmp_path / "one"), "four devices")


def test_a_chain_on_two_devices_normalises_each_ones_rows(tmp_path):
    found = sequential(mx, tmp_path, devices=2)
    assert all(np.isfinite(values).all() for values in weights(found).values())
