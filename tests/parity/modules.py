"""Programs with each kind of module, for either package: MXNet runs them to record, rebind to be compared.

A program takes the package and a folder for files, and returns arrays by name.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .golden import Arrays

VOCABULARY, HIDDEN, ROWS = 11, 6, 4
SGD = {"learning_rate": 0.2, "momentum": 0.9, "wd": 0.01}


def draw(shapes: dict[str, tuple[int, ...]], seed: int) -> Arrays:
    """Draw parameters."""
    random = np.random.RandomState(seed)
    return {name: (random.standard_normal(shape) / 2).astype("float32") for name, shape in shapes.items()}


def cpus(mx: Any, count: int) -> list[Any]:
    """Return so many devices."""
    return [mx.cpu(k) for k in range(count)]


def as_arrays(mx: Any, values: Arrays) -> dict[str, Any]:
    """Return values as the package's arrays."""
    return {name: mx.nd.array(value, dtype=value.dtype) for name, value in values.items()}


def read(prefix: str, arrays: dict[str, Any]) -> Arrays:
    """Return the package's arrays as NumPy's, under longer names."""
    return {f"{prefix}/{name}": value.asnumpy() for name, value in arrays.items()}


# ---- buckets -----------------------------------------------------------------------------------------------------

RNN_SHAPES = {
    "embed_weight": (VOCABULARY, HIDDEN),
    "input_weight": (HIDDEN, HIDDEN),
    "input_bias": (HIDDEN,),
    "hidden_weight": (HIDDEN, HIDDEN),
    "hidden_bias": (HIDDEN,),
    "scores_weight": (VOCABULARY, HIDDEN),
    "scores_bias": (VOCABULARY,),
}
LENGTHS = (5, 3, 7, 3, 5, 7)


def unrolled(mx: Any) -> Callable[[int], tuple[Any, tuple[str, ...], tuple[str, ...]]]:
    """Return the networks of a recurrent network of one layer, by the length of the text."""
    sym = mx.sym
    weights = {name: sym.var(name) for name in RNN_SHAPES}

    def network(length: int) -> tuple[Any, tuple[str, ...], tuple[str, ...]]:
        words = sym.Embedding(
            sym.var("data"), weights["embed_weight"], input_dim=VOCABULARY, output_dim=HIDDEN, name="embed"
        )
        steps = sym.SliceChannel(words, num_outputs=length, squeeze_axis=True, axis=1, name="steps")
        state, outputs = None, []
        for t in range(length):
            move = sym.FullyConnected(
                steps[t],
                weights["input_weight"],
                weights["input_bias"],
                num_hidden=HIDDEN,
                name=f"t{t}_input",
            )
            if state is not None:
                back = sym.FullyConnected(
                    state,
                    weights["hidden_weight"],
                    weights["hidden_bias"],
                    num_hidden=HIDDEN,
                    name=f"t{t}_hidden",
                )
                move = sym.elemwise_add(move, back, name=f"t{t}_sum")
            state = sym.Activation(move, act_type="tanh", name=f"t{t}_tanh")
            outputs.append(sym.expand_dims(state, axis=1, name=f"t{t}_out"))
        merged = sym.Reshape(sym.Concat(*outputs, dim=1, name="merged"), shape=(-1, HIDDEN), name="flat")
        scores = sym.FullyConnected(
            merged, weights["scores_weight"], weights["scores_bias"], num_hidden=VOCABULARY, name="scores"
        )
        label = sym.Reshape(sym.var("softmax_label"), shape=(-1,), name="labels")
        return sym.SoftmaxOutput(scores, label, name="softmax"), ("data",), ("softmax_label",)

    return network


def text(mx: Any, length: int, seed: int) -> Any:
    """Return a batch of texts of one length."""
    words = np.random.RandomState(seed).randint(0, VOCABULARY, (ROWS, length + 1)).astype("float32")
    return mx.io.DataBatch(
        [mx.nd.array(words[:, :-1])],
        [mx.nd.array(words[:, 1:])],
        bucket_key=length,
        provide_data=[mx.io.DataDesc("data", (ROWS, length))],
        provide_label=[mx.io.DataDesc("softmax_label", (ROWS, length))],
    )


def bucketing(
    mx: Any, folder: Path, devices: int, kvstore: str | None, optimizer: str, params: dict[str, Any]
) -> Arrays:
    """Train on three lengths in turn; the files of a checkpoint too."""
    module = mx.mod.BucketingModule(unrolled(mx), default_bucket_key=7, context=cpus(mx, devices))
    module.bind([("data", (ROWS, 7))], [("softmax_label", (ROWS, 7))])
    module.init_params(arg_params=as_arrays(mx, draw(RNN_SHAPES, 1)), aux_params={})
    module.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=params)
    found: Arrays = {}
    metric = mx.metric.create("ce")
    for step, length in enumerate(LENGTHS):
        batch = text(mx, length, step)
        module.forward_backward(batch)
        module.update()
        labels = [label.reshape((-1,)) for label in batch.label] if devices == 1 else None
        if labels is not None:
            metric.update(labels, module.get_outputs())
        found[f"output/{step}"] = module.get_outputs()[0].asnumpy()
    found["metric"] = np.array([metric.get()[1]])
    found.update(read("weight", module.get_params()[0]))
    prefix = str(folder / "rnn")
    module.save_checkpoint(prefix, 2)
    for path in sorted(folder.iterdir()):
        if not path.name.endswith(".params"):
            found[f"file/{path.name}"] = np.frombuffer(path.read_bytes(), dtype="uint8")
    found["files"] = np.array(sorted(path.name for path in folder.iterdir()))
    found.update(
        {f"saved/{name}": value.asnumpy() for name, value in mx.nd.load(f"{prefix}-0002.params").items()}
    )
    return found


