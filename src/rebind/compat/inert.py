"""Names of MXNet's that are there to be imported only, beside those of `table`: whole modules, and private helpers."""

from __future__ import annotations

from .table import BY_NAME, TABLE, Absent, Later

__all__ = ["MODULES", "STANDS_FOR"]

# The public names of modules that rebind does not have, or not yet, by MXNet's path. A program can import them; what to
# use instead is in the table of paths, in the row of the path or of one above it.
MODULES: dict[str, str] = {
    "contrib.io": "DataLoaderIter",
    "kvstore_server": "KVStoreServer",
    "library": "load",
    "notebook": "bokeh",
    "notebook.callback": "LiveBokehChart LiveLearningCurve LiveTimeSeries PandasLogger args_wrapper",
    "rtc": "CudaKernel CudaModule Rtc",
}

# Of the C library too: they are under every path.
_PRIVATE = """
    _BatchNorm _BinaryClassificationMetrics _BulkScope _CachedOp _CachedOpThreadSafe _CrossDeviceCopy _CustomFunction
    _MXClassPropertyDescriptor _MXClassPropertyMetaClass _NDArray _Native _NoGradient _NullType _NumpyArrayScope
    _NumpyShapeScope _RecordingStateScope _Registry _array _as_classic _broadcast_shapes _build_param_doc
    _c_dlpack_deleter _cells_begin_state _cells_pack_weights _cells_state_info _cells_state_shape _cells_unpack_weights
    _normalize_sequence _cast_symbol_NDArray _check_data _check_shape _construct_subgraph _create
    _csr_matrix_from_definition _ctype_dict _ctype_key_value _cut_subgraph _dlpack_deleter _empty_ndarray
    _empty_sparse_ndarray _find_error_type _find_max_violation _flatten _flatten_list _generate_op_module_signature
    _get_broadcast_shape _get_dim_size _get_fun_to_wrap _get_graph_inputs _get_index_range
    _get_kvstore_server_command_type _get_op_name_prefix _get_op_submodule_name _get_powerlaw_dataset_csr
    _get_rescale_grad _get_slice_len _get_sym_uniq_name _get_uniform_dataset_csr _get_unique_subgraph_name
    _getdata_by_idx _has_instance _imdecode _imperative_invoke _init_io_module _init_np_op_module
    _int64_enabled _int_to_slice _is_advanced_index _is_np_op _make_io_iterator _monitor_callback_wrapper
    _np_ndarray_cls _np_symbol_cls _output_is_list _parse_aux_states _parse_head _parse_location _prepare_default_dtype
    _prepare_src_array _random_helper _register _regroup _row_sparse_ndarray_from_definition _sanity_check_params
    _set_ndarray_class _set_np_array _set_np_ndarray_class _set_np_symbol_class _set_symbol_class _set_value
    _shape_for_bcast _slice_along_batch_axis _sorted_dict _sorted_items _sparse_array _storage_type _str2tuple
    _symbol_creator _train_multi_device _ufunc_helper _update_params_on_kvstore_nccl _updater_wrapper _valid_error_name
    _validate_csr_generation_inputs _wrap_loss_output_functions _wrap_symbol_functions _zeros_ndarray
    _zeros_sparse_ndarray c_int_p check_boolean_array_dimension dl_managed_tensor_deleter DeleterFunc
    PyCapsuleDestructor ConnectionWrapper fetcher_loop_v1 rebuild_ndarray rebuild_np_ndarray reduce_ndarray
    reduce_np_ndarray worker_loop_v1 replace_file
"""


def _instead(path: str) -> str:
    """Return what the table of paths says to use instead of a module."""
    while True:
        row = TABLE.get(path)
        if isinstance(row, (Absent, Later)):
            return row.instead
        path = path.rpartition(".")[0]


#: What to use instead of a name that can only be imported: by MXNet's whole path, or by the name alone.
STANDS_FOR: dict[str, str] = {
    **dict.fromkeys(_PRIVATE.split(), "It is a private helper of MXNet's own code."),
    **{f"{path}.{name}": _instead(path) for path, names in MODULES.items() for name in names.split()},
    **BY_NAME,
}
