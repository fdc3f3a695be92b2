"""FeedForward: first values, training and what is logged, callbacks, files."""

import copy
import logging
import pickle

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.callback import BatchCallback, EpochCallback, StopTraining
from rebind.model import FeedForward
from rebind.model.following import Epochs

ROWS = 22
RANDOM = np.random.RandomState(0)
POINTS = RANDOM.rand(ROWS, 3).astype("float32")
CLASSES = (POINTS[:, 0] > POINTS[:, 1]).astype("float32")
NET = S.SoftmaxOutput(S.FullyConnected(S.var("data"), num_hidden=2, name="fc"), name="softmax")
NORMED = S.SoftmaxOutput(
    S.FullyConnected(S.Dropout(S.BatchNorm(S.var("data"), name="bn"), p=0.5), num_hidden=2, name="fc"),
    name="softmax",
)


def model(net=NET, **kwargs):
    return FeedForward(net, **{"numpy_batch_size": 4, "num_epoch": 2, "learning_rate": 0.5, **kwargs})


def batches(size=4, rows=ROWS, **kwargs):
    return mx.io.NDArrayIter(POINTS[:rows], CLASSES[:rows], size, **kwargs)


def weight(of):
    return of.arg_params["fc_weight"].asnumpy()


def ones(value=1.0):
    return {"fc_weight": nd.full((2, 3), value), "fc_bias": nd.zeros((2,))}


@pytest.mark.parametrize(
    ("again", "expected"),
    [
        pytest.param({"data": (4, 3), "softmax_label": (4,)}, 0.5, id="what fits stays"),
        pytest.param({"data": (9, 3), "softmax_label": (9,)}, 0.5, id="for any batch size"),
        pytest.param(
            {"data": (4, 3), "softmax_label": (4,), "overwrite": True}, 0.7, id="unless overwritten"
        ),
    ],
)
def test_init_model(again, expected):
    made = model()
    names = made.init_model(mx.init.Constant(0.5), data=(4, 3), softmax_label=(4,))
    assert names == (["data", "fc_weight", "fc_bias", "softmax_label"], ["fc_weight", "fc_bias"], [])
    assert weight(made).tolist() == [[0.5] * 3] * 2
    made.init_model(mx.init.Constant(0.7), **again)
    assert np.allclose(weight(made), expected, atol=1e-7)


def test_init_model_initialises_what_does_not_fit_and_drops_what_is_not_there():
    made = model(
        NORMED,
        arg_params={**ones(), "other": nd.ones((1,)), "bn_gamma": nd.full((3,), 2.0)},
        aux_params={
            "bn_moving_mean": nd.ones((7,)),
            "bn_moving_var": nd.full((3,), 4.0),
            "more": nd.ones((1,)),
        },
    )
    with pytest.warns(UserWarning, match=r"'bn_moving_mean' has shape \(7,\), the network needs \(3,\)"):
        made.init_model(data=(4, 3), softmax_label=(4,))
    assert sorted(made.arg_params) == ["bn_beta", "bn_gamma", "fc_bias", "fc_weight"]
    assert made.arg_params["bn_gamma"].asnumpy().tolist() == [2, 2, 2]
    assert sorted(made.aux_params) == ["bn_moving_mean", "bn_moving_var"]
    assert made.aux_params["bn_moving_mean"].asnumpy().tolist() == [0, 0, 0]
    assert made.aux_params["bn_moving_var"].asnumpy().tolist() == [4, 4, 4]


def test_a_second_fit_with_data_of_another_width_names_the_data():
    """MXNet stops there, in words on broadcasting."""
    made = model(num_epoch=1)
    made.fit(np.ones((8, 3), np.float32), np.zeros(8))
    with pytest.warns(
        UserWarning, match=r"'fc_weight' has shape \(2, 3\), the network needs \(2, 5\) .* 'data' \(4, 5\)"
    ):
        made.fit(np.ones((8, 5), np.float32), np.zeros(8))
    assert weight(made).shape == (2, 5)


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({"dat": (4, 3)}, "inputs must be arguments of the network; got 'dat'"),
        ({"softmax_label": (4,)}, "shapes"),
    ],
    ids=["an unknown input", "too few inputs"],
)
def test_init_model_needs_inputs_of_the_network(inputs, says):
    with pytest.raises(ValueError, match=says):
        model().init_model(**inputs)


