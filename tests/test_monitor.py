"""Names and figures are compared with MXNet's in ``parity/test_training.py``."""

import gc
import logging

import numpy as np
import pytest

import rebind as mx
from rebind.errors import ArgumentError, NonFiniteError, ParameterError
from rebind.monitor import Monitor, NaNMonitor, root_mean_square

S = mx.sym


def network():
    body = S.FullyConnected(S.var("data"), num_hidden=3, name="fc")
    body = S.log(S.Activation(body, act_type="relu", name="act"), name="likelihood")
    return S.MakeLoss(S.FullyConnected(body, num_hidden=1, name="last"), name="loss")


def module(symbol=None, context=None):
    made = mx.mod.Module(network() if symbol is None else symbol, label_names=None, context=context)
    made.bind([("data", (4, 2))])
    made.init_params(mx.init.One())
    made.init_optimizer()
    return made


def step(made, monitor, value=1.0, update=True):
    monitor.tic()
    made.forward_backward(mx.io.DataBatch([mx.nd.array(np.full((4, 2), value))], []))
    if update:
        made.update()
    return monitor.toc()


@pytest.mark.parametrize(
    ("statistic", "text"),
    [
        (lambda array: array.max(), "2.0\t"),
        (lambda array: [array.max(), array.min()], "2.0\t2.0\t"),
        (lambda array: (array.max(), 3), "2.0\t3\t"),
        (lambda array: 0.5, "0.5\t"),
        (lambda array: array.asnumpy().max(), "2.0\t"),
        (lambda array: array[0], "[2. 2. 2.]\t"),
        (lambda array: None, None),
    ],
)
def test_statistics(statistic, text):
    monitor = Monitor(1, statistic, pattern="act_output")
    made = module()
    made.install_monitor(monitor)
    if text is None:
        with pytest.raises(ArgumentError, match=r"stat_func must return .*; got None for 'act_output'"):
            step(made, monitor)
    else:
        assert step(made, monitor) == [(1, "act_output", text)]


@pytest.mark.parametrize(
    ("interval", "numbers"),
    [
        (1, [[1], [2], [3], [4], [5], [6], [7]]),
        (3, [[1], [], [], [4], [], [], [7]]),
        (10, [[1], [], [], [], [], [], []]),
    ],
)
def test_between_the_intervals_nothing_is_watched(interval, numbers, monkeypatch):
    monitor, made = Monitor(interval, pattern="act_output"), module()
    made.install_monitor(monitor)
    seen = []
    monkeypatch.setattr(monitor, "stat_func", lambda array: seen.append(1) or 0)
    assert [[number for number, _, _ in step(made, monitor)] for _ in range(7)] == numbers
    assert len(seen) == sum(map(len, numbers))
    assert monitor.toc() == []


def test_forward_outside_of_a_batch_is_not_seen():
    monitor, made = Monitor(1), module()
    made.install_monitor(monitor)
    made.forward(mx.io.DataBatch([mx.nd.ones((4, 2))], []), is_train=False)
    assert monitor.queue == [] and monitor.toc() == []


@pytest.mark.parametrize("ordered", [True, False])
def test_states_are_shown_and_names_sorted_where_asked(ordered):
    net = S.MakeLoss(S.BatchNorm(S.var("data"), name="bn"))
    monitor, made = Monitor(1, pattern="bn_", sort=ordered), module(net)
    made.install_monitor(monitor)
    names = [name for _, name, _ in step(made, monitor)]
    assert (names == sorted(names)) is ordered
    assert {"bn_moving_mean", "bn_moving_var", "bn_gamma"} <= set(names)


@pytest.mark.parametrize("batches", [1, 2])
def test_print(batches, caplog):
    caplog.set_level(logging.INFO)
    monitor, made = Monitor(1, pattern="act_output"), module()
    made.install_monitor(monitor)
    for _ in range(batches):
        monitor.tic()
        made.forward_backward(mx.io.DataBatch([mx.nd.ones((4, 2))], []))
        monitor.toc_print()
    assert caplog.messages == [
        f"Batch: {number + 1:7d} act_output                     2.0\t" for number in range(batches)
    ]


