"""`Module`: what it is made of, reports and refuses, its private names and its files."""

import re

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.io import DataDesc
from rebind.module import Module

from .linear_network import LABELS, NET, batch, given, module, step, weight


@pytest.mark.parametrize(
    ("kwargs", "error", "says"),
    [
        (
            dict(data_names=["dat"]),
            ValueError,
            "data_names: the symbol has no argument 'dat'; did you mean 'data'?",
        ),
        (
            dict(state_names=["fc_weigth"]),
            ValueError,
            "state_names: the symbol has no argument 'fc_weigth'; did you mean",
        ),
        (dict(fixed_param_names=["fc"]), ValueError, "fixed_param_names: the symbol has no argument 'fc'"),
        (
            dict(context=[mx.cpu(0), mx.cpu(1)], work_load_list=[1]),
            ValueError,
            "work_load_list must have a number for each",
        ),
        (dict(context=0), TypeError, "context must be a Device or a list of them; got 0"),
        (dict(context=[]), TypeError, "context must be a Device or a list of them; got []"),
    ],
)
def test_bad_arguments(kwargs, error, says):
    with pytest.raises(error, match=re.escape(says)):
        Module(NET, label_names=LABELS, **kwargs)


def test_an_unknown_label_name_is_a_warning():
    with pytest.warns(UserWarning, match="label_names: the symbol has no argument 'softmax_label'"):
        Module(NET)


def test_none_means_no_names():
    net = S.FullyConnected(S.arange(start=0, stop=6).reshape((2, 3)), num_hidden=1, name="fc")
    mod = Module(net, data_names=None, label_names=None)
    assert mod.data_names == [] and mod.label_names == []
    assert Module(NET, label_names=None)._param_names == ["fc_weight", "fc_bias", "out_label"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("binded", False),
        ("params_initialized", False),
        ("optimizer_initialized", False),
        ("data_names", ["data"]),
        ("label_names", ["out_label"]),
        ("output_names", ["out_output"]),
    ],
)
def test_what_an_unbound_module_reports(name, expected):
    assert getattr(Module(NET, label_names=LABELS), name) == expected


@pytest.mark.parametrize("name", ["data_shapes", "label_shapes", "output_shapes"])
def test_properties_that_need_bind(name):
    with pytest.raises(mx.MXNetError, match=rf"Module\.{name} needs bind\(\) first"):
        getattr(Module(NET, label_names=LABELS), name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("binded", True),
        ("params_initialized", True),
        ("optimizer_initialized", True),
        ("for_training", True),
        ("data_shapes", [("data", (8, 3))]),
        ("label_shapes", [("out_label", (8, 1))]),
        ("output_shapes", [("out_output", (8, 1))]),
        ("output_names", ["out_output"]),
    ],
)
@pytest.mark.parametrize("devices", [1, 2])
def test_what_a_bound_module_reports(name, expected, devices):
    mod = module(devices=devices)
    mod.init_optimizer()
    assert getattr(mod, name) == expected
    assert "bound to" in repr(mod) and mod.symbol is NET


@pytest.mark.parametrize("devices", [1, 2])
def test_files_of_parameters(devices, tmp_path):
    path = str(tmp_path / "it.params")
    mod = module(devices=devices)
    mod.save_params(path)
    mod.init_params(mx.init.Zero(), force_init=True)
    mod.load_params(path)
    assert weight(mod).tolist() == [[1, 1, 1]]
    nd.save(path, {"fc_weight": nd.ones((1, 3))})
    with pytest.raises(
        ValueError, match=r"it\.params: names must begin with 'arg:' or 'aux:'; got 'fc_weight'"
    ):
        mod.load_params(path)


def unbound():
    return Module(NET, label_names=LABELS)


def without_values():
    return module(init=False)


def for_prediction():
    mod = module(for_training=False)
    mod.init_optimizer()
    mod.forward(batch())
    return mod


@pytest.mark.parametrize(
    ("make", "call", "says"),
    [
        (unbound, lambda mod: mod.init_params(), "init_params() needs bind() first"),
        (unbound, lambda mod: mod.forward(batch()), "forward() needs bind() first"),
        (unbound, lambda mod: mod.borrow_optimizer(module()), "shared_module needs init_optimizer()"),
        (
            without_values,
            lambda mod: mod.init_optimizer(),
            "init_optimizer() needs bind() and init_params() first",
        ),
        (without_values, lambda mod: mod.forward(batch()), "forward() needs init_params() first"),
        (without_values, lambda mod: mod.get_params(), "get_params() needs init_params() first"),
        (without_values, lambda mod: mod.score([], "acc"), "score() needs init_params() first"),
        (module, lambda mod: mod.update(), "update() needs init_optimizer() first"),
        (
            module,
            lambda mod: mod.save_optimizer_states("x"),
            "save_optimizer_states() needs init_optimizer() first",
        ),
        (for_prediction, lambda mod: mod.backward(), "for_training=True"),
        (for_prediction, lambda mod: mod.update(), "for_training=True"),
    ],
)
def test_steps_come_in_order(make, call, says):
    with pytest.raises(mx.MXNetError, match=re.escape(says)):
        call(make())