def test_an_initializer_on_the_variable_wins():
    net = S.FullyConnected(S.var("data"), S.var("w", init=mx.init.One()), num_hidden=1, no_bias=True)
    made = model(net)
    made.init_model(mx.init.Zero(), data=(1, 2))
    assert made.arg_params["w"].asnumpy().tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, 1, id="by default"),
        pytest.param({"initializer": mx.init.Constant(3.0)}, 1, id="with an initializer"),
        pytest.param({"initializer": mx.init.Constant(3.0), "force_init": True}, 3, id="force_init"),
    ],
)
def test_fit_starts_from_what_is_there_unless_forced(settings, expected):
    made = model(arg_params=ones(), learning_rate=0.0)
    made.fit(POINTS, CLASSES)
    assert (weight(made) == 1).all()
    made.fit(POINTS, CLASSES, **settings)
    assert (weight(made) == expected).all()


@pytest.mark.parametrize(
    ("settings", "of_fit", "epochs"),
    [
        ({}, {}, 10),
        ({"num_epoch": 3}, {}, 3),
        ({"num_epoch": 3}, {"num_epoch": 1}, 1),
        ({"begin_epoch": 30}, {}, 10),
    ],
    ids=["ten by default", "of the model", "of fit", "ten from any start"],
)
def test_the_number_of_epochs(settings, of_fit, epochs):
    history = FeedForward(NET, **settings).fit(POINTS, CLASSES, **of_fit)
    assert len(history["train"]["accuracy"]) == epochs


def test_it_learns():
    mx.random.seed(2)  # of one first network in twelve a point is left at the border
    np.random.seed(2)  # the order of the samples
    made = model(learning_rate=1.0, num_epoch=40)
    history = made.fit(POINTS, CLASSES, eval_data=(POINTS, CLASSES))
    assert history["validation"]["accuracy"][-1] > 0.9
    assert FeedForward.train is FeedForward.fit


def test_create():
    made = FeedForward.create(
        NET, POINTS, CLASSES, num_epoch=1, numpy_batch_size=4, eval_data=(POINTS, CLASSES), learning_rate=0.0,
        initializer=mx.init.One(),
    )  # fmt: skip
    assert (
        isinstance(made, FeedForward) and (weight(made) == 1).all() and made.kwargs == {"learning_rate": 0.0}
    )


@pytest.mark.parametrize(
    ("points", "labels"),
    [(nd.array(POINTS), CLASSES), (POINTS, CLASSES[:, None]), (nd.array(POINTS), CLASSES[:, None])],
    ids=["an NDArray", "a column of labels", "both"],
)
def test_arrays_of_several_kinds_train_the_same(points, labels):
    trained = []
    for x, y, validation in (
        (POINTS, CLASSES, (POINTS, CLASSES)),
        (points, labels, (POINTS.tolist(), CLASSES.tolist())),
    ):
        np.random.seed(0)
        trained.append(model(arg_params=ones()))
        trained[-1].fit(x, y, eval_data=validation)
    assert np.array_equal(weight(trained[0]), weight(trained[1]))


def test_arrays_go_to_the_only_arguments_of_their_kind():
    net = S.LinearRegressionOutput(
        S.FullyConnected(S.var("my_data"), num_hidden=2, name="fc"), name="linear"
    )  # linear_label
    targets = np.stack([POINTS.sum(1), POINTS[:, 0]], 1)
    made = FeedForward(net, num_epoch=60, learning_rate=0.5, numpy_batch_size=4)
    assert made.fit(POINTS, targets, eval_metric="mse")["train"]["mse"][-1] < 0.01
    assert made.score(POINTS, "mse", y=targets) < 0.01