@pytest.mark.parametrize("devices", [1, 2])
def test_fit_logs_every_device_and_batch(devices, caplog):
    caplog.set_level(logging.INFO)
    made = mx.mod.Module(network(), label_names=None, context=[mx.cpu(k) for k in range(devices)])
    data = mx.io.NDArrayIter(np.ones((8, 2)), batch_size=4)
    made.fit(data, num_epoch=1, monitor=Monitor(1, pattern="act_output"), initializer=mx.init.One(),
             eval_metric="loss")  # fmt: skip
    assert sum("act_output" in line for line in caplog.messages) == 2 * devices


class Old:
    """An executor of someone else's, which knows MXNet's two arguments only."""

    arg_dict = {"w": mx.nd.ones((2,))}
    aux_dict = {"none": None}

    def set_monitor_callback(self, callback, monitor_all=False):
        self.callback = callback


@pytest.mark.parametrize("monitor", (Monitor(1), NaNMonitor()))
def test_an_executor_of_another_kind(monitor):
    old = Old()
    monitor.install(old)
    monitor.install(old)
    monitor.tic()
    old.callback("a_output", mx.nd.array([np.nan]))
    found = monitor.toc()
    if isinstance(monitor, NaNMonitor):
        assert found == [(1, "a_output", "there are 1 NaN and 0 inf in a_output, 1 numbers")]
    else:
        assert found == [(1, "a_output", "nan\t"), (1, "w", "1.0\t")]


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        *(([3, -3], dtype, 3) for dtype in ("float16", "float32", "float64", "int32")),
        # The squares do not fit into float16.
        ([60000, 60000], "float16", 60000),
        ([], "float32", 0),
    ],
)
def test_default_statistic(values, dtype, expected):
    found = root_mean_square(mx.nd.array(np.array(values), dtype=dtype)).asnumpy()
    assert found.tolist() == [pytest.approx(expected)]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Monitor(0), "Monitor: interval must be an int >= 1; got 0"),
        (lambda: Monitor(1.5), "interval must be an int >= 1; got 1.5"),
        (lambda: Monitor(1, pattern="("), r"pattern must be a regular expression; got '\('"),
        (lambda: Monitor(1, pattern=None), "pattern must be a regular expression; got None"),
        (lambda: NaNMonitor(0), "NaNMonitor: interval must be"),
    ],
)
def test_bad_settings(make, says):
    with pytest.raises(ParameterError, match=says):
        make()


@pytest.mark.parametrize("devices", [1, 2])
def test_finite_numbers_log_nothing(devices, caplog):
    monitor, made = NaNMonitor(), module(context=[mx.cpu(k) for k in range(devices)])
    made.install_monitor(monitor)
    assert step(made, monitor) == []
    monitor.tic()
    monitor.toc_print()
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (
            -2.0,
            "the forward pass of log 'likelihood' gives 0 NaN and 12 inf in likelihood_output, 12 numbers",
        ),
        (np.nan, "8 NaN and 0 inf came in with data, 8 numbers"),
    ],
)
def test_forward(value, says):
    monitor, made = NaNMonitor(), module()
    made.install_monitor(monitor)
    assert [text for _, _, text in step(made, monitor, value)] == [says]


@pytest.mark.parametrize(("inf", "names"), [(True, ["mask"]), (False, [])])
def test_infinite_numbers_need_not_count(inf, names):
    masked = S.sum(S.broadcast_mul(S.var("data"), S.var("mask"), name="masked"), name="total")
    exe = S.BlockGrad(masked, name="out").simple_bind(mx.cpu(), data=(4, 2), mask=(1, 2))
    exe.arg_dict["data"][:] = 1
    exe.arg_dict["mask"][:] = -np.inf
    monitor = NaNMonitor(inf=inf)
    monitor.install(exe)
    monitor.tic()
    exe.forward(is_train=True)
    assert [name for _, name, _ in monitor.toc()] == names


def test_backward():
    """The root of 0 is finite, its derivative is not; and 0 times that is NaN further down."""
    body = S.sqrt(S.FullyConnected(S.var("data"), num_hidden=2, no_bias=True, name="fc"), name="root")
    monitor, made = NaNMonitor(stop=True), module(S.MakeLoss(body, name="loss"))
    made.install_monitor(monitor)
    assert step(made, monitor) == []
    monitor.tic()
    made.forward_backward(mx.io.DataBatch([mx.nd.zeros((4, 2))], []))
    with pytest.raises(
        NonFiniteError,
        match="Batch 2: the backward pass of sqrt 'root' gives 0 NaN and 8 inf in root_backward_output, 8 numbers",
    ):
        monitor.toc_print()


