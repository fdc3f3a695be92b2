"""Files of checkpoints: `mx.model`."""

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind import sym as S

NET = S.FullyConnected(S.var("data"), num_hidden=1, name="fc")
ARGS = {"fc_weight": nd.ones((1, 3)), "fc_bias": nd.array([2], dtype="float64")}
AUX = {"mean": nd.zeros((2,))}


def test_round_trip(tmp_path, caplog):
    prefix = str(tmp_path / "net")
    with caplog.at_level("INFO"):
        mx.model.save_checkpoint(prefix, 12, NET, ARGS, AUX)
    assert caplog.messages == [f'Saved checkpoint to "{prefix}-0012.params"']  # as MXNet
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net-0012.params", "net-symbol.json"]
    assert list(nd.load(f"{prefix}-0012.params")) == ["arg:fc_weight", "arg:fc_bias", "aux:mean"]
    symbol, args, aux = mx.model.load_checkpoint(prefix, 12)
    assert symbol.tojson() == NET.tojson() and list(aux) == ["mean"]
    assert args["fc_bias"].dtype == np.float64 and args["fc_weight"].asnumpy().tolist() == [[1, 1, 1]]


@pytest.mark.parametrize(
    ("symbol", "names"),
    [(None, ["net-0000.params"]), (NET, ["net-0000.params", "net-symbol.json"])],
    ids=["without a symbol", "with a symbol"],
)
def test_which_files_are_written(symbol, names, tmp_path):
    mx.model.save_checkpoint(str(tmp_path / "net"), 0, symbol, ARGS, AUX)
    assert sorted(path.name for path in tmp_path.iterdir()) == names


@pytest.mark.parametrize("read", [mx.model.load_params, mx.model.load_checkpoint])
@pytest.mark.parametrize(
    ("content", "says"),
    [
        ([nd.ones((1,))], "arrays of a checkpoint must have names; got a list of 1"),
        ({"weight": nd.ones((1,))}, "names must begin with 'arg:' or 'aux:'; got 'weight'"),
        ({"state:weight": nd.ones((1,))}, "got 'state:weight'"),
    ],
    ids=["a list", "a name without a kind", "another kind"],
)
def test_a_file_that_is_no_checkpoint(read, content, says, tmp_path):
    prefix = str(tmp_path / "net")
    NET.save(f"{prefix}-symbol.json")
    nd.save(f"{prefix}-0001.params", content)
    with pytest.raises(ValueError, match=says) as caught:
        read(prefix, 1)
    assert f"{prefix}-0001.params" in str(caught.value)


@pytest.mark.parametrize("read", [mx.model.load_params, mx.model.load_checkpoint])
@pytest.mark.parametrize("end", [-9, 100, 10])
def test_a_file_that_is_cut_short(read, end, tmp_path):
    prefix = str(tmp_path / "net")
    mx.model.save_checkpoint(prefix, 1, NET, ARGS, AUX)
    path = tmp_path / "net-0001.params"
    path.write_bytes(path.read_bytes()[:end])
    with pytest.raises(mx.MXNetError, match=r"net-0001\.params"):
        read(prefix, 1)


def test_an_empty_file_of_parameters_is_logged(tmp_path, caplog):
    prefix = str(tmp_path / "net")
    nd.save(f"{prefix}-0001.params", {})
    assert mx.model.load_params(prefix, 1) == ({}, {})
    assert caplog.messages == [f"Params file '{prefix}-0001.params' is empty"]


@pytest.mark.parametrize(
    ("read", "missing"),
    [(mx.model.load_params, r"none-0001\.params"), (mx.model.load_checkpoint, "none-symbol")],
)
def test_a_file_that_is_not_there(read, missing, tmp_path):
    with pytest.raises(FileNotFoundError, match=missing):
        read(str(tmp_path / "none"), 1)


def test_the_record_of_batch_callbacks():
    record = mx.model.BatchEndParam(1, 2, None, {})
    assert (record.epoch, record.nbatch, record.eval_metric, record.locals) == (1, 2, None, {})