def test_labels_that_only_the_metric_takes():
    net = S.MakeLoss(S.sum(S.square(S.FullyConnected(S.var("data"), num_hidden=2, name="fc")), axis=1))
    seen = []
    metric = mx.metric.np(lambda label, pred: seen.append(label.tolist()) or 0.0)
    model(net).fit(batches(rows=4), eval_metric=metric, num_epoch=1)
    assert seen == [CLASSES[:4].tolist()]


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "says"),
    [
        ((POINTS,), {}, ValueError, "fit: y must be given when X is an array"),
        (
            (POINTS, CLASSES[:5]),
            {},
            ValueError,
            r"X and y must have equal numbers of rows; got shapes \(22, 3\) and \(5,\)",
        ),
        (([1, 2], CLASSES), {}, TypeError, "X: y is for arrays; list has labels of its own"),
        (
            (POINTS, CLASSES, POINTS),
            {},
            TypeError,
            r"eval_data must be an iterator, .* a pair of arrays \(data, labels\); got ndarray without",
        ),
        ((POINTS, CLASSES, (POINTS,)), {}, TypeError, r"pair of arrays \(data, labels\); got 1 items"),
        (
            (POINTS, CLASSES),
            {"lr_decay": "step"},
            ValueError,
            "lr_decay must be 'batch' or 'epoch'; got 'step'",
        ),
        ((POINTS, CLASSES), {"verbosity": 4}, ValueError, "verbosity must be 0, 1, 2 or 3; got 4"),
        (
            (POINTS, CLASSES),
            {"callbacks": [print]},
            TypeError,
            "callbacks must hold callback.BatchCallback and",
        ),
        ((POINTS, CLASSES), {"sumthing": 1}, TypeError, "sumthing"),
    ],
)
def test_what_fit_refuses(arguments, keywords, error, says):
    with pytest.raises(error, match=says):
        model().fit(*arguments, **keywords)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"symbol": lambda key: NET}, TypeError, "symbol must be a Symbol.*BucketingModule"),
        ({"symbol": NET, "ctx": 0}, TypeError, "ctx must be a Device or a list of them; got 0"),
        ({"symbol": NET, "epoch_size": 0}, ValueError, "epoch_size must be >= 1; got 0"),
        ({"symbol": NET, "numpy_batch_size": 0}, ValueError, "numpy_batch_size must be >= 1; got 0"),
    ],
)
def test_what_the_constructor_refuses(arguments, error, says):
    with pytest.raises(error, match=says):
        FeedForward(**arguments)


@pytest.mark.parametrize(
    ("settings", "same"),
    [
        pytest.param({"rescale_grad": 0}, True, id="0 is no value"),
        pytest.param({"rescale_grad": 0.25}, True, id="one over the batch size"),
        pytest.param({"rescale_grad": 1.0}, False, id="another value"),
    ],
)
def test_the_gradient_is_divided_by_the_batch_size_by_default(settings, same):
    def trained(**kwargs):
        made = model(arg_params=ones(), num_epoch=1, **kwargs)
        made.fit(batches(rows=8))
        return weight(made)

    assert np.array_equal(trained(), trained(**settings)) is same


def test_an_optimizer_comes_back_as_it_was():
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5)
    optimizer = mx.optimizer.SGD(learning_rate=0.5, rescale_grad=0, lr_scheduler=schedule)
    made = FeedForward(NET, num_epoch=1, optimizer=optimizer, numpy_batch_size=4, arg_params=ones())
    made.fit(batches(rows=8), lr_decay="epoch")
    assert optimizer.rescale_grad == 0 and optimizer.lr_scheduler is schedule
    other = model(arg_params=ones(), num_epoch=1)
    other.fit(batches(rows=8))
    assert np.array_equal(weight(made), weight(other))


@pytest.mark.parametrize(("decay", "asked"), [("epoch", [4, 4, 5, 5, 6, 6]), ("batch", [1, 2, 3, 4, 5, 6])])
def test_what_the_schedule_is_asked(decay, asked):
    numbers = []

    class Schedule(mx.lr_scheduler.LRScheduler):
        def __call__(self, num_update):
            numbers.append(num_update)
            return 0.1

    made = FeedForward(NET, begin_epoch=4, num_epoch=7, lr_scheduler=Schedule())
    made.fit(batches(rows=8), lr_decay=decay)
    assert sorted(set(numbers)) == sorted(set(asked)) and numbers == sorted(numbers)


@pytest.mark.parametrize(
    ("decay", "expected"),
    # FactorScheduler(1): after the first step comes the first cut.
    [("epoch", [1.0, 1.0, 1.0, 1.0, 0.5, 0.5]), ("batch", [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125])],
)
def test_rates_of_a_schedule(decay, expected):
    schedule = mx.lr_scheduler.FactorScheduler(step=1, factor=0.5, base_lr=1.0)
    rates = []
    made = FeedForward(NET, num_epoch=3, learning_rate=1.0, lr_scheduler=schedule)
    made.fit(
        batches(rows=8),
        lr_decay=decay,
        batch_end_callback=lambda param: rates.append(param.locals["self"]._optimizer.learning_rate),
    )
    assert rates == expected


