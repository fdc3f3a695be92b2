"""Why some operators cannot be exported, such as those for training and those that no network of a user holds."""

from __future__ import annotations

from ....ops import find
from ..translations import REASONS

__all__ = ["give_reason"]


def give_reason(reason: str, *names: str) -> None:
    """Declare why operators cannot be exported."""
    for name in names:
        REASONS[find(name).name] = reason


give_reason(
    "it draws candidates for a sampled loss, which is used in training only", "_sample_unique_zipfian"
)
give_reason(
    "it updates weights during training, and ONNX graphs are for inference",
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
give_reason("it runs Python code of the user", "Custom")
give_reason(
    "it is internal to rebind; networks are exported as the user wrote them",
    "_channels_last", "_contiguous", "_joint_cells", "_joint_fully_connected", "_stack_rows",
)  # fmt: skip
give_reason(
    "it computes the training targets of a detector, which inference does not need", "_contrib_MultiBoxTarget"
)
give_reason(
    "it finds ranges when a network is quantized; the quantized network holds the ranges themselves",
    "_contrib_calibrate_entropy",
)
give_reason("it is a likelihood that is maximized in training", "_contrib_hawkesll")
give_reason(
    "it takes sparse arrays, and ONNX's are dense", "_sparse_retain", "_contrib_getnnz", "_contrib_edge_id"
)
