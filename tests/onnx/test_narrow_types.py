"""Types of ONNX that MXNet lacks: the same numbers in wider arrays, in the range of the type."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import pytest
from onnx.reference import ReferenceEvaluator
from tests.onnx.node_cases import WIDER_TYPES, as_array, numbers_of

import onnx
import rebind as mx
from onnx import TensorProto, helper, numpy_helper, parser
from rebind.errors import MXNetError
from rebind.onnx import to_onnx
from rebind.onnx.reading import read_model

UNSIGNED = ("uint16", "uint32", "uint64")
ARITHMETIC = {
    "Add": "y = Add (a, b)",
    "Sub": "y = Sub (a, b)",
    "Mul": "y = Mul (a, b)",
    "BitShift": 'y = BitShift <direction = "LEFT"> (a, b)',
    "BitwiseNot": "y = BitwiseNot (a)",
    "Einsum": 'y = Einsum <equation = "i,i->i"> (a, b)',
    "ScatterElements": """
        i = Constant <value_ints = [0, 0, 1, 1]> ()
        y = ScatterElements <reduction = "add"> (a, i, b)
    """,
}
FLOATS = ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT4E2M1")


def model(text: str, opset: int = 24) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 11, opset_import: ["": {opset}]>\n{text}')


def run(proto: onnx.ModelProto, **inputs: np.ndarray) -> list[np.ndarray]:
    symbol, arg_params, aux_params, names = read_model(proto)
    arrays = {name: as_array(inputs[name]) for name in names if name in symbol.list_inputs()}
    executor = symbol.bind(mx.cpu(), arrays | arg_params, aux_states=aux_params, grad_req="null")
    return [each.asnumpy() for each in executor.forward(is_train=False)]


def assert_as_in_onnx(proto: onnx.ModelProto, **inputs: np.ndarray) -> None:
    expected = ReferenceEvaluator(proto).run(None, inputs)
    for found, wanted in zip(run(proto, **inputs), expected, strict=True):
        assert found.dtype == WIDER_TYPES.get(wanted.dtype.name, wanted.dtype.name)
        np.testing.assert_array_equal(found, numbers_of(wanted))


@pytest.mark.parametrize("dtype", UNSIGNED[:2])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_wraps_as_that_of_the_type(name: str, dtype: str) -> None:
    most = int(np.iinfo(dtype).max)
    a, b = np.array([0, 1, most, most - 1], dtype), np.array([1, 3, 2, 15], dtype)
    text = f"g ({dtype}[4] a, {dtype}[4] b) => ({dtype}[4] y) {{ {ARITHMETIC[name]} }}"
    assert_as_in_onnx(model(text), a=a, b=b)


@pytest.mark.parametrize("dtype", UNSIGNED)
@pytest.mark.parametrize("given", ["int8", "int32", "int64", "uint8", "uint16", "float", "bool"])
def test_casts_to_types_without_a_sign(given: str, dtype: str) -> None:
    numbers = np.array([0, 1, 100, 65535, 65536, 2**31 - 1]).astype(given.replace("float", "float32"))
    if given == "float":
        numbers = numbers[:4]  # the others depend on the processor
    if dtype == "uint64":
        numbers = numbers[numbers >= 0]  # the others would be above 2**63
    to = TensorProto.DataType.Value(dtype.upper())
    casts = f"y = Cast <to = {to}> (x)\n z = Cast <to = 1> (y)"
    text = f"g ({given}[N] x) => ({dtype}[N] y, float[N] z) {{ {casts} }}"
    assert_as_in_onnx(model(text), x=numbers)


def test_differences_of_uint64_are_right_once_they_are_cast_to_fewer_bits() -> None:
    text = "g (uint64[2] a, uint64[2] b) => (uint32[2] y) { c = Sub (a, b)\n y = Cast <to = 12> (c) }"
    assert_as_in_onnx(model(text), a=np.array([1, 5], np.uint64), b=np.array([2, 3], np.uint64))


@pytest.mark.parametrize("saturate", [1, 0])
@pytest.mark.parametrize("kind", FLOATS)
def test_all_numbers_of_few_bits_and_those_between(kind: str, saturate: int) -> None:
    number = TensorProto.DataType.Value(kind)
    dtype = helper.tensor_dtype_to_np_dtype(number)
    own = np.arange(16 if kind == "FLOAT4E2M1" else 256, dtype=np.uint8).view(dtype).astype(np.float32)
    own = np.unique(own[np.isfinite(own)])
    between = (own[1:] + own[:-1]) / 2
    near = [np.nextafter(between, np.float32(end)) for end in (-np.inf, np.inf)]
    beyond = [own[-1] * 1.03, own[-1] * 1.2, 1e30, np.inf, -np.inf, np.nan, -0.0, 1e-30]
    data = np.concatenate([own, between, *near, beyond]).astype(np.float32)
    text = (
        f"g (float[N] x) => ({kind.lower()}[N] y) {{ y = Cast <to = {number}, saturate = {saturate}> (x) }}"
    )
    assert_as_in_onnx(model(text), x=data)


@pytest.mark.parametrize("how", ["up", "down", "nearest"])
def test_powers_of_two(how: str) -> None:
    data = np.array([0.0, 0.124, 0.125, 1.0, 1.1, 1.5, 1.6, 3.0, 2.0**-126, 2.0**127], np.float32)
    text = f'g (float[N] x) => (float8e8m0[N] y) {{ y = Cast <to = 24, round_mode = "{how}"> (x) }}'
    assert_as_in_onnx(model(text), x=data)


def test_numbers_beyond_the_powers_of_two() -> None:
    data = np.array([0.0, 2.0**-130, 3e38, np.inf, np.nan, 1.0], np.float32)
    text = (
        'g (float[N] x) => (float8e8m0[N] y) { y = Cast <to = 24, saturate = 0, round_mode = "nearest"> (x) }'
    )
    np.testing.assert_array_equal(run(model(text), x=data)[0], [np.nan] * 5 + [1.0])
    text = "g (float[N] x) => (float8e8m0[N] y) { y = Cast <to = 24> (x) }"
    found = run(model(text), x=data)[0]
    np.testing.assert_array_equal(found, [2.0**-127, 2.0**-127, 2.0**127, 2.0**127, np.nan, 1.0])


@pytest.mark.parametrize("kind", [*FLOATS, "UINT4", "INT4", "UINT16"])
def test_quantized_weights(kind: str) -> None:
    number = TensorProto.DataType.Value(kind)
    weights = np.array([[0, 1, 2], [3, 4, 6]]).astype(helper.tensor_dtype_to_np_dtype(number))
    proto = model(
        f"""
        g (float[1,3] x) => (float[1,2] y, {kind.lower()}[1,3] q) {{
            scale = Constant <value = float {{0.5}}> ()
            w = DequantizeLinear (weights, scale)
            t = Transpose (w)
            q = QuantizeLinear <output_dtype = {number}> (x, scale)
            d = DequantizeLinear (q, scale)
            y = MatMul (d, t)
        }}"""
    )
    tensor = onnx.helper.make_tensor("weights", number, weights.shape, weights.astype(np.float32).ravel())
    proto.graph.initializer.append(tensor)
    assert_as_in_onnx(proto, x=np.array([[0.7, -1.3, 2.2]], np.float32))


@pytest.mark.parametrize("dtype", ["FLOAT16", "FLOAT"])
def test_steps_and_scales_of_16_bits(dtype: str) -> None:
    text = f"""
        g (uint16[3] x, float16 scale, uint16 zero) => ({dtype.lower()}[3] y) {{
            y = DequantizeLinear <output_dtype = {TensorProto.DataType.Value(dtype)}> (x, scale, zero)
        }}"""
    steps, zero = np.array([60001, 60010, 0], np.uint16), np.array(60000, np.uint16)
    assert_as_in_onnx(model(text), x=steps, scale=np.array(0.5, np.float16), zero=zero)


def test_powers_of_two_are_scales() -> None:
    text = """
        g (int8[1,4] x, float8e8m0[1,2] s) => (float[1,4] y) {
            y = DequantizeLinear <output_dtype = 1, block_size = 2> (x, s)
        }"""
    scales = np.array([[0.25, 4.0]]).astype(helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT8E8M0))
    assert_as_in_onnx(model(text), x=np.array([[1, -3, 5, 127]], np.int8), s=scales)


def test_casts_of_the_first_opsets_name_the_type() -> None:
    proto = model('g (float[2] x) => (int32[2] y) { y = Cast <to = "INT32"> (x) }', opset=5)
    assert run(proto, x=np.array([1.5, -2.5], np.float32))[0].tolist() == [1, -2]
    proto.graph.node[0].attribute[0].s = b"WORD"
    with pytest.raises(MXNetError, match="'to' must be the name of a type; got 'WORD'"):
        read_model(proto)


def test_gradients_pass_casts() -> None:
    text = "g (float[3] x) => (float[3] y) { q = Cast <to = 17> (x)\n y = Cast <to = 1> (q) }"
    symbol = read_model(model(text))[0]
    executor = symbol.simple_bind(mx.cpu(), x=(3,))
    executor.forward(is_train=True, x=mx.nd.array([1.06, -3.3, 500.0]))
    executor.backward(mx.nd.array([1.0, 2.0, 3.0]))
    assert executor.grad_dict["x"].asnumpy().tolist() == [1, 2, 3]


def test_weights_of_bfloat16_are_trained() -> None:
    proto = model("g (bfloat16[1,2] x) => (bfloat16[1,2] y) { y = MatMul (x, w) }")
    proto.graph.initializer.append(
        helper.make_tensor("w", TensorProto.BFLOAT16, (2, 2), [1.0, 2.0, 3.0, 4.0])
    )
    symbol = read_model(proto)[0]
    assert "BlockGrad" not in {node.operator.name for node in symbol.graph.nodes if not node.is_variable}


def test_shifts_and_casts_go_back_to_onnx() -> None:
    text = 'g (uint16[4] a, uint16[4] b) => (uint16[4] y) { c = Sub (a, b)\n y = BitShift <direction = "LEFT"> (c, b) }'
    a, b = np.array([0, 1, 65535, 7], np.uint16), np.array([1, 3, 2, 15], np.uint16)
    symbol = read_model(model(text))[0]
    written = ir.to_proto(to_onnx(symbol, {}, {"a": (4,), "b": (4,)}, {"a": "int32", "b": "int32"}))
    (found,) = ReferenceEvaluator(written).run(None, {"a": a.astype(np.int32), "b": b.astype(np.int32)})
    np.testing.assert_array_equal(found, (a - b) << b)


def test_types_that_cannot_be_cast_through_another() -> None:
    through = mx.sym.generated._onnx_cast_through
    rows = [
        ("uint16", "float32", "int32 or int64"),
        ("uint32", "int32", "int64"),
        ("float8e5m2", "int32", "float32 or float64"),
    ]
    for kind, dtype, wanted in rows:
        symbol = through(mx.sym.var("x"), kind=kind)
        says = f"data must be {wanted} to be cast through {kind}; got {dtype}"
        with pytest.raises(MXNetError, match=says):
            symbol.simple_bind(mx.cpu(), x=(3,), type_dict={"x": dtype}).forward()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("g (uint64[1] x) => (uint64[1] y) { y = Add (x, c) }", "below 2\\*\\*63; got 9223372036854775808"),
        ("g (uint64[1] x) => (uint64[1] y) { y = BitwiseNot (x) }", "results of 2\\*\\*63 and more"),
        ("g (uint8[1] x) => (float8e5m2[1] y) { y = BitCast <to = 19> (x) }", "the bits of float8e5m2"),
    ],
)
def test_what_does_not_fit_is_refused(text: str, says: str) -> None:
    proto: Any = model(text, opset=26)
    proto.graph.initializer.append(numpy_helper.from_array(np.array([2**63], np.uint64), "c"))
    with pytest.raises(MXNetError, match=says):
        read_model(proto)