@pytest.mark.parametrize("key", ["grad", "__grad__"])
@pytest.mark.parametrize("devices", [1, 2])
def test_frozen_parameters_do_not_change(key, devices):
    frozen = S.var("fc_weight", attr={key: "freeze"})
    net = S.SoftmaxOutput(S.FullyConnected(S.var("data"), frozen, num_hidden=2, name="fc"), name="softmax")
    made = model(net, ctx=[mx.cpu(k) for k in range(devices)], arg_params=ones(), wd=0.5)
    made.fit(POINTS, CLASSES)
    assert (weight(made) == 1).all() and made.arg_params["fc_bias"].asnumpy().any()


@pytest.mark.parametrize("size", [1, 3, 6, 8])
def test_epochs_of_a_size(size):
    counts = []
    made = model(epoch_size=size, num_epoch=4)
    made.fit(batches(), batch_end_callback=lambda param: counts.append((param.epoch, param.nbatch)))
    assert counts == [(epoch, n) for epoch in range(4) for n in range(1, size + 1)]


def test_a_size_for_data_without_batches_is_an_error():
    class Empty:
        provide_data, provide_label = batches().provide_data, batches().provide_label

        def __iter__(self):
            return iter(())

    with pytest.raises(mx.MXNetError, match="must yield at least one batch in epoch 0"):
        model(epoch_size=3).fit(Empty())


def test_any_batch_size_for_the_validation_and_auxiliary_states_stay():
    def trained(**kwargs):
        np.random.seed(0)
        mx.random.seed(0)
        made = model(NORMED, initializer=mx.init.Xavier(), num_epoch=1)
        made.fit(batches(), **kwargs)
        return made

    alone = trained()
    beside = trained(eval_data=batches(7))
    for name, value in alone.aux_params.items():
        assert np.array_equal(value.asnumpy(), beside.aux_params[name].asnumpy())
    # In inference mode: the figure is the one that score gives.
    history = model(
        NORMED, arg_params=beside.arg_params, aux_params=beside.aux_params, learning_rate=0.0
    ).fit(batches(), eval_data=batches(9), num_epoch=1, eval_metric="ce")
    assert len(history["validation"]["cross-entropy"]) == 1


def trained_on(devices, **settings):
    np.random.seed(0)
    made = model(ctx=[mx.cpu(k) for k in range(devices)], arg_params=ones(), momentum=0.9)
    made.fit(POINTS, CLASSES, **settings)
    return weight(made)


@pytest.mark.parametrize(
    ("devices", "shares"), [(2, None), (4, None), (2, [1, 3])], ids=["two", "four", "uneven"]
)
def test_several_devices_give_what_one_gives(devices, shares):
    assert np.allclose(trained_on(devices, work_load_list=shares), trained_on(1), atol=1e-6)


@pytest.mark.parametrize(
    ("shares", "shapes"), [(None, {(2, 2)}), ([1, 3], {(1, 2), (3, 2)})], ids=["even", "uneven"]
)
def test_a_monitor_sees_the_slices_of_the_devices(shares, shapes):
    seen = []
    monitor = mx.mon.Monitor(
        1, pattern="fc_output", stat_func=lambda array: seen.append(array.shape) or array.sum()
    )
    trained_on(2, work_load_list=shares, monitor=monitor, num_epoch=1)
    assert set(seen) == shapes


@pytest.mark.parametrize(("bound", "kind"), [("6", "local_update_cpu"), ("5", "local_allreduce_cpu")])
def test_the_largest_array_chooses_the_store(bound, kind, monkeypatch, caplog):
    monkeypatch.setenv("MXNET_KVSTORE_BIGARRAY_BOUND", bound)
    stores = []
    made = model(ctx=[mx.cpu(0), mx.cpu(1)], arg_params=ones())
    with caplog.at_level(logging.INFO):
        made.fit(
            batches(),
            batch_end_callback=lambda param: stores.append(
                (param.locals["self"]._kvstore.type, param.locals["self"]._update_on_kvstore)
            ),
        )
    assert set(stores) == {(kind, kind == "local_update_cpu")}
    assert sum(kind in message for message in caplog.messages) == 1


