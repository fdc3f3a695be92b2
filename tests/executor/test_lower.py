import gc
import weakref

import pytest

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.executor import Target, lower

NET = S.Dropout(
    S.Activation(S.FullyConnected(S.var("x"), num_hidden=2, name="fc"), act_type="relu"), name="drop"
)


@pytest.mark.parametrize("training", [False, True])
def test_a_graph_is_lowered_once_for_each_mode(training):
    graph = NET._graph
    plan = lower(graph, Target(training=training))
    assert lower(graph, Target(training=training)) is plan
    assert lower(graph, Target.at(mx.cpu(1), training=training)) is plan
    assert lower(graph, Target(training=not training)) is not plan


@pytest.mark.parametrize("training", [False, True])
def test_executors_of_other_shapes_share_the_plan(training):
    executors = [NET.simple_bind(mx.cpu(), x=(size, 3)) for size in (2, 5)]
    for exe in executors:
        exe.forward(training)
    assert executors[0].runner.plans.get(training) is executors[1].runner.plans.get(training)


@pytest.mark.parametrize("training", [False, True])
def test_a_plan_lives_as_long_as_its_graph(training):
    net = S.var("x") * 3
    graph = weakref.ref(net.graph)
    net.bind(mx.cpu(), [nd.ones((2,))]).forward(training)
    del net
    gc.collect()
    assert graph() is None


def test_what_no_output_needs_is_not_computed():
    x = S.var("x")
    wanted = S.SliceChannel(x, num_outputs=2, name="cut")[0]
    kernels = [step for step in lower(wanted.graph, Target()).code.graph.nodes if step.op == "call_function"]
    assert len(kernels) == 2  # the operator and the choice of its first output


@pytest.mark.parametrize("size", [1, 4])
def test_sizes_that_follow_from_the_arrays_alone(size):
    state = S.zeros(shape=(0, 3), name="state")
    net = S.elemwise_add(S.var("x"), state)
    exe = net.simple_bind(mx.cpu(), x=(size, 3))
    assert exe.forward(x=nd.ones((size, 3)))[0].asnumpy().sum() == 3 * size


DRAWING = {  # where it draws: in inference, in training
    "dropout": (S.Dropout(S.var("x")), False, True),
    "dropout, always": (S.Dropout(S.var("x"), mode="always"), True, True),
    "leaky": (S.LeakyReLU(S.var("x")), False, False),
    "rrelu": (S.LeakyReLU(S.var("x"), act_type="rrelu"), False, True),
    "layers": (S.RNN(S.var("x"), state_size=2, num_layers=2, mode="gru"), False, False),
    "layers with dropout": (
        S.RNN(S.var("x"), state_size=2, num_layers=2, mode="gru", p=0.5),
        False,
        True,
    ),
    "noise": (S.var("x") + S.random.normal(shape=(2, 3, 4)), True, True),
}


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", DRAWING)
def test_a_plan_draws_where_an_operator_does(name, training, traced):
    net, in_inference, in_training = DRAWING[name]
    draws = in_training if training else in_inference
    plan = lower(net.graph, Target(training=training, traced=traced))
    assert plan.draws == draws
    assert (plan.random_source(mx.cpu()) != (None, None)) == draws
    exe = net.simple_bind(mx.cpu(), x=(2, 3, 4))
    for each in exe.arg_arrays:
        each[:] = nd.random.uniform(-1, 1, shape=each.shape)
    found = [[each.asnumpy() for each in exe.forward(training)] for _ in range(2)]
    assert all((one == other).all() for one, other in zip(*found, strict=True)) != draws