# ---- chains ------------------------------------------------------------------------------------------------------

CHAIN_SHAPES = {
    "body_weight": (6, 5),
    "body_bias": (6,),
    "norm_gamma": (6,),
    "norm_beta": (6,),
    "head_weight": (3, 6),
    "head_bias": (3,),
}


def body(mx: Any, devices: int = 1) -> Any:
    """Return a module that makes six features of five."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=6, name="body")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, fix_gamma=False, name="norm"), act_type="tanh", name="bend")
    return mx.mod.Module(net, label_names=None, context=cpus(mx, devices))


def head(mx: Any, loss: bool = True, devices: int = 1) -> Any:
    """Return a module that makes three scores of six features."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="head")
    if loss:
        net = mx.sym.SoftmaxOutput(net, name="softmax")
    return mx.mod.Module(net, label_names=["softmax_label"] if loss else None, context=cpus(mx, devices))


def points(mx: Any) -> Any:
    """Return an iterator over points and their classes."""
    random = np.random.RandomState(3)
    data = random.standard_normal((16, 5)).astype("float32")
    return mx.io.NDArrayIter(data, random.randint(0, 3, 16).astype("float32"), batch_size=8)


def fit_chain(mx: Any, chain: Any) -> Arrays:
    """Train a chain for two epochs."""
    data = points(mx)
    chain.bind(data.provide_data, data.provide_label)
    shapes = CHAIN_SHAPES
    states = {"norm_moving_mean": np.zeros(6, "float32"), "norm_moving_var": np.ones(6, "float32")}
    chain.init_params(
        arg_params=as_arrays(mx, draw(shapes, 2)), aux_params=as_arrays(mx, states), allow_missing=False
    )
    chain.init_optimizer(optimizer_params=SGD)
    found: Arrays = {}
    metric = mx.metric.create("acc")
    for epoch in range(2):
        data.reset()
        for step, batch in enumerate(data):
            chain.forward_backward(batch)
            chain.update()
            chain.update_metric(metric, batch.label)
            found[f"output/{epoch}-{step}"] = chain.get_outputs()[0].asnumpy()
    mx.nd.waitall()
    args, aux = chain.get_params()
    found["metric"] = np.array([metric.get()[1]])
    return {**found, **read("weight", args), **read("state", aux)}


def sequential(mx: Any, folder: Path, devices: int = 1) -> Arrays:
    """Train a chain of two networks."""
    chain = mx.mod.SequentialModule()
    chain.add(body(mx, devices)).add(head(mx, True, devices), take_labels=True, auto_wiring=True)
    return fit_chain(mx, chain)


def python_loss(mx: Any, folder: Path) -> Arrays:
    """Train two networks with a hinge loss in NumPy."""

    def hinge(scores: Any, labels: Any) -> Any:
        values, right = scores.asnumpy(), labels.asnumpy().astype(int)
        rows = np.arange(len(values))
        over = (values - values[rows, right][:, None] + 1 > 0).astype("float32")
        over[rows, right] = 0
        over[rows, right] = -over.sum(axis=1)
        return over

    chain = mx.mod.SequentialModule()
    chain.add(body(mx)).add(head(mx, loss=False), auto_wiring=True)
    chain.add(mx.mod.PythonLossModule(grad_func=hinge), take_labels=True, auto_wiring=True)
    return fit_chain(mx, chain)


# ---- several devices ---------------------------------------------------------------------------------------------


def network(mx: Any) -> Any:
    """Return a network of two layers, each in a group of its own."""
    with mx.AttrScope(ctx_group="first"):
        net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=6, name="body")
        net = mx.sym.Activation(net, act_type="tanh", name="bend")
    with mx.AttrScope(ctx_group="second"):
        return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3, name="head"), name="softmax")


def plain_parameters() -> Arrays:
    """Return the parameters of `network`."""
    return {name: value for name, value in draw(CHAIN_SHAPES, 2).items() if "norm" not in name}