def test_a_second_fit_trains_further_and_leaves_nothing_bound():
    made = model(num_epoch=1)
    made.fit(POINTS, CLASSES)
    first = weight(made)
    made.fit(POINTS, CLASSES)
    assert not np.array_equal(first, weight(made)) and made._predictor is None


START, END = "Start training with [cpu(0), cpu(1)]", "Finish training on [cpu(0), cpu(1)]"
ONCE = ["Initializing parameters", "Chose the store local_update_cpu"]
OF_EPOCH = "Epoch[3] Training"
FIGURES = ["Epoch[3] Train-accuracy", "Epoch[3] Time cost", "Epoch[3] Validation-accuracy"]


@pytest.mark.parametrize(
    ("verbosity", "lines"),
    [
        (0, []),
        (1, [START, END]),
        (2, [START, *ONCE, OF_EPOCH, END]),
        (3, [START, *ONCE, OF_EPOCH, *FIGURES, END]),
    ],
)
@pytest.mark.parametrize("own", [False, True])
def test_verbosity(verbosity, lines, own, caplog):
    logger = logging.getLogger("mine") if own else None
    made = model(ctx=[mx.cpu(0), mx.cpu(1)], begin_epoch=3, num_epoch=4)
    with caplog.at_level(logging.INFO):
        made.fit(batches(), eval_data=batches(), verbosity=verbosity, logger=logger)
    assert [
        record.getMessage()[: len(line)] for record, line in zip(caplog.records, lines, strict=True)
    ] == lines
    assert {record.name for record in caplog.records} <= {"mine" if own else "rebind"}


def test_a_callback_of_ones_own_after_the_validation(caplog):
    seen = []
    with caplog.at_level(logging.INFO):
        model().fit(batches(), eval_data=batches(), eval_end_callback=lambda param: seen.append(param.epoch))
    assert seen == [0, 1]


def test_callbacks_see_the_state():
    seen = []

    def on_epoch(trained, state, metric):
        assert trained is made and "fc_weight" in trained.arg_params
        names = [name for name, _ in metric]
        seen.append(("epoch", state.curr_epoch, state.curr_batch, state.curr_iter, state.batch_size, names))

    def on_batch(state):
        seen.append(("batch", state.curr_epoch, state.curr_batch, state.curr_iter, state.batch_size))

    made = model()
    made.fit(
        batches(rows=8),
        eval_data=batches(3),
        callbacks=[EpochCallback(on_epoch), BatchCallback(on_batch)],
        eval_metric=["acc", "ce"],
    )
    names = ["accuracy", "cross-entropy"]
    assert seen == [
        ("epoch", 0, 0, 0, 4, []),
        ("batch", 1, 0, 0, 4), ("batch", 1, 1, 1, 4), ("batch", 1, 2, 2, 4), ("epoch", 1, 2, 2, 4, names),
        ("batch", 2, 0, 2, 4), ("batch", 2, 1, 3, 4), ("batch", 2, 2, 4, 4), ("epoch", 2, 2, 4, 4, names),
    ]  # fmt: skip


def test_an_epoch_callback_sees_the_parameters_of_its_epoch():
    seen = []
    made = model(arg_params=ones())
    made.fit(batches(), callbacks=[EpochCallback(lambda trained, *_: seen.append(weight(trained)))])
    assert (seen[0] == 1).all() and not np.array_equal(seen[1], seen[2])
    assert np.array_equal(seen[2], weight(made))


def test_a_state_stays_what_it_was():
    states = []
    model().fit(batches(), callbacks=[BatchCallback(states.append)])
    assert [state.curr_iter for state in states[:3]] == [0, 1, 2]
    with pytest.raises(AttributeError):
        states[0].curr_iter = 5


@pytest.mark.parametrize(("begin", "end", "numbers"), [(0, 2, (0, 1, 2)), (3, 5, (3, 4, 5))])
def test_training_that_resumes_counts_its_epochs_from_there(begin, end, numbers, tmp_path):
    prefix = str(tmp_path / "net")
    save = EpochCallback(lambda trained, state, metric: trained.save_checkpoint(prefix, state))
    model(begin_epoch=begin, num_epoch=end).fit(batches(), callbacks=[save])
    assert sorted(path.name for path in tmp_path.glob("*.params")) == [
        f"net-000{number}.params" for number in numbers
    ]