def test_private_names_that_programs_read_and_assign_to():
    mod = module()
    mod.init_optimizer(optimizer_params={"learning_rate": 0.25})
    assert mod._exec_group.execs[0].outputs[0].shape == (8, 1)
    mod._exec_group.data_arrays[0][0][1][:] = 5
    mod._exec_group.execs[0].forward()
    assert mod.get_outputs()[0].asnumpy().tolist() == [[15]] * 8
    mod._exec_group.reshape([DataDesc("data", (2, 3))], None)
    assert (
        mod._exec_group.batch_size == 2
        and mod._data_shapes == [("data", (2, 3))]
        and mod._label_shapes is None
    )
    assert mod._optimizer.lr == 0.25 and mod._updater is not None and mod._kvstore is None
    assert mod._context == [mx.cpu()] and mod._update_on_kvstore is False and mod._preload_opt_states is None
    mod._optimizer.lr = 0.5
    assert mod._arg_params["fc_weight"].asnumpy().tolist() == [[1, 1, 1]] and mod._aux_params == {}
    mod._arg_params = given()
    assert weight(mod).tolist() == [[5, 5, 5]]


FLAGS = {
    "binded": lambda mod: mod.bind([("data", (4, 3))], [("out_label", (4, 1))]),
    "params_initialized": lambda mod: mod.init_params(mx.init.One()),
    "optimizer_initialized": lambda mod: mod.init_optimizer(),
}


@pytest.mark.parametrize(("flag", "call"), FLAGS.items(), ids=FLAGS)
def test_a_flag_that_a_program_clears_lets_it_call_again(flag, call):
    mod = module()
    mod.init_optimizer()
    setattr(mod, flag, False)
    assert [getattr(mod, each) for each in FLAGS] == [each != flag for each in FLAGS]
    call(mod)
    assert getattr(mod, flag) and weight(mod).tolist() == [[1, 1, 1]]


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_can_be_set_only_where_it_holds(flag):
    mod = module()
    mod.init_optimizer()
    setattr(mod, flag, True)
    with pytest.raises(mx.MXNetError, match=flag):
        setattr(Module(NET, label_names=LABELS), flag, True)


@pytest.mark.parametrize("devices", [1, 2])
def test_checkpoints_resume_where_training_stopped(tmp_path, caplog, devices):
    prefix = str(tmp_path / "net")
    context = [mx.cpu(k) for k in range(devices)]
    params = {"learning_rate": 0.1, "momentum": 0.9}
    mod = module(devices=devices)
    mod.init_optimizer(optimizer_params=params)
    step(mod, batch())
    with caplog.at_level("INFO"):
        mod.save_checkpoint(prefix, 7, save_optimizer_states=True)
    files = [f"{prefix}-symbol.json", f"{prefix}-0007.params", f"{prefix}-0007.states"]
    assert sorted(map(str, tmp_path.iterdir())) == sorted(files)
    # MXNet 1.9.1 logs these two.
    assert caplog.messages == [f'Saved checkpoint to "{files[1]}"', f'Saved optimizer state to "{files[2]}"']
    step(mod, batch(seed=1))

    again = Module.load(prefix, 7, load_optimizer_states=True, label_names=LABELS, context=context)
    assert again.params_initialized and not again.binded and again._preload_opt_states == files[2]
    again.bind([("data", (8, 3))], [("out_label", (8, 1))])
    again.init_optimizer(optimizer_params=params)
    assert again._preload_opt_states is None
    step(again, batch(seed=1))
    assert np.array_equal(weight(again), weight(mod))


def test_a_missing_file_of_states_is_an_error_with_its_path(tmp_path):
    prefix = str(tmp_path / "net")
    mod = module()
    with pytest.raises(mx.MXNetError, match="needs init_optimizer"):
        mod.save_checkpoint(prefix, 1, save_optimizer_states=True)
    assert not list(tmp_path.iterdir())
    mod.save_checkpoint(prefix, 1)
    again = Module.load(prefix, 1, load_optimizer_states=True, label_names=LABELS)
    again.bind([("data", (8, 3))], [("out_label", (8, 1))])
    with pytest.raises(FileNotFoundError, match=re.escape(f"{prefix}-0001.states")):
        again.init_optimizer()
    assert not again.optimizer_initialized
    again._preload_opt_states = None
    again.init_optimizer()


@pytest.mark.parametrize("devices", [1, 2])
def test_a_loaded_module_gives_its_parameters_before_it_is_bound(devices, tmp_path):
    prefix = str(tmp_path / "net")
    module(devices=devices).save_checkpoint(prefix, 0)
    loaded = Module.load(prefix, 0, label_names=LABELS, context=[mx.cpu(k) for k in range(devices)])
    loaded.get_params()[0]["fc_weight"][:] = 9
    assert weight(loaded).tolist() == [[1, 1, 1]]
    loaded.save_checkpoint(prefix, 1)
    loaded.bind([("data", (2, 3))], for_training=False)
    assert loaded.predict(np.ones((2, 3))).asnumpy().tolist() == [[3], [3]]
