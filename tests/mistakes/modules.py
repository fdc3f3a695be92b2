"""Mistakes with modules, `FeedForward` and checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rebind as mx
from rebind import nd

from .things import FOLDER, after_backward, after_forward, batches, bound, module, net, ready


class Forgetful(mx.io.DataIter):
    """An iterator whose `next` returns nothing."""

    provide_data = (("data", (4, 4)),)
    provide_label = (("softmax_label", (4,)),)

    def next(self) -> Any:
        pass


def with_init(text: str) -> Any:
    """A bound module, one of whose variables has an initializer of its own."""
    weight = mx.sym.var("w", init=text)
    made = mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("data"), weight, num_hidden=3), label_names=None)
    made.bind([("data", (4, 4))])
    return made


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "mod: symbol None": (
        lambda: mx.mod.Module(None),
        "Module: symbol must be a Symbol; got NoneType",
    ),
    "mod: data_names number": (
        lambda: module(data_names=3),
        "Module: data_names must be a list of names or None; got 3",
    ),
    "mod: data_names items": (
        lambda: module(data_names=[3]),
        "Module: data_names: the symbol has no argument 3.",
    ),
    "mod: label_names number": (
        lambda: module(label_names=3),
        "Module: label_names must be a list of names or None; got 3",
    ),
    "mod: data_names near": (
        lambda: module(data_names=["dta"]),
        "Module: data_names: the symbol has no argument 'dta'; did you mean 'data'?",
    ),
    "mod: logger": (
        lambda: module(logger=3),
        "Module: logger must be a logger, with info() and warning(); got 3",
    ),
    "mod: context number": (
        lambda: module(context=0),
        "Module: context must be a Device or a list of them; got 0",
    ),
    "mod: work_load_list text": (
        lambda: module(work_load_list="x"),
        "Module: work_load_list must be a list or None; got the text 'x'",
    ),
    "mod: work_load_list length": (
        lambda: module(context=[mx.cpu(0), mx.cpu(1)], work_load_list=[1]),
        "Module: work_load_list must have a number for each of [cpu(0), cpu(1)]; got [1]",
    ),
    "mod: work_load_list items": (
        lambda: mx.mod.Module(net(), context=[mx.cpu(0), mx.cpu(1)], work_load_list=["a", "b"]).bind(
            [("data", (4, 4))], [("softmax_label", (4,))]
        ),
        "Module: work_load_list[0] must be a number; got the text 'a'",
    ),
    "mod: state_names": (
        lambda: module(state_names=["stat"]),
        "Module: state_names: the symbol has no argument 'stat'.",
    ),
    "mod: group2ctxs": (
        lambda: module(group2ctxs="cpu"),
        "Module: group2ctxs must be a dict or a list of dicts or None; got the text 'cpu'",
    ),
    "mod: compression text": (
        lambda: module(compression_params="2bit"),
        "Module: compression_params must be a dict or None; got the text '2bit'",
    ),
    "mod: bind shape only": (
        lambda: module().bind((4, 4)),
        "bind: data_shapes must hold DataDesc records or pairs (name, shape); got 4 in (4, 4)",
    ),
    "mod: bind dict": (
        lambda: module().bind({"data": (4, 4)}),
        "bind: data_shapes must be a list of DataDesc records or pairs ... got {'data': (4, 4)}",
    ),
    "mod: bind pair": (
        lambda: module().bind(("data", (4, 4))),
        "bind: data_shapes must hold DataDesc records or pairs (name, ... got 'data' in ('data', (4, 4))",
    ),
    "mod: bind text shape": (
        lambda: module().bind([("data", "4,4")]),
        "DataDesc 'data': shape must be an int or a sequence of ints; got '4,4'",
    ),
    "mod: bind None": (
        lambda: module().bind(None),
        "Module.bind: data_shapes must describe the inputs ['data']; got []",
    ),
    "mod: bind number": (
        lambda: module().bind(3),
        "bind: data_shapes must be a list of DataDesc records or pairs (name, shape) or None; got 3",
    ),
    "mod: bind near": (
        lambda: module().bind([("dta", (4, 4))]),
        "Module.bind: data_shapes must describe the inputs ['data']; got ['dta']",
    ),
    "mod: bind iter": (
        lambda: module().bind(batches()),
        "bind: data_shapes must be a list of DataDesc records or pairs ... got <NDArrayIter: data data (4, 4);",
    ),
    "mod: bind grad_req": (
        lambda: bound(grad_req="wirte"),
        "Module.bind: grad_req must be one of 'write', 'add', 'null'; got 'wirte' for 'fc1_weight'",
    ),
    "mod: bind grad_req number": (
        lambda: bound(grad_req=1),
        "Module.bind: grad_req must be a word, a list or a dict; got 1",
    ),
    "mod: bind for_training text": (
        lambda: bound(for_training="False"),
        "Module.bind: for_training must be True or False; got the text 'False'",
    ),
    "mod: bind inputs_need_grad text": (
        lambda: bound(inputs_need_grad="False"),
        "Module.bind: inputs_need_grad must be True or False; got the text 'False'",
    ),
    "mod: bind force_rebind text": (
        lambda: bound(force_rebind="False"),
        "Module.bind: force_rebind must be True or False; got the text 'False'",
    ),
    "mod: bind shared": (
        lambda: bound(shared_module="x"),
        "Module.bind: shared_module must be an instance of Module or None; got the text 'x'",
    ),
    "mod: bind shared unbound": (
        lambda: bound(shared_module=module()),
        "Module.bind: shared_module needs bind() and init_params() first",
    ),
    "mod: bind label shape": (
        lambda: module().bind([("data", (4, 4))], [("softmax_label", (5,))]),
        "SoftmaxOutput 'softmax': label ('softmax_label') must have ... got (5,)",
    ),
    "mod: init_params number": (
        lambda: bound().init_params(3),
        "init_params: initializer must be an initializer, its name, or ... got 3",
    ),
    "mod: init_params near": (
        lambda: bound().init_params("xavierr"),
        "no initializer 'xavierr'; did you mean 'xavier'? Registered: bilinear, constant, fusedrnn,",
    ),
    "mod: init of a variable": (
        lambda: with_init("xaver").init_params(),
        "init of variable 'w': no initializer 'xaver'; did you mean 'xavier'? Registered: bilinear,",
    ),
    "mod: init of a variable, a setting": (
        lambda: with_init('["xavier", {"magnitud": 3}]').init_params(),
        "init of variable 'w': Xavier: no argument 'magnitud'; did you mean 'magnitude'?",
    ),
    "mod: init_params list": (
        lambda: bound().init_params(arg_params=[1]),
        "Module.init_params: arg_params must be a dict or None; got [1]",
    ),
    "mod: init_params text": (
        lambda: bound().init_params(arg_params="net-0001.params"),
        "Module.init_params: arg_params must be a dict or None; got the text 'net-0001.params'",
    ),
    "mod: init_params number value": (
        lambda: bound().init_params(arg_params={"fc1_weight": 3}, allow_missing=True),
        "Module.init_params: 'fc1_weight' must be an NDArray; got int",
    ),
    "mod: init_params shape": (
        lambda: bound().init_params(arg_params={"fc1_weight": nd.ones((5, 5))}, allow_missing=True),
        "Module.init_params: 'fc1_weight' must have shape (3, 4); got (5, 5). The shape follows from the",
    ),
    "mod: init_params allow_missing text": (
        lambda: bound().init_params(allow_missing="False"),
        "Module.init_params: allow_missing must be True or False; got the text 'False'",
    ),
    "mod: set_params list": (
        lambda: ready().set_params([], {}),
        "Module.set_params: arg_params must be a dict or None; got []",
    ),
    "mod: set_params one": (
        lambda: ready().set_params(ready().get_params(), None),
        "Module.set_params: arg_params must be a dict or None; got ({'fc1_weight':",
    ),
    "mod: init_optimizer number": (
        lambda: (lambda m: (m.init_params(), m.init_optimizer(optimizer=3)))(bound()),
        "Module.init_optimizer: optimizer must be a name or an Optimizer; got 3",
    ),
    "mod: init_optimizer near": (
        lambda: (lambda m: (m.init_params(), m.init_optimizer(optimizer="sgdd")))(bound()),
        "no optimizer 'sgdd'; did you mean 'sgd' or 'sgld' or 'lbsgd'? Registered: adadelta, adagrad,",
    ),
    "mod: optimizer_params number": (
        lambda: (lambda m: (m.init_params(), m.init_optimizer(optimizer_params=0.1)))(bound()),
        "Module.init_optimizer: optimizer_params must be a dict, or pairs of a name and a value; got 0.1",
    ),
    "mod: optimizer_params list": (
        lambda: (lambda m: (m.init_params(), m.init_optimizer(optimizer_params=["learning_rate"])))(bound()),
        "Module.init_optimizer: optimizer_params must be a dict, or pairs of a name and a value; got ['learning_rate']",
    ),
    "mod: optimizer_params near": (
        lambda: (lambda m: (m.init_params(), m.init_optimizer(optimizer_params={"learnin_rate": 1})))(
            bound()
        ),
        "optimizer 'sgd': no setting 'learnin_rate'; did you mean 'learning_rate'? Settings:",
    ),
    "mod: kvstore number": (
        lambda: (lambda m: (m.init_params(), m.init_optimizer(kvstore=3)))(bound()),
        "kvstore: must be None, a name or a KVStore; got 3",
    ),
    "mod: forward is_train text": (
        lambda: ready().forward(next(iter(batches())), is_train="False"),
        "Module.forward: is_train must be True or False or None; got the text 'False'",
    ),
    "mod: forward list": (
        lambda: ready().forward([nd.ones((4, 4))]),
        "Module.forward: a batch must have data, a list of arrays; got NDArray. Arrays, or a dict of them",
    ),
    "mod: forward DataIter": (
        lambda: ready().forward(batches()),
        "Module.forward: data[0] must be an array; got a pair, as an iterator holds them. Give a batch of",
    ),
    "mod: backward text": (
        lambda: after_forward().backward("x"),
        "Executor.backward: out_grads must be a list; got the text 'x'",
    ),
    "mod: update_metric text": (
        lambda: after_forward().update_metric("acc", [nd.zeros((4,))]),
        "Module.update_metric: eval_metric must be a metric; got the text 'acc'",
    ),
    "mod: update_metric numpy label": (
        lambda: after_forward().update_metric(mx.metric.Accuracy(), np.zeros((4,))),
        "Module.update_metric: labels must be a list of arrays; got ndarray of shape (4,)",
    ),
    "mod: predict number": (
        lambda: ready().predict(3),
        "predict: eval_data must be an iterator with provide_data and ... got int",
    ),
    "mod: predict num_batch text": (
        lambda: ready().predict(batches(), num_batch="2"),
        "predict: num_batch must be a number or None; got the text '2'",
    ),
    "mod: predict reset text": (
        lambda: ready().predict(batches(), reset="False"),
        "predict: reset must be True or False; got the text 'False'",
    ),
    "mod: predict None": (
        lambda: ready().predict(None),
        "predict: eval_data must be an iterator with provide_data and ... got NoneType",
    ),
    "mod: score near": (
        lambda: ready().score(batches(), "accc"),
        "no metric 'accc'; did you mean 'acc' or 'accuracy'? Registered: acc, accuracy, caffe, ce,",
    ),
    "mod: score number": (
        lambda: ready().score(3, "acc"),
        "score: eval_data must be an iterator with provide_data and ... got int",
    ),
    "mod: score num_batch text": (
        lambda: ready().score(batches(), "acc", num_batch="2"),
        "score: num_batch must be a number or None; got the text '2'",
    ),
    "mod: score callback number": (
        lambda: ready().score(batches(), "acc", batch_end_callback=3),
        "score: batch_end_callback must be a function; got 3",
    ),
    "mod: iter_predict num_batch": (
        lambda: list(ready().iter_predict(batches(), num_batch="2")),
        "iter_predict: num_batch must be a number or None; got the text '2'",
    ),
    "mod: install_monitor": (
        lambda: bound().install_monitor("x"),
        "Module.install_monitor: mon must be a Monitor; got the text 'x'",
    ),
    "mod: save_checkpoint epoch": (
        lambda: ready().save_checkpoint(FOLDER + "/p", "one"),
        "checkpoint: epoch must be an int; got 'one'",
    ),
    "mod: save_checkpoint epoch float": (
        lambda: ready().save_checkpoint(FOLDER + "/p", 1.5),
        "checkpoint: epoch must be an int; got 1.5",
    ),
    "mod: save_checkpoint epoch None": (
        lambda: ready().save_checkpoint(FOLDER + "/p", None),
        "checkpoint: epoch must be an int; got None",
    ),
    "mod: save_params fname": (lambda: ready().save_params(3), "nd.save: fname must be a path; got 3"),
    "mod: load_params fname": (lambda: ready().load_params(3), "nd.load: fname must be a path; got 3"),
    "mod: save_optimizer_states": (
        lambda: ready().save_optimizer_states(3),
        "Module.save_optimizer_states: fname must be a path; got 3",
    ),
    "mod: load_optimizer_states": (
        lambda: ready().load_optimizer_states(3),
        "Module.load_optimizer_states: fname must be a path; got 3",
    ),
    "mod: reshape text": (
        lambda: ready().reshape("x"),
        "bind: data_shapes must be a list of DataDesc records or pairs ... got the text 'x'",
    ),
    "mod: set_states number": (
        lambda: ready().set_states(5),
        "set_states: states must be a list; got 5",
    ),
    "mod: set_states both": (
        lambda: ready().set_states([1], 2),
        "set_states: needs either states or value; got both",
    ),
    "mod: borrow": (
        lambda: ready().borrow_optimizer(3),
        "Module.borrow_optimizer: shared_module must be an instance of Module; got 3",
    ),
    "mod: get_input_grads": (
        lambda: after_backward().get_input_grads(),
        "get_input_grads: the module must be bound with inputs_need_grad=True",
    ),
    "bucket: sym_gen number": (
        lambda: mx.mod.BucketingModule(3, default_bucket_key=1),
        "BucketingModule: sym_gen must be a function from a bucket's ... got 3",
    ),
    "bucket: sym_gen symbol": (
        lambda: mx.mod.BucketingModule(net(), default_bucket_key=1),
        "BucketingModule: sym_gen must be a function from a bucket's ... got <Symbol softmax>",
    ),
    "bucket: sym_gen returns symbol": (
        lambda: mx.mod.BucketingModule(lambda k: net(), default_bucket_key=1).bind(
            [("data", (4, 4))], [("softmax_label", (4,))]
        ),
        "BucketingModule: sym_gen must return (symbol, data_names, label_names); for key 1 it returned",
    ),
    "bucket: sym_gen returns pair": (
        lambda: mx.mod.BucketingModule(lambda k: (net(), ["data"]), default_bucket_key=1).bind(
            [("data", (4, 4))], [("softmax_label", (4,))]
        ),
        "BucketingModule: sym_gen must return (symbol, data_names, label_names); for key 1 it returned",
    ),
    "bucket: default key None": (
        lambda: mx.mod.BucketingModule(lambda k: (net(), ["data"], ["softmax_label"])),
        "BucketingModule: needs default_bucket_key, the key of the bucket that bind() binds",
    ),
    "seq: add number": (
        lambda: mx.mod.SequentialModule().add(3),
        "SequentialModule.add: module must be a BaseModule; got int",
    ),
    "seq: add symbol": (
        lambda: mx.mod.SequentialModule().add(net()),
        "SequentialModule.add: module must be a BaseModule; got Symbol",
    ),
    "seq: add meta": (
        lambda: mx.mod.SequentialModule().add(module(), take_label=True),
        "SequentialModule.add: no parameter 'take_label'; did you mean 'take_labels'? Parameters:",
    ),
    "seq: bind empty": (
        lambda: mx.mod.SequentialModule().bind([("data", (4, 4))]),
        "SequentialModule.bind() needs add() first: there are no modules in it",
    ),
    "py: data_names number": (
        lambda: mx.mod.PythonModule(3, [], ["o"]),
        "PythonModule: data_names must be a name or a list of names; got 3",
    ),
    "py: grad_func": (
        lambda: mx.mod.PythonLossModule(grad_func=3),
        "PythonLossModule: grad_func must be a function; got 3",
    ),
    "svrg: freq text": (
        lambda: mx.contrib.svrg_optimization.SVRGModule(net(), update_freq="2"),
        "SVRGModule: update_freq must be an integer, a number of epochs from snapshot to snapshot; got '2'",
    ),
    "svrg: freq zero": (
        lambda: mx.contrib.svrg_optimization.SVRGModule(net(), update_freq=0),
        "SVRGModule: update_freq must be positive, a number of epochs; got 0",
    ),
    "svrg: freq float": (
        lambda: mx.contrib.svrg_optimization.SVRGModule(net(), update_freq=2.5),
        "SVRGModule: update_freq must be an integer, a number of epochs from snapshot to snapshot; got 2.5",
    ),
    "ff: symbol number": (
        lambda: mx.model.FeedForward(3),
        "FeedForward: symbol must be a Symbol; got 3. For a function that makes one for each bucket use",
    ),
    "ff: num_epoch text": (
        lambda: mx.model.FeedForward(net(), num_epoch="3").fit(np.ones((8, 4)), np.zeros(8)),
        "fit: num_epoch must be a number; got the text '3'. Convert it with float() or int(); with",
    ),
    "ff: batch text": (
        lambda: mx.model.FeedForward(net(), num_epoch=1, numpy_batch_size="4").fit(
            np.ones((8, 4)), np.zeros(8)
        ),
        "FeedForward: numpy_batch_size must be a number or None; got the text '4'",
    ),
    "ff: epoch_size text": (
        lambda: mx.model.FeedForward(net(), num_epoch=1, numpy_batch_size=4, epoch_size="2").fit(
            np.ones((8, 4)), np.zeros(8)
        ),
        "FeedForward: epoch_size must be a number or None; got the text '2'",
    ),
    "ff: begin_epoch text": (
        lambda: mx.model.FeedForward(net(), num_epoch=1, numpy_batch_size=4, begin_epoch="0").fit(
            np.ones((8, 4)), np.zeros(8)
        ),
        "fit: begin_epoch must be a number; got the text '0'. Convert it with float() or int(); with",
    ),
    "ff: arg_params text": (
        lambda: mx.model.FeedForward(net(), num_epoch=1, numpy_batch_size=4, arg_params="x").fit(
            np.ones((8, 4)), np.zeros(8)
        ),
        "FeedForward: arg_params must be a dict or None; got the text 'x'",
    ),
    "ff: optimizer near": (
        lambda: mx.model.FeedForward(net(), num_epoch=1, numpy_batch_size=4, optimizer="sgdd").fit(
            np.ones((8, 4)), np.zeros(8)
        ),
        "no optimizer 'sgdd'; did you mean 'sgd' or 'sgld' or 'lbsgd'? Registered: adadelta, adagrad,",
    ),
    "ff: fit number": (
        lambda: mx.model.FeedForward(net(), num_epoch=1).fit(3),
        "FeedForward.fit: X must be an iterator with provide_data and ... got int",
    ),
    "ff: fit without y": (
        lambda: mx.model.FeedForward(net(), num_epoch=1, numpy_batch_size=4).fit(np.ones((8, 4))),
        "FeedForward.fit: y must be given when X is an array; got None",
    ),
    "ff: fit y length": (
        lambda: mx.model.FeedForward(net(), num_epoch=1, numpy_batch_size=4).fit(
            np.ones((8, 4)), np.zeros(5)
        ),
        "FeedForward.fit: X and y must have equal numbers of rows; got shapes (8, 4) and (5,)",
    ),
    "ff: predict num_batch": (
        lambda: (lambda f: (f.fit(np.ones((8, 4)), np.zeros(8)), f.predict(np.ones((8, 4)), num_batch="1")))(
            mx.model.FeedForward(net(), num_epoch=1, numpy_batch_size=4)
        ),
        "FeedForward.predict: num_batch must be a number or None; got the text '1'",
    ),
    "ckpt: epoch text": (
        lambda: mx.model.save_checkpoint(FOLDER + "/p", "x", net(), {}, {}),
        "checkpoint: epoch must be an int; got 'x'",
    ),
    "ckpt: symbol number": (
        lambda: mx.model.save_checkpoint(FOLDER + "/p", 1, 3, {}, {}),
        "save_checkpoint: symbol must be a Symbol or None; got 3",
    ),
    "ckpt: arg_params None": (
        lambda: mx.model.save_checkpoint(FOLDER + "/p", 1, net(), None, {}),
        "save_checkpoint: arg_params must be a dict; got None",
    ),
    "ckpt: arg_params list": (
        lambda: mx.model.save_checkpoint(FOLDER + "/p", 1, net(), [1], {}),
        "save_checkpoint: arg_params must be a dict; got [1]",
    ),
    "ckpt: arg_params number": (
        lambda: mx.model.save_checkpoint(FOLDER + "/p", 1, net(), {"a": 1}, {}),
        "nd.save: data must hold NDArrays only; got 1 for 'arg:a'",
    ),
    "ckpt: arg_params numpy": (
        lambda: mx.model.save_checkpoint(FOLDER + "/p", 1, net(), {"a": np.ones(2)}, {}),
        "nd.save: data must hold NDArrays only; got array([1., 1.]) for 'arg:a'",
    ),
    "mod: fit batch_size text": (
        lambda: module().fit(np.ones((8, 4)), y=np.zeros(8), batch_size="4", num_epoch=1),
        "fit: train_data: batch_size must be an int >= 1; got the text '4'",
    ),
    "mod: fit, an iterator without a return": (
        lambda: module().fit(Forgetful(), num_epoch=1),
        "fit, epoch 0: a batch must have data, a list of arrays; got None. Does next() of the iterator lack a return?",
    ),
    "mod: score, an iterator without a return": (
        lambda: ready().score(Forgetful(), "acc"),
        "score, epoch 0: a batch must have data, a list of arrays; got None.",
    ),
    "mod: predict, an iterator without a return": (
        lambda: ready().predict(Forgetful()),
        "predict: a batch must have data, a list of arrays; got None.",
    ),
    "mod: fit, a schedule of text": (
        lambda: module().fit(batches(), num_epoch=1, optimizer_params={"lr_scheduler": lambda update: "0.1"}),
        "SGD: lr_scheduler must return a number; got '0.1' for update ",
    ),
}
