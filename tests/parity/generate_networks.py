"""Record the networks: shapes, outputs, gradients, auxiliary states, and parameters after some training."""

from __future__ import annotations

from typing import Any

import numpy as np

from .golden import NETWORKS, Arrays, join, write_arrays, write_manifest
from .networks import NETWORKS as ALL_NETWORKS
from .networks import Network, build
from .oracle import mx, origin, settle, to_mxnet, to_numpy

STEPS = 3
OPTIMIZERS: dict[str, dict[str, float]] = {
    "sgd": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01},
    "adam": {"learning_rate": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "wd": 0.01},
}


def draw_parameter(name: str, shape: tuple[int, ...], random: np.random.RandomState) -> np.ndarray:
    """Draw a parameter; the parts of BatchNorm get values that are told apart from their defaults."""
    if name.endswith(("_gamma", "_moving_var")):
        value = random.uniform(0.5, 1.5, shape)
    elif len(shape) > 1:
        value = random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
    else:
        value = 0.1 * random.standard_normal(shape)
    return value.astype(np.float32)


def gradient_requests(network: Network, arguments: list[str]) -> dict[str, str]:
    """Ask for every gradient that MXNet defines: labels and token numbers have none."""
    without = set(network.labels) | {name for name, spec in network.data.items() if spec.kind == "integers"}
    return {name: "null" if name in without else "write" for name in arguments}


def record_network(network: Network, seed: int) -> tuple[dict[str, Any], Arrays]:
    """Run one network and return its manifest entry and its arrays."""
    random = np.random.RandomState(seed)
    symbol = build(mx, network)
    arguments, auxiliaries = symbol.list_arguments(), symbol.list_auxiliary_states()
    shapes, output_shapes, auxiliary_shapes = symbol.infer_shape(**network.input_shapes)
    parameters = {
        name: draw_parameter(name, shape, random)
        for name, shape in zip(arguments, shapes)
        if name not in network.inputs
    }
    states = {name: draw_parameter(name, shape, random) for name, shape in zip(auxiliaries, auxiliary_shapes)}
    batches = [{name: spec.draw(random) for name, spec in network.inputs.items()} for _ in range(STEPS)]

    arrays = {**join("parameter", parameters), **join("state", states)}
    for index, batch in enumerate(batches):
        arrays.update(join(f"batch{index}", batch))
    requests = gradient_requests(network, arguments)
    arrays.update(run_executor(symbol, {**parameters, **batches[0]}, states, requests))
    for name, options in OPTIMIZERS.items():
        arrays.update(train(network, symbol, parameters, states, batches, name, options))

    entry = {
        "data": {name: list(spec.shape) for name, spec in network.data.items()},
        "labels": {name: list(spec.shape) for name, spec in network.labels.items()},
        "arguments": {name: list(shape) for name, shape in zip(arguments, shapes)},
        "outputs": {name: list(shape) for name, shape in zip(symbol.list_outputs(), output_shapes)},
        "auxiliary_states": {name: list(shape) for name, shape in zip(auxiliaries, auxiliary_shapes)},
        "grad_req": requests,
        "attributes": symbol.attr_dict(),
    }
    return entry, arrays


def run_executor(symbol: Any, arguments: Arrays, states: Arrays, requests: dict[str, str]) -> Arrays:
    """Bind, run an inference forward, then a training step; record outputs, gradients and states."""
    gradients = {
        name: mx.nd.zeros(arguments[name].shape) for name, request in requests.items() if request != "null"
    }
    executor = symbol.bind(mx.cpu(), to_mxnet(arguments), gradients, requests, to_mxnet(states))
    names = symbol.list_outputs()
    executor.forward(is_train=False)
    inference = to_numpy(dict(zip(names, executor.outputs)))
    executor.forward(is_train=True)
    training = to_numpy(dict(zip(names, executor.outputs)))
    executor.backward()
    settle()
    return {
        **join("inference", inference),
        **join("training", training),
        **join("gradient", to_numpy(gradients)),
        **join("state_after", to_numpy(executor.aux_dict)),
    }


def train(
    network: Network,
    symbol: Any,
    parameters: Arrays,
    states: Arrays,
    batches: list[Arrays],
    optimizer: str,
    options: dict[str, float],
) -> Arrays:
    """Train with a Module for one step on each batch and record what the parameters have become."""
    module = mx.mod.Module(
        symbol, data_names=list(network.data), label_names=list(network.labels), context=mx.cpu()
    )
    module.bind(
        [(name, spec.shape) for name, spec in network.data.items()],
        [(name, spec.shape) for name, spec in network.labels.items()],
    )
    module.init_params(arg_params=to_mxnet(parameters), aux_params=to_mxnet(states))
    module.init_optimizer(
        kvstore=None, optimizer=optimizer, optimizer_params=training_options(network, options)
    )
    for batch in batches:
        module.forward_backward(
            mx.io.DataBatch(
                data=[mx.nd.array(batch[name]) for name in network.data],
                label=[mx.nd.array(batch[name]) for name in network.labels],
            )
        )
        module.update()
    settle()
    trained, trained_states = module.get_params()
    return {
        **join(f"{optimizer}_parameter", to_numpy(trained)),
        **join(f"{optimizer}_state", to_numpy(trained_states)),
    }


def training_options(network: Network, options: dict[str, float]) -> dict[str, float]:
    """Add what a Module would fill in by itself, so that the manifest says all."""
    batch = next(iter(network.data.values())).shape[0]
    return {**options, "rescale_grad": 1.0 / batch}


def generate_networks() -> None:
    """Record every network."""
    manifest: dict[str, Any] = {
        "origin": origin(),
        "steps": STEPS,
        "optimizers": {name: training_options(ALL_NETWORKS[0], o) for name, o in OPTIMIZERS.items()},
        "networks": {},
    }
    for seed, network in enumerate(ALL_NETWORKS):
        entry, arrays = record_network(network, seed)
        manifest["networks"][network.name] = {"seed": seed, **entry}
        write_arrays(NETWORKS / f"{network.name}.npz", arrays)
    write_manifest(NETWORKS / "manifest.json", manifest)
