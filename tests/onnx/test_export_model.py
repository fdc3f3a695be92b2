"""`export_model`: what users of MXNet call, with objects and with files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

import onnx
import rebind as mx
from rebind.onnx import export_model, exporting

WEIGHT = np.arange(12, dtype="float32").reshape(3, 4)
DATA = np.array([[1, 2, 3, 4], [4, 3, 2, 1]], dtype="float32")
PARAMS = {"fc1_weight": mx.nd.array(WEIGHT), "fc1_bias": mx.nd.zeros((3,))}


def layer(data: mx.Symbol | None = None) -> mx.Symbol:
    return mx.sym.FullyConnected(mx.sym.var("data") if data is None else data, num_hidden=3, name="fc1")


def run(path: str) -> list[np.ndarray]:
    onnx.checker.check_model(path, full_check=True)
    return ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"data": DATA})


def names(values) -> list[str]:
    return [value.name for value in values]


def sizes(value) -> list[int | str]:
    return [size.dim_value or size.dim_param for size in value.type.tensor_type.shape.dim]


@pytest.mark.parametrize(
    "params",
    [
        PARAMS,
        {f"arg:{name}": value for name, value in PARAMS.items()},
        [PARAMS, {}],
    ],
)
def test_parameters_come_in_all_the_forms_that_programs_have(params, tmp_path: Path) -> None:
    path = export_model(layer(), params, [(2, 4)], np.float32, str(tmp_path / "a.onnx"))
    np.testing.assert_allclose(run(path)[0], DATA @ WEIGHT.T)
    graph = onnx.load(path).graph
    assert (names(graph.input), names(graph.output)) == (["data"], ["fc1"])


def test_a_checkpoint_of_files_is_exported_without_its_label(tmp_path: Path) -> None:
    net = mx.sym.SoftmaxOutput(layer(), name="softmax")
    mx.model.save_checkpoint(str(tmp_path / "net"), 1, net, PARAMS, {})
    path = export_model(
        str(tmp_path / "net-symbol.json"),
        str(tmp_path / "net-0001.params"),
        [(2, 4)],
        onnx_file_path=str(tmp_path / "b.onnx"),
    )
    graph = onnx.load(path).graph
    assert (names(graph.input), names(graph.output)) == (["data"], ["softmax"])
    np.testing.assert_allclose(run(path)[0].sum(axis=1), 1, rtol=1e-6)


def test_several_outputs_of_a_node_have_numbers(tmp_path: Path) -> None:
    data = mx.sym.var("data")
    parts = mx.sym.split(data, num_outputs=2, name="sp")
    path = export_model(
        mx.sym.Group([*parts, layer(data)]), PARAMS, [(2, 4)], onnx_file_path=str(tmp_path / "c.onnx")
    )
    assert names(onnx.load(path).graph.output) == ["sp0", "sp1", "fc1"]
    np.testing.assert_array_equal(run(path)[1], DATA[:, 2:])


def test_free_sizes_are_those_that_the_caller_names(tmp_path: Path) -> None:
    path = export_model(
        layer(),
        PARAMS,
        [(2, 4)],
        onnx_file_path=str(tmp_path / "d.onnx"),
        dynamic=True,
        dynamic_input_shapes=[("batch", 4)],
    )
    graph = onnx.load(path).graph
    assert (sizes(graph.input[0]), sizes(graph.output[0])) == (["batch", 4], ["batch", 3])


def test_parameters_beyond_one_file_go_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "_LARGEST_FILE", 1000)
    weight = np.random.default_rng(0).normal(size=(100, 4)).astype("float32")
    params = {"wide_weight": mx.nd.array(weight), "wide_bias": mx.nd.zeros((100,))}
    wide = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=100, name="wide")
    path = export_model(wide, params, [(2, 4)], onnx_file_path=str(tmp_path / "e.onnx"))
    assert (tmp_path / "e.onnx.data").stat().st_size >= weight.nbytes
    np.testing.assert_allclose(run(path)[0], DATA @ weight.T, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("shapes", "folder", "says"),
    [
        ([(2, 4), (2,)], ".", r"shapes must have one entry for each input \(data\); got 2$"),
        ((2, 4), ".", r"got 2\. For one input give a list of one shape: \[\(2, 4\)\]"),
        ([(2, 4)], "none", "export_model: the folder '.*none' of '.*' must exist"),
    ],
)
def test_mistakes(shapes: Any, folder: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(mx.MXNetError, match=says):
        export_model(layer(), PARAMS, shapes, onnx_file_path=str(tmp_path / folder / "f.onnx"))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"sym": 5}, "export_model: sym must be a Symbol or a path; got 5"),
        ({"params": 5}, "export_model: params must be a dict, a list of dicts or a path; got 5"),
        ({"params": {"fc_weight": 5}}, "export_model: 'fc_weight' in params must be an NDArray; got 5"),
        ({"in_shapes": 5}, "export_model: in_shapes must be a list or None; got 5"),
        ({"in_shapes": ["a"]}, "export_model: the shape of 'data' must be a list of sizes, .*; got 'a'"),
        ({"in_shapes": [5], "dynamic": True}, "export_model: the shape of 'data' must be .*; got 5"),
        ({"in_types": "fp3"}, "export_model: the type of 'data' must be one of .*; got 'fp3'"),
        ({"onnx_file_path": 5}, "export_model: onnx_file_path must be a path; got 5"),
    ],
)
def test_arguments_of_other_kinds(given: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    with pytest.raises(mx.MXNetError, match=says):
        export_model(
            **{"sym": layer(), "params": PARAMS, "in_shapes": [(2, 4)], "onnx_file_path": path, **given}
        )


@pytest.mark.parametrize(
    ("read", "says"),
    [
        (mx.onnx.import_model, "import_model: "),
        (mx.onnx.get_model_metadata, "get_model_metadata: "),
        (lambda file: mx.onnx.import_to_gluon(file, mx.cpu()), "import_to_gluon: "),
    ],
)
def test_files_of_other_kinds(read: Callable[[Any], object], says: str, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.onnx"
    damaged.write_bytes(b"damaged" * 50)
    with pytest.raises(mx.MXNetError, match=f"{says}'.*damaged.onnx' is not an ONNX model"):
        read(damaged)
    with pytest.raises(mx.MXNetError, match=f"{says}no file '.*none.onnx'"):
        read(tmp_path / "none.onnx")
    with pytest.raises(mx.MXNetError, match=f"{says}model_file must be a path; got 5"):
        read(5)


def test_import_arguments_of_other_kinds(tmp_path: Path) -> None:
    path = export_model(layer(), PARAMS, [(2, 4)], onnx_file_path=str(tmp_path / "f.onnx"))
    with pytest.raises(mx.MXNetError, match="import_model: constants must be a dict or None; got 5"):
        mx.onnx.import_model(path, constants=5)  # type: ignore[arg-type]
    with pytest.raises(mx.MXNetError, match="import_to_gluon: ctx must be a Device or a list of them; got 5"):
        mx.onnx.import_to_gluon(path, 5)  # type: ignore[arg-type]


def test_an_output_that_is_there_twice_has_two_names(tmp_path: Path) -> None:
    net = layer()
    path = export_model(mx.sym.Group([net, net]), PARAMS, [(2, 4)], onnx_file_path=str(tmp_path / "g.onnx"))
    assert len(set(names(onnx.load(path).graph.output))) == 2
    np.testing.assert_array_equal(*run(path))


def test_features_behind_a_blockgrad_stay_an_output(tmp_path: Path) -> None:
    features = mx.sym.Activation(mx.sym.var("data"), act_type="relu", name="relu")
    net = mx.sym.Group(
        [mx.sym.SoftmaxOutput(features, name="softmax"), mx.sym.BlockGrad(features, name="features")]
    )
    path = mx.onnx.export_model(net, {}, [(2, 3)], onnx_file_path=str(tmp_path / "net.onnx"))
    found = mx.onnx.get_model_metadata(path)
    assert found["output_tensor_data"] == [("softmax", (2, 3)), ("features", (2, 3))]
    assert [name for name, *_ in found["input_tensor_data"]] == ["data"]
