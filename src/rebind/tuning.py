"""Numbers that were found by measuring, or that bound memory: in one record, each with what it decides and its source.

They change how fast rebind is and how much memory it takes; results are the same, but for rounding. Formats, protocols
and MXNet's own limits stay where they are used. `rebind.tune` is another matter: it sets malloc and OpenMP.

A graph is made ready with the record of its `Target`, so that plans follow it. All other code asks `current`, mostly
when something is bound or made, and not in each call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

__all__ = ["Tuning", "changed", "current"]


@dataclass(frozen=True)
class Tuning:
    """The numbers by name, of which the last word says the unit.

    Examples
    --------
    >>> Tuning().explicit_result_bytes == 8 * 2**20
    True
    """

    # Executors: training.

    #: Up to so many bytes of results of all operators a network goes forward and backward without autograd. Then what
    #: derivatives are given may be held until backward ends: a small MLP takes 0.84 of the time, steps of 2 to 8 ms
    #: 0.92 to 0.98 (docs/faster.md, "Small networks"). Beyond, autograd's own time does not count.
    explicit_result_bytes: int = 8 * 2**20
    #: From so many bytes of gradients on they are added to zeros where they were bound, not replaced by new arrays
    #: between the large ones of a step: training ResNet-50 takes 1.35 GB instead of 1.65 (docs/faster.md).
    large_gradient_bytes: int = 8 * 2**20
    #: Products with at most so many multiply-adds for each element of the result are computed again in backward under
    #: ``recompute``: they take about as long as a few passes over it (docs/faster.md, "Training in less memory").
    recomputed_products: int = 256
    #: A tensor that an operator saves beside its inputs and outputs, such as the statistics of a batch norm, is not
    #: computed again if it is smaller than the largest input by this factor: that would cost more than it is worth.
    saved_tensor_factor: int = 16

    # Commands.

    #: A command that takes longer than so many seconds shows a bar in a terminal: less is no wait.
    bar_delay_seconds: float = 2.0

    # Executors: inputs and outputs.

    #: Outputs of so many elements or fewer are copied out of inference mode: that takes less time than to look at their
    #: memory.
    copied_output_elements: int = 1 << 12
    #: From so many elements of all outputs on those of the last run are freed before the next one: an LSTM over 10,000
    #: words takes 463 MiB instead of 600. Of small networks each call counts.
    released_output_elements: int = 1 << 18

    # Passes: inference on the CPU.

    #: Convolutions of images of up to so many multiply-adds are products of matrices: 0.5 to 0.7 of the time of a call
    #: of oneDNN's, most of which is PyTorch's description of the convolution (docs/faster.md, "Inference").
    tiny_convolution_products: int = 150_000
    #: Dense layers of fewer units are left as they are: hardly any of them has a weight that is packed.
    packed_dense_units: int = 64
    #: Weights of dense layers are packed from so many elements on. For smaller ones oneDNN's call, which takes 15 µs
    #: longer than MKL's, costs more than it saves.
    packed_weight_elements: int = 1 << 18
    #: From so many elements on weights are left as they are again. What does not fit in the processor's cache takes,
    #: packed, 1.3 times as long for a single row (for 4 to 16 rows 0.7), and twice its memory until it is known to come
    #: back as it was.
    unpacked_weight_elements: int = 1 << 23

    # Executors: compilers, CUDA graphs, and what stays bound.

    #: Up to so many nodes a traced graph's kernels are called from C++: LeNet and the MLP take 3 to 5 % less time.
    #: Larger graphs compile much longer so (docs/faster.md, "Compiled mode").
    cpp_wrapper_nodes: int = 1000
    #: For how many combinations of shapes inference is compiled where its passes use them. Other code is compiled as
    #: often: for the first one, and for all others.
    compiled_shape_combinations: int = 2
    #: How many captures as CUDA graphs there may be of one code, each with memory of its own. Where more are asked for,
    #: its inputs never stay where they are.
    cuda_graph_captures: int = 8
    #: For how many combinations of sizes CUDA graphs stay, besides those of the last run.
    cuda_graph_sizes: int = 7
    #: How many combinations of input shapes a data-parallel group leaves bound. One that comes again costs nothing
    #: then; each holds memory.
    bound_shape_combinations: int = 16

    # Operators: layers on the CPU.

    #: From so many elements of a weight on oneDNN is asked for products in float32, which is quicker than MKL there. Of
    #: smaller layers the calls are what takes time. Dense layers read it once, at import.
    onednn_weight_elements: int = 1 << 19
    #: From so many rows on it is asked for their gradients, too.
    onednn_gradient_rows: int = 2
    #: It copies a head gradient, transposed, for the gradient of a weight. From so many elements of it on, with at most
    #: so many inputs of the layer, that takes longer than it saves: for 1024 rows, 200 x 10,000, 2.3 times as long as
    #: MKL. An LSTM over 10,000 words takes 100 ms instead of 113.
    transposed_copy_elements: int = 1 << 20
    transposed_copy_inputs: int = 512
    #: Images of fewer elements are pooled by PyTorch's own walk, which costs less than several calls on slices.
    pooling_slice_elements: int = 1 << 12
    #: The same for maxima of images with their channels last, and up to how many channels: there PyTorch's, which notes
    #: where each maximum was, takes 1.1 to 3 times as long in inference.
    channels_last_slice_elements: int = 1 << 17
    channels_last_slice_channels: int = 64
    #: From so many columns on filters that span the data's width are taken as filters of more channels.
    wide_filter_columns: int = 8
    #: With fewer channels in a group a group norm takes images in the order of their axes: where the channels lie
    #: together it is slow backward, 2 to 17 times as slow with one.
    group_norm_channels: int = 8
    #: From so many elements of a result on compiled code calls PyTorch's convolutions and maxima as they are: then that
    #: saves more than it costs.
    opaque_call_elements: int = 1 << 16

    # Operators: others.

    #: Up to so many multiply-adds one thread computes a product with a csr matrix, or with its transpose. A second one
    #: saves up to 0.05 ms, and beside other work 6 ms and more are spent waiting for it.
    one_thread_sparse_products: int = 1 << 18
    one_thread_transposed_products: int = 1 << 20
    #: An update of rows with fewer numbers runs in one thread, for the same reason.
    one_thread_row_elements: int = 1 << 20
    #: Up to so many elements sorting them all takes less than the calls that avoid it.
    sorted_elements: int = 2048
    #: From so many elements along the axis on the few best ones are looked for in the best blocks.
    blocked_top_elements: int = 1 << 14
    #: About how many pairs of boxes are compared in one piece: it bounds an intermediate result to 2 MB in float32.
    suppression_pairs: int = 1 << 19
    #: About how many elements a table of candidates has in the calibration of int8: 8 MB in float64.
    calibration_elements: int = 1 << 20

    # Arrays.

    #: How many forms of calls (types and parameters) an imperative function remembers: a program may compute parameters
    #: without end.
    remembered_call_forms: int = 1024
    #: From so many bytes on a new array is in huge pages, if the system has them: glibc gives it memory of its own, and
    #: a lazy update of its rows takes 0.4 to 0.7 of the time (docs/performance.md, "Sparse arrays").
    huge_page_bytes: int = 32 * 2**20
    #: From so many bytes on the numbers of an array in a file are mapped, not read (docs/sparse.md, "Large files").
    mapped_array_bytes: int = 64 * 2**20
    #: Up to so many bytes a copy to a GPU goes through pinned memory. Larger ones, such as of parameters, are few, and
    #: pinned memory stays with the process.
    pinned_copy_bytes: int = 1 << 28

    # Key-value stores. The first five must be the same in all workers.

    #: A bucket of gradients is full with so many bytes. Sending begins with the first that is full, while backward
    #: computes the rest (docs/distributed.md). An array of half as many is alone in one, and is sent from where it is:
    #: a push of ResNet-18 takes 0.93 of the processor's time that it takes with arrays of 4 MB copied.
    bucket_bytes: int = 8 * 2**20
    #: Keys of fewer elements are not divided among servers: a message for each part would cost more than the work that
    #: it shares. ``MXNET_KVSTORE_BIGARRAY_BOUND`` goes first.
    divided_key_elements: int = 4096
    #: By backend how sums and rows travel: by messages in stages, or by its own reduce-scatter and all-gather.
    #: Gloo's reduce-scatter is an all-reduce inside: it sends twice the bytes, and takes 1 to 2.5 times the processor's
    #: time (docs/distributed.md). NCCL's follow the links within and between machines.
    exchange_forms: tuple[tuple[str, str], ...] = (("gloo", "staged"), ("nccl", "collective"))
    #: Up to so many workers each sends its share to every other one. More are a mesh of lines of so many, as far as
    #: their number has such factors: with 8 on one machine each sends 4 messages in place of 7, and 64 KB take 0.78 ms
    #: of the processor's time in place of 1.40, 1 MB 1.36 in place of 1.60 (docs/distributed.md).
    line_workers: int = 4
    #: How many bytes of an optimizer's states travel together: enough that messages cost little, and little beside the
    #: states themselves.
    state_message_bytes: int = 64 * 2**20
    #: A message to a server is full with so many bytes: the server applies it while the next one arrives.
    server_message_bytes: int = 4 * 2**20
    #: Arrays of fewer bytes are joined with others of their message, so that it is few packets.
    joined_array_bytes: int = 32 * 1024
    #: So many pushes of one combination of keys may wait for a server; the next one waits for the first of them.
    waiting_pushes: int = 8
    #: A server looks for numbers that are not finite at the first update of a value and then at each of so many: such
    #: numbers stay.
    finite_check_updates: int = 64
    #: So many elements, a multiple of 8, are compressed at once: few enough to stay in the processor's cache from step
    #: to step.
    compression_block_elements: int = 128 * 1024

    # Input, and metrics.

    #: More labels than this are not looked through before training: each batch of them would be read twice.
    checked_labels: int = 10_000_000
    #: What it costs a thread and its caller, about, to hand a batch over. Batches that take less time to read, or to
    #: work on, are read when they are asked for.
    hand_over_seconds: float = 3e-4
    #: How many batches `PrefetchingIter` reads ahead, each with the memory that it takes.
    prefetched_batches: int = 2
    #: Text is read in chunks of so many bytes, whose arrays of numbers stay in the processor's cache.
    text_chunk_bytes: int = 1 << 18
    #: How many lines of word vectors are parsed in one call.
    parsed_lines: int = 4096
    #: Records are read through a buffer of so many bytes: large enough for several small records, small enough to throw
    #: away after a jump to another one.
    record_buffer_bytes: int = 1 << 16
    #: Up to so many scores NumPy counts for the accuracy: it takes a third of the time that PyTorch needs to begin its
    #: operators.
    numpy_score_elements: int = 1 << 15
    #: How many pairs of a label and a prediction, and how many tensors of them, wait to be counted for F1, MCC and PCC:
    #: to count means to wait for the device, to wait takes memory.
    waiting_pairs: int = 1 << 20
    waiting_pair_tensors: int = 256


_current = Tuning()


def current() -> Tuning:
    """Return the numbers that are in use in this process.

    >>> current() == Tuning()
    True
    """
    return _current


@contextmanager
def changed(**values: object) -> Iterator[None]:
    """Use other numbers within a ``with`` block, in all threads: for tests and measurements.

    >>> with changed(explicit_result_bytes=0):
    ...     current().explicit_result_bytes
    0
    """
    global _current
    before = _current
    _current = replace(before, **values)  # type: ignore[arg-type]  # mypy knows no fields behind **
    try:
        yield
    finally:
        _current = before
