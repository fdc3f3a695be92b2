"""Why ONNX cannot say some operators, such as those for training and those that no network of a user holds."""

from __future__ import annotations

from ....ops import find
from ..translations import REASONS

__all__ = ["give_reason"]


def give_reason(reason: str, *names: str) -> None:
    """Declare why operators cannot go out."""
    for name in names:
        REASONS[find(name).name] = reason


give_reason("it draws the candidates of a sampled loss, which belongs to training", "_sample_unique_zipfian")
give_reason(
    "it changes weights while a network is trained, and ONNX's graphs are for inference",
    "_adamw_update", "_contrib_group_adagrad_update", "_mp_adamw_update", "_multi_adamw_update",
    "_multi_lamb_update", "_multi_mp_adamw_update", "_multi_mp_lamb_update", "_sparse_adagrad_update",
    "adam_update", "ftml_update", "ftrl_update", "lamb_update_phase1", "lamb_update_phase2",
    "mp_lamb_update_phase1", "mp_lamb_update_phase2", "mp_nag_mom_update", "mp_sgd_mom_update", "mp_sgd_update",
    "multi_lars", "multi_mp_sgd_mom_update", "multi_mp_sgd_update", "multi_sgd_mom_update", "multi_sgd_update",
    "nag_mom_update", "preloaded_multi_mp_sgd_mom_update", "preloaded_multi_mp_sgd_update",
    "preloaded_multi_sgd_mom_update", "preloaded_multi_sgd_update", "reset_arrays", "rmsprop_update",
    "rmspropalex_update", "sgd_mom_update", "sgd_update", "signsgd_update", "signum_update",
)  # fmt: skip
give_reason(
    "it reads and prepares images outside of networks",
    "_cvcopyMakeBorder", "_cvimdecode", "_cvimread", "_cvimresize",
)  # fmt: skip
give_reason("what it computes is code of the user's in Python", "Custom")
give_reason(
    "it is a step of rebind's own: networks go out as the user wrote them",
    "_channels_last", "_contiguous", "_joint_cells", "_joint_fully_connected", "_stack_rows",
)  # fmt: skip
give_reason(
    "it makes what a detector learns from labels, which belongs to training", "_contrib_MultiBoxTarget"
)
give_reason(
    "it finds ranges while a network is quantized; the network itself holds them",
    "_contrib_calibrate_entropy",
)
give_reason("it is the likelihood of a point process, which is maximized in training", "_contrib_hawkesll")
give_reason(
    "it takes sparse arrays, and ONNX's are dense", "_sparse_retain", "_contrib_getnnz", "_contrib_edge_id"
)