def test_save_checkpoint_takes_a_number_too(tmp_path):
    model(arg_params=ones()).save_checkpoint(str(tmp_path / "net"), 12)
    assert (tmp_path / "net-0012.params").exists()


@pytest.mark.parametrize("kind", [BatchCallback, EpochCallback])
def test_a_callback_needs_a_function(kind):
    with pytest.raises(TypeError, match=f"{kind.__name__}: function must be callable; got 3"):
        kind(3)


def test_a_callback_can_stop_the_training():
    def stop(state):
        if state.curr_iter == 2:
            raise StopTraining("enough")

    seen = []
    made = model(arg_params=ones())
    history = made.fit(
        batches(), callbacks=[BatchCallback(stop)], batch_end_callback=lambda param: seen.append(param.nbatch)
    )
    assert seen == [1] and history["train"] == {}
    assert not (weight(made) == 1).all()


def test_old_callbacks_keep_their_interface():
    records, epochs = [], []
    made = model()
    made.fit(
        batches(rows=8),
        eval_data=batches(rows=8),
        batch_end_callback=[mx.callback.Speedometer(4, 1), records.append],
        epoch_end_callback=[lambda *args: epochs.append((args[0], args[1], sorted(args[2])))],
        eval_batch_end_callback=lambda param: records.append(param),
    )
    assert [(each.epoch, each.nbatch, each.locals["nbatch"]) for each in records] == [
        (0, 1, 1), (0, 2, 2), (0, 0, 0), (0, 1, 1), (1, 1, 1), (1, 2, 2), (1, 0, 0), (1, 1, 1),
    ]  # fmt: skip
    assert epochs == [(0, NET, ["fc_bias", "fc_weight"]), (1, NET, ["fc_bias", "fc_weight"])]


@pytest.mark.parametrize("decay", ["batch", "epoch"])
@pytest.mark.parametrize("epoch_size", [None, 3])
def test_a_run_that_was_killed_ends_as_one_that_was_not(tmp_path, epoch_size, decay):
    class Killed(BaseException):
        pass

    def run(prefix, kill_at):
        def kill(state):
            states.append(state)
            if state.curr_iter == kill_at:
                raise Killed

        states = []
        np.random.seed(3)
        mx.random.seed(3)
        schedule = mx.lr_scheduler.FactorScheduler(1, 0.8, base_lr=0.3)
        made = model(
            num_epoch=4, epoch_size=epoch_size, momentum=0.9, learning_rate=0.3, lr_scheduler=schedule
        )
        made.fit(
            POINTS, CLASSES, lr_decay=decay, callbacks=[BatchCallback(kill)], eval_data=(POINTS, CLASSES),
            checkpoint=mx.checkpoint.Checkpoint(tmp_path / prefix, every_n_batches=1),
        )  # fmt: skip
        return states[-1], weight(made)

    state, expected = run("whole", -1)
    with pytest.raises(Killed):
        run("killed", 8)
    again_state, again = run("killed", -1)
    assert again_state == state and np.array_equal(again, expected)


def test_epochs_of_a_size_need_a_position_to_resume_from():
    class Plain:
        def __iter__(self):
            return iter([1, 2])

    with pytest.raises(mx.MXNetError, match="epoch_size and checkpoint together need train_data"):
        Epochs(Plain(), 1).state_dict()
    epochs = Epochs(batches(), 3)
    first = [batch.data[0].asnumpy()[0, 0] for batch in epochs]
    assert len(epochs) == 3 and len(first) == 3
    other = Epochs(batches(), 3)
    other.load_state_dict(epochs.state_dict())
    assert [b.data[0].asnumpy()[0, 0] for b in other] == [b.data[0].asnumpy()[0, 0] for b in epochs]