def test_a_head_gradient_that_is_not_finite():
    exe = S.exp(S.var("x"), name="e").simple_bind(mx.cpu(), x=(1,))
    monitor = NaNMonitor()
    monitor.install(exe)
    monitor.tic()
    exe.forward(is_train=True)
    exe.backward([mx.nd.array([np.nan])])
    assert monitor.toc()[0][2] == (
        "1 NaN and 0 inf came in with the gradient of an output of exp 'e': e_backward_input0, 1 numbers"
    )


@pytest.mark.parametrize("devices", [1, 2])
def test_an_update_that_is_not_finite(devices, caplog):
    monitor, made = NaNMonitor(), module(context=[mx.cpu(k) for k in range(devices)])
    made.install_monitor(monitor)
    made.init_optimizer(optimizer_params={"learning_rate": np.inf}, force_init=True)
    monitor.tic()
    made.forward_backward(mx.io.DataBatch([mx.nd.ones((4, 2))], []))
    made.update()
    monitor.toc_print()
    message, *_ = caplog.messages
    assert len(caplog.messages) == 1
    assert message.startswith("Batch 1: after the update there are ") and "fc_weight" in message


def bucket(length):
    """`log` has as many elements as the batch has steps: below 3 they are all right, in the first."""
    steps = S.SliceChannel(S.var("data"), num_outputs=length, squeeze_axis=True, name="steps")
    total = S.add_n(*(S.log(steps[i], name=f"log{i}") for i in range(length)), name="total")
    scaled = S.broadcast_mul(total, S.var("scale_weight", shape=(1,)), name="scaled")
    return S.MakeLoss(scaled, name="loss"), ["data"], []


def test_in_bucketing():
    made = mx.mod.BucketingModule(bucket, default_bucket_key=2)
    made.bind([("data", (4, 2))], None)
    made.init_params(mx.init.One())
    made.init_optimizer()
    monitor = NaNMonitor()
    made.install_monitor(monitor)
    found = []
    for length, value in ((2, 1), (3, 1), (3, -1), (2, 1)):
        values = np.ones((4, length))
        values[:, -1] = value
        monitor.tic()
        batch = mx.io.DataBatch(
            [mx.nd.array(values)], [], bucket_key=length, provide_data=[("data", (4, length))]
        )
        made.forward_backward(batch)
        found.append([text for _, _, text in monitor.toc()])
    assert found == [
        [],
        [],
        ["the forward pass of log 'log2' gives 4 NaN and 0 inf in log2_output, 4 numbers"],
        [],
    ]
    assert len(monitor.exes) == 2


@pytest.mark.parametrize("make", [lambda: Monitor(1), NaNMonitor], ids=["Monitor", "NaNMonitor"])
def test_executors_that_nobody_holds_are_freed(make):
    monitor = make()
    exe = network().simple_bind(mx.cpu(), data=(4, 2))
    monitor.install(exe)
    assert monitor.exes == [exe]
    del exe
    gc.collect()
    assert monitor.exes == []


def test_arrays_that_executors_share_are_shown_once():
    monitor, made = Monitor(1, pattern="fc_weight"), module()
    made.install_monitor(monitor)
    made.forward(mx.io.DataBatch([mx.nd.ones((2, 2))], []))
    assert len(monitor.exes) == 2
    assert [name for _, name, _ in step(made, monitor)] == ["fc_weight"]


@pytest.mark.parametrize(
    ("statistic", "text"),
    [
        # MXNet 1.9.1 answers these.
        (lambda d: d.max(), "0.33333334\t"),
        (lambda d: mx.nd.norm(d) / 3, "0.19245009\t"),
        (lambda d: d, "[[0.33333334 0.33333334 0.33333334]]\t"),
        (lambda d: [d.max(), d.min()], "0.33333334\t0.33333334\t"),
        (lambda d: d.astype("float64").max(), "0.3333333432674408\t"),
        (lambda d: d.astype("int32").max(), "0\t"),
    ],
)
def test_numbers_as_texts(statistic, text):
    exe = (mx.sym.var("data") * 2).simple_bind(mx.cpu(), data=(1, 3), grad_req="null")
    exe.arg_dict["data"][:] = 1 / 3
    monitor = mx.mon.Monitor(1, statistic, pattern="data")
    monitor.install(exe)
    monitor.tic()
    exe.forward()
    assert [found for _, _, found in monitor.toc()] == [text]
