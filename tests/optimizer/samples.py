"""Every optimizer with settings, for tests that go over all of them."""

from __future__ import annotations

import pytest
import torch

from rebind import random
from rebind.ndarray import NDArray
from rebind.optimizer import create
from rebind.optimizer.base import optimizers

#: Settings with which twice the weight as gradient leads to 0 within 200 steps; these two are no descents.
DESCENTS = {name: {"learning_rate": 0.1} for name in optimizers if name not in ("sgld", "test")} | {
    "adagrad": {"learning_rate": 1.0},
    "groupadagrad": {"learning_rate": 1.0},
    "adadelta": {"rho": 0.5, "epsilon": 0.01},
    "lars": {"learning_rate": 1.0, "eta": 0.1},
    "ftrl": {"learning_rate": 2.0},
    "signum": {"learning_rate": 0.02},
}

#: Each optimizer, and each of its forms.
SETTINGS = [
    *((name, {}) for name in optimizers),
    ("sgd", {"momentum": 0.9}),
    ("nag", {"momentum": 0.9}),
    ("dcasgd", {"momentum": 0.9, "lamda": 1.0}),
    ("rmsprop", {"centered": True, "epsilon": 1e-2}),
    ("rmsprop", {"clip_weights": 0.5}),
    ("signum", {"momentum": 0.0, "wd_lh": 0.1}),
    ("lars", {"momentum": 0.9, "eta": 0.1}),
    ("lamb", {"lower_bound": 0.5, "upper_bound": 1.0}),
    ("lamb", {"bias_correction": False}),
    ("adamw", {"correct_bias": False}),
    ("lbsgd", {"momentum": 0.9}),
    ("lbsgd", {"batch_scale": 2}),
    ("lbsgd", {"warmup_strategy": "lars"}),
]

#: The same as rows for ``("name", "settings")``.
FORMS = [pytest.param(name, settings, id="-".join([name, *settings])) for name, settings in SETTINGS]
FORMS_WITHOUT_NOISE = [form for form in FORMS if form.values[0] != "sgld"]


def make(name, **settings):
    """Make an optimizer with weight decay, if it has any, and seed what it may draw."""
    random.seed(1)
    decay = {} if name == "groupadagrad" else {"wd": 0.1}
    return create(name, **{"learning_rate": 0.1, **decay, **settings})


def wrap(tensors):
    return [NDArray(each) for each in tensors]


def some_tensors(dtype=torch.float32):
    generator = torch.Generator().manual_seed(1)
    shapes = [(3, 4), (4,), (2, 3, 2, 2), (1,)]
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]
