"""Each kind of module computes what MXNet 1.9.1 computes, and writes its files (``generate_modules.py``)."""

from __future__ import annotations

import numpy as np
import pytest

import rebind as mx

from .golden import DATA, assert_close, group, read_arrays, read_manifest
from .modules import LENGTHS, PROGRAMS, SGD, bucketing, cpus, fit_chain, model_parallel, sequential

RECORDED = read_arrays(DATA / "modules.npz")


def test_every_program_is_recorded():
    assert read_manifest(DATA / "modules.json")["programs"] == list(PROGRAMS)


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


@pytest.mark.parametrize("kvstore", [None, "local", "device"])
def test_four_devices_give_what_one_gives_buckets(kvstore, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "four").mkdir()
    one = bucketing(mx, tmp_path / "one", 1, None, "sgd", SGD)
    four = bucketing(mx, tmp_path / "four", 4, kvstore, "sgd", SGD)
    same(weights(four), weights(one), f"four devices, {kvstore}, lengths {LENGTHS}")


def test_four_devices_give_what_one_gives_groups(tmp_path):
    same(model_parallel(mx, tmp_path, 4), model_parallel(mx, tmp_path, 1), "four devices")


def test_four_devices_give_what_one_gives_chains(tmp_path):
    def chain(devices):
        # Without batch norm, whose statistics are those of each device's rows.
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
        return made.add(mx.mod.Module(second, context=cpus(mx, devices)), take_labels=True, auto_wiring=True)

    same(weights(fit_chain(mx, chain(4))), weights(fit_chain(mx, chain(1))), "four devices")


def test_a_chain_on_two_devices_normalises_each_ones_rows(tmp_path):
    found = sequential(mx, tmp_path, devices=2)
    assert all(np.isfinite(values).all() for values in weights(found).values())
