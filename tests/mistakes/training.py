"""Mistakes with cells, stores, metrics, callbacks, optimizers, devices and the test utilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import rebind as mx
from rebind import nd

from .things import FOLDER, store, var

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "rnn: hidden text": (
        lambda: mx.rnn.LSTMCell("ten").unroll(2, var("d")),
        "LSTMCell: num_hidden must be an int >= 1; got 'ten'",
    ),
    "rnn: hidden None": (lambda: mx.rnn.LSTMCell(None), "LSTMCell: num_hidden must be an int >= 1; got None"),
    "rnn: hidden float": (lambda: mx.rnn.GRUCell(2.5), "GRUCell: num_hidden must be an int >= 1; got 2.5"),
    "rnn: hidden zero": (lambda: mx.rnn.RNNCell(0), "RNNCell: num_hidden must be an int >= 1; got 0"),
    "rnn: activation near": (
        lambda: mx.rnn.RNNCell(3, activation="tahn").unroll(2, var("d")),
        "Activation 'rnn_t0_out': act_type must be one of 'relu', ... got 'tahn'",
    ),
    "rnn: prefix number": (lambda: mx.rnn.LSTMCell(3, prefix=3), "LSTMCell: prefix must be text; got 3"),
    "rnn: params dict": (
        lambda: mx.rnn.LSTMCell(3, params={}).unroll(2, var("d")),
        "LSTMCell: params must be an instance of RNNParams or None; got {}",
    ),
    "rnn: unroll text": (
        lambda: mx.rnn.LSTMCell(3).unroll("three", var("d")),
        "LSTMCell: length must be an int >= 0; got 'three'",
    ),
    "rnn: unroll zero": (
        lambda: mx.rnn.LSTMCell(3).unroll(0, var("d")),
        "LSTMCell: length must be an int >= 1; got 0",
    ),
    "rnn: unroll float": (
        lambda: mx.rnn.LSTMCell(3).unroll(2.5, var("d")),
        "LSTMCell: length must be an int >= 0; got 2.5",
    ),
    "rnn: unroll inputs number": (
        lambda: mx.rnn.LSTMCell(3).unroll(2, 3),
        "LSTMCell: inputs must be a Symbol, or a list of symbols; got 3",
    ),
    "rnn: unroll inputs list length": (
        lambda: mx.rnn.LSTMCell(3).unroll(2, [var("a")]),
        "LSTMCell: inputs must have 2 steps, as length says; got 1",
    ),
    "rnn: unroll inputs items": (
        lambda: mx.rnn.LSTMCell(3).unroll(2, [var("a"), 3]),
        "LSTMCell: each step of inputs must be a Symbol; got 3",
    ),
    "rnn: unroll begin_state": (
        lambda: mx.rnn.LSTMCell(3).unroll(2, var("d"), begin_state=3),
        "LSTMCell: begin_state must be a list; got 3",
    ),
    "rnn: unroll begin_state few": (
        lambda: mx.rnn.LSTMCell(3).unroll(2, var("d"), begin_state=[var("h")]),
        "LSTMCell: begin_state must have 2 states; got 1",
    ),
    "rnn: call states": (
        lambda: mx.rnn.LSTMCell(3)(var("d"), var("h")),
        "LSTMCell: states must be 2 symbols; got 1",
    ),
    "rnn: begin_state func": (
        lambda: mx.rnn.LSTMCell(3).begin_state(func=3),
        "LSTMCell.begin_state: func must be a function; got 3",
    ),
    "rnn: seq add": (
        lambda: mx.rnn.SequentialRNNCell().add(3),
        "SequentialRNNCell: a cell must be a BaseRNNCell; got 3",
    ),
    "rnn: bidirectional": (
        lambda: mx.rnn.BidirectionalCell(3, mx.rnn.LSTMCell(3)),
        "BidirectionalCell: a cell must be a BaseRNNCell; got 3",
    ),
    "rnn: fused mode": (
        lambda: mx.rnn.FusedRNNCell(3, mode="lsttm"),
        "FusedRNNCell: mode must be one of 'rnn_relu', 'rnn_tanh', 'lstm', 'gru'; got 'lsttm'",
    ),
    "rnn: fused layers text": (
        lambda: mx.rnn.FusedRNNCell(3, num_layers="two"),
        "FusedRNNCell: num_layers must be an int >= 1; got 'two'",
    ),
    "rnn: fused layers zero": (
        lambda: mx.rnn.FusedRNNCell(3, num_layers=0),
        "FusedRNNCell: num_layers must be an int >= 1; got 0",
    ),
    "rnn: residual": (lambda: mx.rnn.ResidualCell(3), "ResidualCell: base_cell must be a BaseRNNCell; got 3"),
    "rnn: zoneout range": (
        lambda: mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(3), zoneout_outputs=5.0),
        "ZoneoutCell: zoneout_outputs must be a number in [0, 1]; got 5.0",
    ),
    "rnn: dropout range": (
        lambda: mx.rnn.DropoutCell(5.0).unroll(2, var("d")),
        "DropoutCell: dropout must be a number in [0, 1]; got 5.0",
    ),
    "rnn: unpack_weights number": (
        lambda: mx.rnn.LSTMCell(3).unpack_weights(3),
        "LSTMCell.unpack_weights: args must be a dict; got 3",
    ),
    "rnn: unpack_weights empty": (
        lambda: mx.rnn.LSTMCell(3).unpack_weights({}),
        "LSTMCell.unpack_weights: the parameters must have 'lstm_i2h_weight'; got none",
    ),
    "rnn: pack_weights empty": (
        lambda: mx.rnn.LSTMCell(3).pack_weights({}),
        "LSTMCell.pack_weights: the parameters must have 'lstm_i2h_i_weight'; got none",
    ),
    "rnn: sentences number": (
        lambda: mx.rnn.BucketSentenceIter(3, 2),
        "BucketSentenceIter: sentences must be a list; got 3",
    ),
    "rnn: sentences text": (
        lambda: mx.rnn.BucketSentenceIter(["a b", "c"], 2, buckets=[5]),
        "BucketSentenceIter: sentences[0] must be a list of numbers, ... got the text 'a b'",
    ),
    "rnn: sentences batch": (
        lambda: mx.rnn.BucketSentenceIter([[1, 2]] * 4, "2", buckets=[3]),
        "BucketSentenceIter: batch_size must be a number; got the text '2'. Convert it with float() or",
    ),
    "rnn: sentences buckets": (
        lambda: mx.rnn.BucketSentenceIter([[1, 2]] * 4, 2, buckets=3),
        "BucketSentenceIter: buckets must be a list or None; got 3",
    ),
    "rnn: sentences layout": (
        lambda: mx.rnn.BucketSentenceIter([[1, 2]] * 4, 2, buckets=[3], layout="XX"),
        "BucketSentenceIter: layout must be 'NT' or 'TN'; got 'XX'",
    ),
    "rnn: sentences dtype": (
        lambda: mx.rnn.BucketSentenceIter([[1, 2]] * 4, 2, buckets=[3], dtype="flaot32"),
        "BucketSentenceIter: dtype must be one of float32, float64, ... got 'flaot32'; did you mean",
    ),
    "rnn: encode": (lambda: mx.rnn.encode_sentences(3), "encode_sentences: sentences must be a list; got 3"),
    "kv: create number": (lambda: mx.kv.create(3), "kvstore.create: name must be a string; got 3"),
    "kv: create near": (
        lambda: mx.kv.create("locl"),
        "kvstore.create: no store 'locl'; did you mean 'local'?",
    ),
    "kv: create None": (lambda: mx.kv.create(None), "kvstore.create: name must be a string; got None"),
    "kv: init None": (
        lambda: store().init(None, nd.ones((2,))),
        "KVStore.init: a key must be a string or an int; got None",
    ),
    "kv: init value": (
        lambda: store().init("b", 3),
        "KVStore.init: the value of 'b' must be an NDArray or a list of them; got 3",
    ),
    "kv: init numpy": (
        lambda: store().init("b", np.ones(2)),
        "KVStore.init: the value of 'b' must be an NDArray or a list of them; got array([1., 1.])",
    ),
    "kv: init twice": (
        lambda: store().init("a", nd.ones((2,))),
        "KVStore.init: key 'a' has a value already; init() sets it once",
    ),
    "kv: init lengths": (
        lambda: store().init(["b", "c"], [nd.ones((2,))]),
        "KVStore.init: there must be a value for each of 2 keys; got 1",
    ),
    "kv: push unknown": (
        lambda: store().push("b", nd.ones((2,))),
        "KVStore.push: no key 'b'. Set it with init() first.",
    ),
    "kv: push number": (
        lambda: store().push("a", 3),
        "KVStore.push: the value of 'a' must be an NDArray or a list of them; got 3",
    ),
    "kv: push shape": (
        lambda: store().push("a", nd.ones((5,))),
        "KVStore.push: 'a' must have shape (2,); got (5,)",
    ),
    "kv: push key type": (
        lambda: store().push(7, nd.ones((2,))),
        "KVStore.push: keys must be all of one type, str in this store; got 7",
    ),
    "kv: push float key": (
        lambda: store().push(1.5, nd.ones((2,))),
        "KVStore.push: a key must be a string or an int; got 1.5",
    ),
    "kv: pull none": (lambda: store().pull("a"), "KVStore.pull: needs out, the arrays to write into"),
    "kv: pull numpy": (
        lambda: store().pull("a", out=np.ones(2)),
        "KVStore.pull: the value of 'a' must be an NDArray or a list of them; got array([1., 1.])",
    ),
    "kv: pull shape": (
        lambda: store().pull("a", out=nd.ones((5,))),
        "KVStore.pull: 'a' must have shape (2,); got (5,)",
    ),
    "kv: pull unknown": (
        lambda: store().pull("b", out=nd.ones((2,))),
        "KVStore.pull: no key 'b'. Set it with init() first.",
    ),
    "kv: optimizer text": (
        lambda: store().set_optimizer("sgd"),
        "Updater: optimizer must be an Optimizer; got 'sgd'. Use optimizer.create().",
    ),
    "kv: optimizer class": (
        lambda: store().set_optimizer(mx.optimizer.SGD),
        "Updater: optimizer must be an instance; got the class SGD. Call it: SGD(...).",
    ),
    "kv: updater": (
        lambda: store()._set_updater(3),
        "KVStore.set_updater: updater must be a function or None; got 3",
    ),
    "kv: compression text": (
        lambda: mx.kv.create("device").set_gradient_compression("2bit"),
        "KVStore.set_gradient_compression: compression_params must be ... got '2bit'",
    ),
    "kv: compression type": (
        lambda: mx.kv.create("device").set_gradient_compression({"type": "3bit"}),
        "KVStore.set_gradient_compression: type must be one of '2bit', '1bit', 'none'; got '3bit'",
    ),
    "kv: compression threshold": (
        lambda: mx.kv.create("device").set_gradient_compression({"type": "2bit", "threshold": "x"}),
        "KVStore.set_gradient_compression: threshold must be a number above 0; got 'x'",
    ),
    "kv: save states": (
        lambda: store().save_optimizer_states(FOLDER + "/s"),
        "KVStore.save_optimizer_states: needs set_optimizer() first",
    ),
    "metric: shapes": (
        lambda: mx.metric.Accuracy().update([nd.ones((3,))], [nd.ones((2, 2))]),
        "accuracy: there must be one label for each prediction along ... got labels (3,) and predictions (2,",
    ),
    "metric: mse shapes": (
        lambda: mx.metric.MSE().update([nd.ones((3,))], [nd.ones((2,))]),
        "mse: labels and predictions must have the same shape; got (3, 1) and (2, 1)",
    ),
    "metric: update_dict": (
        lambda: mx.metric.MSE().update_dict(3, {}),
        "MSE.update_dict: label must be a dict; got 3",
    ),
    "metric: composite get": (
        lambda: mx.metric.CompositeEvalMetric(["acc"]).get_metric(5),
        "CompositeEvalMetric.get_metric: index must be below 1; got 5",
    ),
    "metric: custom number": (
        lambda: mx.metric.CustomMetric(3),
        "CustomMetric: feval must be a function; got 3",
    ),
    "metric: np number": (lambda: mx.metric.np(3), "CustomMetric: feval must be a function; got 3"),
    "metric: accuracy axis": (
        lambda: mx.metric.Accuracy(axis="x").update([nd.ones((2,))], [nd.ones((2, 2))]),
        "Accuracy: axis must be an int; got the text 'x'",
    ),
    "metric: check_label_shapes": (
        lambda: mx.metric.check_label_shapes(nd.ones((2,)), nd.ones((3,)), shape=True),
        "metric: there must be a prediction for each label; got (2,) labels and (3,) predictions",
    ),
    "cb: speedometer zero": (
        lambda: mx.callback.Speedometer(4, 0),
        "Speedometer: frequent must be >= 1; got 0",
    ),
    "cb: log_train_metric": (
        lambda: mx.callback.log_train_metric("x"),
        "log_train_metric: period must be a number; got the text 'x'. Convert it with float() or int();",
    ),
    "cb: ProgressBar text": (
        lambda: mx.callback.ProgressBar("x"),
        "ProgressBar: total must be a number; got the text 'x'. Convert it with float() or int(); with",
    ),
    "cb: ProgressBar zero": (lambda: mx.callback.ProgressBar(0), "ProgressBar: total must be >= 1; got 0"),
    "cb: ProgressBar length": (
        lambda: mx.callback.ProgressBar(10, length="x"),
        "ProgressBar: length must be a number; got the text 'x'. Convert it with float() or int(); with",
    ),
    "cb: do_checkpoint period None": (
        lambda: mx.callback.do_checkpoint(FOLDER + "/p", None),
        "do_checkpoint: period must be a number; got None",
    ),
    "cb: module_checkpoint": (
        lambda: mx.callback.module_checkpoint(3, FOLDER + "/p"),
        "module_checkpoint: mod must be a module, with save_checkpoint(); got 3",
    ),
    "mon: interval text": (lambda: mx.mon.Monitor("x"), "Monitor: interval must be an int >= 1; got 'x'"),
    "mon: interval zero": (lambda: mx.mon.Monitor(0), "Monitor: interval must be an int >= 1; got 0"),
    "mon: stat_func": (
        lambda: mx.mon.Monitor(1, stat_func=3),
        "Monitor: stat_func must be a function or None; got 3",
    ),
    "mon: pattern bad": (
        lambda: mx.mon.Monitor(1, pattern="["),
        "Monitor: pattern must be a regular expression; got '[' (unterminated character set at position 0)",
    ),
    "mon: pattern number": (
        lambda: mx.mon.Monitor(1, pattern=3),
        "Monitor: pattern must be a regular expression; got 3 (first argument must be string or compiled",
    ),
    "mon: pattern glob": (
        lambda: mx.mon.Monitor(1, pattern="*weight"),
        "Monitor: pattern must be a regular expression; got '*weight' (nothing to repeat at position 0)",
    ),
    "mon: install": (lambda: mx.mon.Monitor(1).install(3), "Monitor.install: exe must be an executor; got 3"),
    "lr: call text": (
        lambda: mx.lr_scheduler.FactorScheduler(2)("5"),
        "FactorScheduler: num_update must be a number; got the text '5'",
    ),
    "lr: call None": (
        lambda: mx.lr_scheduler.PolyScheduler(10)(None),
        "PolyScheduler: num_update must be a number; got None",
    ),
    "opt: lr_mult number": (
        lambda: mx.optimizer.SGD().set_lr_mult(3),
        "SGD.set_lr_mult: args_lr_mult must be a dict or a list of pairs; got 3",
    ),
    "opt: wd_mult list": (
        lambda: mx.optimizer.SGD().set_wd_mult([1]),
        "SGD.set_wd_mult: args_wd_mult must be a dict or a list of pairs; got [1]",
    ),
    "opt: wd_mult text value": (
        lambda: mx.optimizer.SGD().set_wd_mult({"a": "x"}),
        "SGD.set_wd_mult: args_wd_mult['a'] must be a number; got the text 'x'. Convert it with float() or",
    ),
    "opt: get_updater": (
        lambda: mx.optimizer.get_updater("sgd"),
        "Updater: optimizer must be an Optimizer; got 'sgd'. Use optimizer.create().",
    ),
    "opt: update numpy": (
        lambda: mx.optimizer.SGD().update(0, np.ones(2), np.ones(2), None),
        "SGD.update: weight must be an instance of NDArray; got ndarray of shape (2,)",
    ),
    "opt: update shapes": (
        lambda: mx.optimizer.SGD().update(0, nd.ones((2,)), nd.ones((3,)), None),
        "SGD: the gradient of weight 0 must have its shape, (2,); got (3,)",
    ),
    "opt: create_state": (
        lambda: mx.optimizer.Adam().create_state(0, 3),
        "Adam.create_state: weight must be an instance of NDArray; got 3",
    ),
    "opt: updater states": (
        lambda: mx.optimizer.get_updater(mx.optimizer.SGD()).set_states("x"),
        "Updater.set_states: states must be bytes; got the text 'x'",
    ),
    "init: call number": (
        lambda: mx.init.Xavier()(3, nd.ones((2, 2))),
        "Xavier: the name of a parameter must be an InitDesc; got 3",
    ),
    "init: call array": (
        lambda: mx.init.Xavier()(mx.init.InitDesc("w_weight"), "x"),
        "Xavier: arr must be an instance of NDArray; got the text 'x'",
    ),
    "init: xavier 1d": (
        lambda: mx.init.Xavier()(mx.init.InitDesc("w_weight"), nd.ones((2,))),
        "Xavier: 'w_weight' must have at least 2 axes; got shape (2,). Give a vector another initializer,",
    ),
    "init: unknown name": (
        lambda: mx.init.Uniform()(mx.init.InitDesc("strange"), nd.ones((2,))),
        "Uniform: no rule for a parameter called 'strange'; names should end in _weight, _bias, _gamma,",
    ),
    "tu: almost_equal": (
        lambda: mx.test_utils.assert_almost_equal(np.ones(2), None),
        "assert_almost_equal: b must be an array or numbers; got None",
    ),
    "tu: almost_equal rtol": (
        lambda: mx.test_utils.assert_almost_equal(np.ones(2), np.ones(2), rtol="x"),
        "assert_almost_equal: rtol must be a number or None; got the text 'x'",
    ),
    "tu: numeric_gradient sym": (
        lambda: mx.test_utils.check_numeric_gradient(3, [np.ones(2)]),
        "check_numeric_gradient: sym must be an instance of Symbol; got 3",
    ),
    "tu: numeric_gradient loc": (
        lambda: mx.test_utils.check_numeric_gradient(var() * 2, 3),
        "check_numeric_gradient: location must be a dict, or a list for ['v']; got 3",
    ),
    "tu: numeric_gradient key": (
        lambda: mx.test_utils.check_numeric_gradient(var() * 2, {"w": np.ones(2)}),
        "check_numeric_gradient: location: no 'w'. Names: v.",
    ),
    "tu: symbolic_forward few": (
        lambda: mx.test_utils.check_symbolic_forward(var() * 2, [], [np.ones(2)]),
        "check_symbolic_forward: location must be a dict, or a list for ['v']; got []",
    ),
    "tu: rand_ndarray stype": (
        lambda: mx.test_utils.rand_ndarray((2, 2), "csrr"),
        "rand_ndarray: stype must be ... got 'csrr'",
    ),
    "tu: same": (
        lambda: mx.test_utils.almost_equal("a", 3),
        "assert_almost_equal: a must be an array or numbers; got the text 'a'",
    ),
    "scope: attr number": (
        lambda: mx.AttrScope(ctx_group=1),
        "AttrScope: attribute 'ctx_group' must be a string; got 1",
    ),
    "ctx: type near": (
        lambda: mx.Context("cpuu"),
        "Device: device_type must be one of cpu, gpu, cpu_pinned, ... got 'cpuu'; did you mean 'cpu'?",
    ),
    "ctx: id text": (lambda: mx.cpu("0"), "Device: device_id must be an int >= 0; got the text '0'"),
    "ctx: id float": (lambda: mx.cpu(1.5), "Device: device_id must be an int >= 0; got 1.5"),
    "ctx: id negative": (lambda: mx.gpu(-1), "Device: device_id must be an int >= 0; got -1"),
    "ctx: number": (
        lambda: mx.Context(77),
        "Device: device_type must be one of cpu, gpu, cpu_pinned, cpu_shared; got 77.",
    ),
    "ctx: None": (
        lambda: mx.Context(None),
        "Device: device_type must be one of cpu, gpu, cpu_pinned, cpu_shared; got None.",
    ),
    "ctx: id None": (lambda: mx.cpu(None), "Device: device_id must be an int >= 0; got None"),
    "engine: bulk": (
        lambda: mx.engine.bulk("x").__enter__(),
        "engine.set_bulk_size: size must be an int >= 0; got 'x'",
    ),
    "rnn: states of a step": (
        lambda: mx.rnn.LSTMCell(3)(var("d"), 4),
        "LSTMCell: states must be a list; got 4",
    ),
    "rnn: words in place of numbers": (
        lambda: mx.rnn.BucketSentenceIter([["a", "word"]], 1, buckets=[3]),
        "BucketSentenceIter: sentences must be lists of numbers, as encode_sentences() makes them; got ['a', 'word']",
    ),
    "rnn: cells of a checkpoint": (
        lambda: mx.rnn.save_rnn_checkpoint(3, FOLDER + "/r", 1, var(), {}, {}),
        "save_rnn_checkpoint: cells must be a recurrent cell or a list of them; got 3",
    ),
    "metric: composite of a number": (
        lambda: mx.metric.CompositeEvalMetric(3),
        "CompositeEvalMetric: metrics must be a list or None; got 3",
    ),
    "metric: composite get by a name": (
        lambda: mx.metric.CompositeEvalMetric(["acc"]).get_metric("acc"),
        "CompositeEvalMetric.get_metric: index must be an int; got the text 'acc'",
    ),
    "cb: ReduceLROnPlateau text": (
        lambda: mx.callback.ReduceLROnPlateau(factor="0.1"),
        "ReduceLROnPlateau: factor must be a number; got the text '0.1'. Convert it with float() or int();",
    ),
    "cb: CSVLogger path": (
        lambda: mx.callback.CSVLogger(3),
        "CSVLogger: path must be a path; got 3",
    ),
    "init: Mixed pattern": (
        lambda: mx.init.Mixed(["["], [mx.init.One()]),
        "Mixed: patterns[0] must be a regular expression; got '[' (unterminated character set at position 0)",
    ),
    "tu: simple_forward": (
        lambda: mx.test_utils.simple_forward(3),
        "simple_forward: sym must be an instance of Symbol; got 3",
    ),
    "tu: check_speed": (
        lambda: mx.test_utils.check_speed(3),
        "check_speed: sym must be an instance of Symbol; got 3",
    ),
}
