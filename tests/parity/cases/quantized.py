"""Arithmetic with 8-bit whole numbers. No operator here has a gradient.

Left out, since 1.9.1 does not do what it says or is (`docs/differences.md` has the list): the range of a convolution
(given uint8 it is that of int8) and its bias; means of pooling windows that are cut short; products that leave their
range; sums in int32 of an int8 and a uint8 array; uint8 data of batch normalization, and its ``eps`` where that is
large. `_contrib_quantized_rnn` runs on some processors only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .case import Case, Input, between, case, fixed, integers, normal, values, variadic

#: Without oneDNN most of these operators do not run.
ONEDNN = True
#: Some of them fail in training mode; in rebind the mode makes no difference to any of them.
INFERENCE_ONLY = True

LEFT, RIGHT = (-1.0, 2.0), (-0.5, 0.25)


def levels(*shape: int, dtype: str = "int8") -> Input:
    """Levels over the whole range of the type."""
    low, high = (0, 256) if dtype == "uint8" else (-128, 128)
    return integers(low, high, *shape, dtype=dtype)


def ends(pair: tuple[float, float], *names: str) -> dict[str, Input]:
    """Both ends of a range, as two inputs."""
    return {name: values(end) for name, end in zip(names, pair)}


def real(*shape: int) -> Input:
    """Numbers to be quantized."""
    return fixed(normal(*shape))


def conversion() -> Iterable[Case]:
    """From real numbers to levels and back."""
    for pair in ((-1.0, 2.0), (0.0, 1.5), (-3.0, -0.5)):
        for out_type in ("int8", "uint8"):
            given = {"data": real(4, 5), **ends(pair, "min_range", "max_range")}
            yield case("contrib.quantize", given, out_type=out_type)
    for out_type in ("int8", "uint8", "auto"):
        yield case("contrib.quantize_v2", {"data": real(4, 5)}, out_type=out_type)
        for low, high in ((-1.0, 2.0), (0.0, 1.5)):
            yield case(
                "contrib.quantize_v2",
                {"data": real(4, 5)},
                out_type=out_type,
                min_calib_range=low,
                max_calib_range=high,
            )
    for dtype in ("int8", "uint8"):
        yield case("contrib.quantize_v2", {"data": levels(2, 3, dtype=dtype)}, out_type=dtype)
        yield case(
            "contrib.quantize_v2",
            {"data": levels(2, 3, dtype=dtype)},
            out_type=dtype,
            min_calib_range=-1.0,
            max_calib_range=2.0,
        )
        for pair in ((-1.0, 2.0), (0.5, 3.0)):
            given = {"data": levels(4, 5, dtype=dtype), **ends(pair, "min_range", "max_range")}
            yield case("contrib.dequantize", given)
    yield case("contrib.quantize_asym", {"data": real(3, 2, 4)})
    yield case("contrib.quantize_asym", {"data": real(3, 2, 4)}, min_calib_range=-1.0, max_calib_range=0.5)
    sums = {
        "data": integers(-(10**6), 10**6, 4, 5, dtype="int32"),
        **ends((-3000.0, 2000.0), "min_range", "max_range"),
    }
    for out_type in ("int8", "uint8", "auto"):
        yield case("contrib.requantize", sums, out_type=out_type)
        for low, high in ((-1.0, 0.5), (0.0, 0.7)):
            yield case(
                "contrib.requantize", sums, out_type=out_type, min_calib_range=low, max_calib_range=high
            )


def calibration() -> Iterable[Case]:
    """The threshold of least divergence."""
    for size, bins in ((9, 3), (11, 5), (11, 4), (31, 7), (75, 31)):
        edges = values(*(index - size / 2 for index in range(size + 1)))
        given = {"hist": integers(0, 20, size), "hist_edges": edges}
        yield case("contrib.calibrate_entropy", given, num_quantized_bins=bins)
        given = {"hist": integers(0, 3, size), "hist_edges": edges}
        yield case("contrib.calibrate_entropy", given, num_quantized_bins=bins)


def layers() -> Iterable[Case]:
    """Layers on int8 and uint8."""
    fc = "contrib.quantized_fully_connected"
    ranges = {**ends(LEFT, "min_data", "max_data"), **ends(RIGHT, "min_weight", "max_weight")}
    biased = {**ranges, **ends((-0.2, 0.7), "min_bias", "max_bias")}
    for dtype in ("int8", "uint8"):
        data, weight, bias = levels(3, 2, 5, dtype=dtype), levels(4, 10), levels(4)
        yield case(fc, {"data": data, "weight": weight, "bias": bias, **biased}, num_hidden=4)
        yield case(fc, {"data": data, "weight": weight, **ranges}, num_hidden=4, no_bias=True)
        weight = levels(4, 5)
        yield case(fc, {"data": data, "weight": weight, "bias": bias, **biased}, num_hidden=4, flatten=False)
        yield case(
            fc,
            {"data": levels(20, 1100, dtype=dtype), "weight": levels(8, 1100), **ranges},
            num_hidden=8,
            no_bias=True,
        )

        image = {"data": levels(2, 3, 7, 6, dtype=dtype), **ends(LEFT, "min_data", "max_data")}
        pool: dict[str, Any]
        for pool in (
            {"kernel": (2, 2)},
            {"kernel": (3, 3), "stride": (2, 2)},
            {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)},
            {"kernel": (3, 2), "stride": (2, 2), "pad": (1, 0)},
            {"kernel": (2, 2), "global_pool": True},
        ):
            for kind in ("max", "avg"):
                yield case("contrib.quantized_pooling", image, pool_type=kind, **pool)
        yield case(
            "contrib.quantized_pooling",
            image,
            pool_type="avg",
            kernel=(3, 3),
            stride=(2, 2),
            pad=(1, 1),
            count_include_pad=False,
        )
        yield case(
            "contrib.quantized_pooling",
            image,
            pool_type="max",
            kernel=(3, 3),
            stride=(2, 2),
            pooling_convention="full",
        )
        yield case(
            "contrib.quantized_pooling",
            {**image, "data": levels(1, 2, 4, 4, 5, dtype=dtype)},
            pool_type="avg",
            kernel=(2, 2, 3),
            stride=(2, 1, 2),
        )
        yield case("contrib.quantized_flatten", image)
    yield case(
        "contrib.quantized_act",
        {"data": levels(3, 4), **ends(LEFT, "min_data", "max_data")},
        act_type="relu",
    )

    for dtype in ("float32", "int32"):
        given = {
            "data": values(0, 4, -1, 9, 2, dtype=dtype),
            "weight": levels(5, 3),
            **ends(LEFT, "min_weight", "max_weight"),
        }
        yield case("contrib.quantized_embedding", given, input_dim=5, output_dim=3)

    # With this eps it makes no difference that 1.9.1 adds it twice.
    norm = {
        "data": levels(2, 3, 4, 5),
        "gamma": fixed(between(0.5, 1.5, 3)),
        "beta": fixed(between(-1, 1, 3)),
        **ends(LEFT, "min_data", "max_data"),
    }
    calibrated = {"fix_gamma": False, "eps": 1e-5, "min_calib_range": -3.0, "max_calib_range": 4.0}
    yield case("contrib.quantized_batch_norm", norm, **calibrated)
    yield case("contrib.quantized_batch_norm", {**norm, "data": levels(4, 3)}, **calibrated)
    ones = {**norm, "gamma": values(1, 1, 1)}
    yield case(
        "contrib.quantized_batch_norm", ones, **{**calibrated, "fix_gamma": True, "min_calib_range": 0.0}
    )


def elementwise() -> Iterable[Case]:
    """Several arrays at once."""
    for left, right in (("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8"), ("uint8", "int8")):
        pairs = [values(end) for end in (*LEFT, *RIGHT)]
        arrays = [levels(2, 1, 3, 4, dtype=left), levels(2, 2, 3, 4, dtype=right)]
        yield variadic("contrib.quantized_concat", [*arrays, *pairs], num_args=2)
        both = {
            "lhs": levels(2, 1, 3, 4, dtype=left),
            "rhs": levels(2, 1, 3, 4, dtype=right),
            **ends(LEFT, "lhs_min", "lhs_max"),
            **ends(RIGHT, "rhs_min", "rhs_max"),
        }
        # Without calibration 1.9.1 has 24 of the 31 bits right. With it, the range of the first call is that of all
        # calls for the same shapes and types, and a uint8 array is rounded to int8 beside an int8 one.
        if left == right:
            add = "contrib.quantized_elemwise_add"
            yield case(add, both, min_calib_range=-3.3, max_calib_range=1.0)
            both = {**both, "lhs": levels(2, 5, 3, 4, dtype=left), "rhs": levels(2, 5, 3, 4, dtype=right)}
            yield case(add, both, min_calib_range=0.0, max_calib_range=1.1)
    three = [levels(2, 3), levels(1, 3), levels(4, 3)]
    pairs = [values(end) for end in (-1, 2, -4, 3, 0, 1)]
    yield variadic("contrib.quantized_concat", [*three, *pairs], num_args=3, dim=0)
    both = {
        "lhs": levels(2, 6),
        "rhs": levels(2, 6),
        **ends(LEFT, "lhs_min", "lhs_max"),
        **ends(RIGHT, "rhs_min", "rhs_max"),
    }
    mul = "contrib.quantized_elemwise_mul"
    yield case(mul, both)
    yield case(mul, both, min_calib_range=-3.0, max_calib_range=1.0)
    yield case(mul, both, enable_float_output=True)


FAMILIES = (conversion, calibration, layers, elementwise)