def model_parallel(mx: Any, folder: Path, devices: int) -> Arrays:
    """Train a network whose layers are on different devices."""
    spread = cpus(mx, 2 * devices)
    places = {"first": spread[:devices], "second": spread[devices:]}
    module = mx.mod.Module(network(mx), context=spread[:devices], group2ctxs=places)
    data = points(mx)
    module.bind(data.provide_data, data.provide_label)
    module.init_params(arg_params=as_arrays(mx, plain_parameters()), aux_params={})
    module.init_optimizer(optimizer_params=SGD)
    for _ in range(2):
        data.reset()
        for batch in data:
            module.forward_backward(batch)
            module.update()
    return read("weight", module.get_params()[0])


def manager(mx: Any, folder: Path) -> Arrays:
    """Compute gradients with the executor manager on devices with unequal shares."""
    net, data = network(mx), points(mx)
    made = mx.executor_manager.DataParallelExecutorManager(
        net,
        cpus(mx, 3),
        data,
        net.list_arguments(),
        [name for name in net.list_arguments() if name.endswith(("_weight", "_bias"))],
        net.list_auxiliary_states(),
        work_load_list=[1, 2, 3],
    )
    made.set_params(as_arrays(mx, plain_parameters()), {})
    found: Arrays = {"slices": np.array([[part.start, part.stop] for part in made.slices])}
    metric = mx.metric.create("ce")
    for step, batch in enumerate(data):
        made.load_data_batch(batch)
        made.forward(is_train=True)
        made.backward()
        made.update_metric(metric, batch.label)
        for name, grads in zip(made.param_names, made.grad_arrays):
            for k, grad in enumerate(grads):
                found[f"gradient/{step}-{name}-{k}"] = grad.asnumpy()
    found["metric"] = np.array([metric.get()[1]])
    weights = as_arrays(mx, plain_parameters())
    made.param_arrays[0][1][:] = 0.5
    made.copy_to(weights, {})
    return {**found, **read("weight", weights)}


def states(mx: Any, folder: Path) -> Arrays:
    """Carry a state from batch to batch on two devices."""
    state = mx.sym.var("state")
    moved = mx.sym.FullyConnected(mx.sym.var("data") + state, num_hidden=5, name="move")
    net = mx.sym.Group([mx.sym.Activation(moved, act_type="tanh", name="out"), mx.sym.BlockGrad(moved)])
    module = mx.mod.Module(net, label_names=None, state_names=["state"], context=cpus(mx, 2))
    module.bind([("data", (4, 5))], for_training=False)
    module.init_params(
        arg_params=as_arrays(mx, draw({"move_weight": (5, 5), "move_bias": (5,)}, 4)), aux_params={}
    )
    module.set_states(value=0.25)
    found: Arrays = {}
    for step in range(3):
        data = np.random.RandomState(step).standard_normal((4, 5)).astype("float32")
        module.forward(mx.io.DataBatch([mx.nd.array(data)], []), is_train=False)
        found[f"output/{step}"] = module.get_outputs()[0].asnumpy()
        module.set_states(states=[module.get_outputs(merge_multi_context=False)[1]])
    parts = module.get_states(merge_multi_context=False)[0]
    return {**found, "state": np.concatenate([part.asnumpy() for part in parts])}


def shared(mx: Any, folder: Path) -> Arrays:
    """Train two modules for batches of two sizes that share parameters and optimizer; reshape one."""
    net = network(mx)
    data = points(mx)
    first = mx.mod.Module(net)
    first.bind(data.provide_data, data.provide_label)
    first.init_params(arg_params=as_arrays(mx, plain_parameters()), aux_params={})
    first.init_optimizer(optimizer_params=SGD)
    second = mx.mod.Module(net)
    second.bind([("data", (3, 5))], [("softmax_label", (3,))], shared_module=first)
    whole = next(data)
    half = mx.io.DataBatch([whole.data[0][:3]], [whole.label[0][:3]])
    for module, batch in ((first, whole), (second, half), (first, whole), (second, half)):
        module.forward_backward(batch)
        module.update()
    second.reshape([("data", (2, 5))], [("softmax_label", (2,))])
    second.forward(mx.io.DataBatch([whole.data[0][:2]], [whole.label[0][:2]]), is_train=False)
    return {
        **read("weight", first.get_params()[0]),
        "output": second.get_outputs()[0].asnumpy(),
    }


ADAM = {"learning_rate": 0.05, "wd": 0.01}

#: What is recorded, by name. Programs on several devices record what MXNet computes on them.
PROGRAMS: dict[str, Callable[[Any, Path], Arrays]] = {
    "bucketing-sgd": lambda mx, folder: bucketing(mx, folder, 1, "local", "sgd", SGD),
    "bucketing-adam": lambda mx, folder: bucketing(mx, folder, 1, None, "adam", ADAM),
    "bucketing-devices": lambda mx, folder: bucketing(mx, folder, 2, "local", "sgd", SGD),
    "sequential": sequential,
    "python-loss": python_loss,
    "model-parallel-1": lambda mx, folder: model_parallel(mx, folder, 1),
    "model-parallel-2": lambda mx, folder: model_parallel(mx, folder, 2),
    "manager": manager,
    "states": states,
    "shared": shared,
}
