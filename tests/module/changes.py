"""What a program may change between two batches, whatever it does with them; of networks with `data` and `fc1`."""

from __future__ import annotations

from typing import Any

__all__ = ["exchange_weight", "exe", "set_params", "view_of_data", "write_weight"]


def exe(module: Any) -> Any:
    return module.executors.execs[0]


def write_weight(module: Any) -> None:
    exe(module).arg_dict["fc1_weight"][:] = 0.25


def exchange_weight(module: Any) -> None:
    weight = exe(module).arg_dict["fc1_weight"]
    weight.exchange((weight * 0.5).tensor)


def set_params(module: Any) -> None:
    args, aux = module.get_params()
    module.set_params({name: 2 * each for name, each in args.items()}, aux)


def view_of_data(module: Any) -> None:
    module.row = exe(module).arg_dict["data"][0:2]