def test_save_and_load(tmp_path):
    prefix = str(tmp_path / "net")
    made = model(NORMED, arg_params=None)
    made.fit(batches())
    made.save(prefix)  # num_epoch
    made.save(prefix, 7)
    assert list(nd.load(f"{prefix}-0007.params")) == [
        "arg:bn_gamma", "arg:bn_beta", "arg:fc_weight", "arg:fc_bias", "aux:bn_moving_mean", "aux:bn_moving_var",
    ]  # fmt: skip
    loaded = FeedForward.load(prefix, 2, ctx=mx.cpu(1), numpy_batch_size=7, num_epoch=3)
    assert (loaded.begin_epoch, loaded.ctx, loaded.numpy_batch_size) == (2, [mx.cpu(1)], 7)
    assert np.array_equal(loaded.predict(POINTS), made.predict(POINTS))
    assert len(loaded.fit(batches())["train"]["accuracy"]) == 1


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: FeedForward(NET, arg_params=ones()), ValueError, r"save: needs epoch"),
        (model, mx.MXNetError, r"save\(\) needs weights; call fit\(\)"),
    ],
    ids=["a number", "weights"],
)
def test_what_save_needs(make, error, says, tmp_path):
    with pytest.raises(error, match=says):
        make().save(str(tmp_path / "net"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("settings", "keywords", "expected"),
    [
        pytest.param({"begin_epoch": 1}, {}, 5, id="into a fresh model"),
        pytest.param({}, {"overwrite": False}, 5, id="a fresh model has nothing to overwrite"),
        pytest.param({"arg_params": ones(2.0)}, {}, 5, id="over what is there"),
        pytest.param({"arg_params": ones(2.0)}, {"overwrite": False}, 2, id="not over what is there"),
    ],
)
def test_load_checkpoint(settings, keywords, expected, tmp_path, caplog):
    prefix = str(tmp_path / "net")
    mx.model.save_checkpoint(prefix, 4, NET, ones(5.0), {})
    made = model(**settings)
    assert made.load_checkpoint(prefix, 4, **keywords) is made
    assert (weight(made) == expected).all() and made.begin_epoch == settings.get("begin_epoch", 0)
    assert ("overwrite" in caplog.text) is (expected == 2)


def test_a_checkpoint_of_another_network(tmp_path):
    prefix = str(tmp_path / "net")
    mx.model.save_checkpoint(prefix, 4, NET, ones(5.0), {})
    made = model(NORMED)
    with pytest.raises(ValueError, match="allow_different_arch=True"):
        made.load_checkpoint(prefix, 4)
    assert made.symbol is NORMED and made.arg_params is None
    made.load_checkpoint(prefix, 4, allow_different_arch=True)
    assert made.symbol.tojson() == NET.tojson() and made.predict(POINTS).shape == (ROWS, 2)


@pytest.mark.parametrize("again", [lambda each: pickle.loads(pickle.dumps(each)), copy.deepcopy])
def test_a_model_can_be_pickled(again):
    made = model(NORMED, lr_scheduler=mx.lr_scheduler.FactorScheduler(3, 0.5, base_lr=0.5))
    made.fit(POINTS, CLASSES)
    before = made.predict(POINTS)
    other = again(made)
    assert np.array_equal(other.predict(POINTS), before)
    other.fit(POINTS, CLASSES)
    assert np.array_equal(made.predict(POINTS), before)


EXTRA = {**ones(), "other": nd.ones((1,))}


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, ["fc_bias", "fc_weight", "other"]),
        ({"aux_params": {"more": nd.ones((1,))}, "allow_extra_params": True}, ["fc_bias", "fc_weight"]),
    ],
    ids=["stay until training", "are dropped when allowed"],
)
def test_extra_parameters(settings, names):
    made = model(arg_params=EXTRA, **settings)
    assert sorted(made.arg_params) == names and not made.aux_params
    assert "other" in EXTRA
    made.fit(POINTS, CLASSES)
    assert "other" not in made.arg_params


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "<FeedForward softmax_output on [cpu(0)]: no parameters yet>"),
        (
            {"ctx": [mx.cpu(0), mx.cpu(1)], "arg_params": ones()},
            "<FeedForward softmax_output on [cpu(0), cpu(1)]: 2 parameters>",
        ),
    ],
)
def test_repr(settings, text):
    assert repr(model(**settings)) == text


def test_score_gives_a_list_for_a_list_of_metrics():
    """MXNet 1.9.1 gives a list for a list of one, and for a composite metric."""
    made = model(num_epoch=1)
    made.fit(batches())
    alone = made.score(batches(), "acc")
    assert made.score(batches(), ["acc"]) == [alone] == made.score(batches(), mx.metric.create(["acc"]))
    assert isinstance(alone, float) and len(made.score(batches(), ["acc", "ce"])) == 2
