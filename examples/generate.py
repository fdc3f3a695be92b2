"""How to generate text letter by letter: a GRU learns lines of a sonnet by heart, its state handed on by hand.

It learns from pieces of the text with the fused cell, each from the state in which the piece before it ended; it
recites with the same weights in cells that take one step. Run it with `python examples/generate.py`; it takes about ten
seconds on two cores.
"""

import sys
from pathlib import Path

import numpy as np

import rebind as mx

TEXT = Path(__file__).parent / "data" / "sonnets.txt"
FIRST_WORDS = "Shall I compare thee"
HIDDEN, EMBEDDED, PIECE, EPOCHS = 96, 24, 30, 60
GOAL = 0.98  # the share of letters that it is to recite right


def lines():
    """Eight lines of the sonnet that begins with those words, as many letters of them as fill pieces."""
    text = TEXT.read_text(encoding="ascii")
    text = "\n".join(text[text.index(FIRST_WORDS) :].split("\n")[:8])
    return text[: (len(text) - 1) // PIECE * PIECE + 1]  # the last letter only follows


def scores_of(outputs, letters):
    """What follows the cells: a score for each letter."""
    return mx.sym.FullyConnected(outputs, num_hidden=letters, name="scores")


def embedded(letters):
    return mx.sym.Embedding(mx.sym.var("data"), input_dim=letters, output_dim=EMBEDDED, name="embed")


def learn(cell, numbers, letters):
    """Train on the pieces in order, the state of each the last one of the piece before; return the parameters."""
    begin = cell.begin_state(func=mx.sym.var)
    outputs, states = cell.unroll(PIECE, embedded(letters), begin_state=begin, layout="TNC")
    loss = mx.sym.SoftmaxOutput(
        scores_of(mx.sym.Reshape(outputs, shape=(-1, HIDDEN)), letters),
        mx.sym.Reshape(mx.sym.var("softmax_label"), shape=(-1,)),
        normalization="batch",
        name="softmax",
    )
    net = mx.sym.Group([loss, *map(mx.sym.BlockGrad, states)])
    names = [state.name for state in begin]
    start = [mx.nd.zeros((cell.state_shape[0][0], 1, HIDDEN)) for _ in begin]

    module = mx.mod.Module(net, data_names=["data", *names])
    layout = {"layout": "TN"}
    module.bind(
        [mx.io.DataDesc("data", (PIECE, 1), **layout)]
        + [mx.io.DataDesc(name, state.shape, layout="LNC") for name, state in zip(names, start, strict=True)],
        [mx.io.DataDesc("softmax_label", (PIECE, 1), **layout)],
    )
    module.init_params(mx.init.Xavier())
    module.init_optimizer(
        optimizer="adam", optimizer_params={"learning_rate": 0.005, "rescale_grad": 1.0, "clip_gradient": 1.0}
    )
    pieces = [
        (numbers[at : at + PIECE, None], numbers[at + 1 : at + PIECE + 1, None])
        for at in range(0, len(numbers) - 1, PIECE)
    ]
    for _ in range(EPOCHS):
        carried = start
        for data, label in pieces:
            batch = mx.io.DataBatch([mx.nd.array(data), *carried], [mx.nd.array(label)])
            module.forward_backward(batch)
            module.update()
            # Copies: the next forward writes into the outputs.
            carried = [state.copy() for state in module.get_outputs()[1:]]
    return module.get_params()[0]


def recite(cell, params, numbers, letters, count):
    """Return letters, each the likeliest after the ones before it; the first are given."""
    cell.reset()
    begin = cell.begin_state(func=mx.sym.var)
    output, states = cell(embedded(letters), begin)
    net = mx.sym.Group([scores_of(output, letters), *states])
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(1,))  # the states have its batch size
    executor.copy_params_from(params)
    said = list(numbers)
    for at in range(count - 1):
        executor.arg_dict["data"][:] = said[at]
        scores, *after = executor.forward()
        for state, value in zip(begin, after, strict=True):
            executor.arg_dict[state.name][:] = value
        if at + 1 >= len(numbers):
            said.append(int(scores.asnumpy().argmax()))
    return said


def main():
    mx.tune()
    np.random.seed(0)
    mx.random.seed(0)
    text = lines()
    letters = sorted(set(text))
    numbers = np.array([letters.index(letter) for letter in text])
    fused = mx.rnn.FusedRNNCell(HIDDEN, mode="gru", get_next_state=True)
    params = learn(fused, numbers, len(letters))
    cell = fused.unfuse()
    unfused = cell.pack_weights(fused.unpack_weights(params))
    said = recite(cell, unfused, numbers[: len(FIRST_WORDS)], len(letters), len(numbers))
    print("".join(letters[number] for number in said))
    right = float(np.mean(np.array(said) == numbers))
    print(f"\n{right:.1%} of {len(numbers)} letters are right")
    return 0 if right >= GOAL else f"generate.py: {GOAL:.0%} of the letters are to be right"


if __name__ == "__main__":
    sys.exit(main())
