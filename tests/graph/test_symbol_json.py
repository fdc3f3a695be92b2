"""Symbols as JSON: whatever the text, a symbol or a FormatError that says where."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rebind as mx
from rebind.errors import FormatError, MXNetError


def network() -> mx.Symbol:
    with mx.name.NameManager():
        net = mx.sym.Convolution(
            mx.sym.var("data", shape=(0, 3)), kernel=(3, 3), num_filter=4, pad=(1, 1), name="c"
        )
        net = mx.sym.BatchNorm(net, name="bn")
        net = mx.sym.SliceChannel(mx.sym.concat(net, net, dim=1), num_outputs=2, name="parts")
        return mx.sym.SoftmaxOutput(mx.sym.flatten(net[0]), name="softmax")


TEXT = network().tojson()
JUNK = st.sampled_from(
    [None, True, -1, 0, 3, 10**30, 1.5, "", "abc", "(3,", "((((", [], {}, [[0, 0, 0]], [[-1, 0]], [["a", 0, 0]],
     {"a": 1}, "null", "1e999", "nan", "Convolution", [99, 0, 0], [0, 99, 0], "__import__('os')", "(" * 500]
)  # fmt: skip


def paths(value, path=()) -> list[tuple]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, part in inner for found in paths(part, (*path, key)))]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6), JUNK, st.booleans())
def test_changed_values(number: int, junk, remove: bool) -> None:
    content = json.loads(TEXT)
    *path, last = (found := paths(content)[1:])[number % len(found)]
    target = content
    for key in path:
        target = target[key]
    if remove:
        del target[last]
    else:
        target[last] = junk
    try:
        symbol = mx.sym.load_json(json.dumps(content))
    except FormatError:
        return
    assert symbol.tojson() and symbol.debug_str() is not None
    try:
        symbol.infer_shape_partial()
        symbol.infer_type_partial()
    except MXNetError:
        pass


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: c.pop("nodes"), "must be a JSON object with a list 'nodes'"),
        (lambda c: c.pop("heads"), "must have a list 'heads'"),
        (lambda c: c.update(heads=[[99, 0, 0]]), "head 0 must refer to an earlier node; got node 99"),
        (lambda c: c.update(heads=[[0, 7, 0]]), "head 0 must refer to one of 1 outputs"),
        (lambda c: c["nodes"][3].update(op="Convolutoin"), "did you mean 'Convolution'"),
        (lambda c: c["nodes"][3]["attrs"].update(kernel="(3,"), "kernel must be a tuple of ints; got '(3,'"),
        (lambda c: c["nodes"][3]["attrs"].update(kernal="(3,)"), "no parameter 'kernal'; did you mean 'kernel'?"),
        (lambda c: c["nodes"][3]["attrs"].pop("num_filter"), "needs a value for num_filter"),
        (lambda c: c["nodes"][3].update(inputs=[[9, 0, 0]]), "input 0 must refer to an earlier node"),
        (lambda c: c["nodes"][3].update(inputs=[[0, 0, 0]] * 7), "must have the inputs data, weight, bias; got 7"),
        (lambda c: c["nodes"][0].update(inputs=[[0, 0, 0]]), "earlier node"),
        (lambda c: c["nodes"][0].update(name=3), "node 0 must be an object with the strings"),
        (lambda c: c["nodes"][0].update(attrs=[1]), "'attrs' must be an object"),
        (lambda c: c["nodes"][10]["attrs"].update(num_outputs=str(10**30)), "num_outputs must be an int in [1, "),
    ],
)  # fmt: skip
def test_the_message_names_the_node(change, says) -> None:
    content = json.loads(TEXT)
    change(content)
    with pytest.raises(FormatError) as caught:
        mx.sym.load_json(json.dumps(content))
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "x", "{", "[]", "null", "[" * 100_000, '{"nodes": []}', '{"nodes": {}}']
)
def test_no_symbol(text: str) -> None:
    with pytest.raises(FormatError):
        mx.sym.load_json(text)


@pytest.mark.parametrize("content", [b"{}", b"\xff\xfe"], ids=["no-symbol", "no-text"])
def test_the_file_is_named(tmp_path, content: bytes) -> None:
    path = tmp_path / "net-symbol.json"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"net-symbol\.json"):
        mx.sym.load(path)


@pytest.mark.parametrize(
    ("key", "value", "ask"), (("__shape__", "(3,", "shape"), ("__dtype__", "99", "type"))
)
def test_attributes_that_say_nonsense_are_named(key, value, ask) -> None:
    symbol = mx.sym.var("v", attr={key: value}) + 1
    with pytest.raises(MXNetError, match=f"variable 'v': its attribute {key}"):
        getattr(symbol, f"infer_{ask}_partial")()


def test_deep_networks_do_not_recurse() -> None:
    symbol = mx.sym.var("x")
    for _ in range(20_000):
        symbol = symbol + 1
    again = mx.sym.load_json(symbol.tojson())
    assert again.list_arguments() == ["x"]
    assert again.infer_shape(x=(2,))[1] == [(2,)]
    assert again(x=mx.sym.var("y")).list_arguments() == ["y"]


@pytest.mark.parametrize("version", [None, 800, 899])
@pytest.mark.parametrize("key", ["param and attr", "attr", "attrs"])
def test_states_that_loading_adds_have_the_attributes_of_their_operator(
    key: str, version: int | None
) -> None:
    parameters, hidden = {"eps": "0.0001", "momentum": "0.7"}, {"ctx_group": "dev1", "lr_mult": "2"}
    if key == "param and attr":
        texts: dict[str, object] = {"param": parameters, "attr": hidden}
    else:
        texts = {key: {**parameters, **hidden}}
    names = ["data", "bn_gamma", "bn_beta"]
    nodes = [{"op": "null", "name": name, "inputs": []} for name in names]
    nodes.append({"op": "BatchNorm", "name": "bn", "inputs": [[0, 0], [1, 0], [2, 0]], **texts})
    network = {"nodes": nodes, "arg_nodes": [0, 1, 2], "heads": [[3, 0]]}
    if version is not None:
        network["attrs"] = {"mxnet_version": ["int", version]}
    found = mx.sym.load_json(json.dumps(network))
    # What MXNet 1.9.1 answers for each of these forms.
    shown = {**parameters, **hidden, "__ctx_group__": "dev1", "__lr_mult__": "2"}
    assert found.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert found.attr_dict()["bn_moving_mean"] == {**shown, "__init__": '["zero", {}]'}
    assert found.attr_dict()["bn_moving_var"] == {**shown, "__init__": '["one", {}]'}
