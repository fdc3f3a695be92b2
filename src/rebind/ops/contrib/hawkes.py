"""Self-exciting point processes."""

from __future__ import annotations

import torch
from torch import Tensor

from ...errors import ShapeError
from ...params import Params
from ..declaration import Shapes, operator

__all__ = ["hawkesll"]


@operator(
    "_contrib_hawkesll",
    outputs=("output", "out_state"),
    types={"marks": torch.int32},
)
def hawkesll(
    lda: Tensor,
    alpha: Tensor,
    beta: Tensor,
    state: Tensor,
    lags: Tensor,
    marks: Tensor,
    valid_length: Tensor,
    max_time: Tensor,
) -> tuple[Tensor, Tensor]:
    """Log likelihood of marked events under Hawkes processes with exponential decay, and the processes' new state.

    Each mark k has a process of its own, with the intensity
    ``lda[k] + alpha[k] * beta[k] * (s[k](0) * exp(-beta[k] t) + sum of exp(-beta[k] (t - t_i)))``, the sum over the
    earlier events of that mark. The state is ``s[k]``: the sum in brackets at a time. The log likelihood is the sum of
    the logarithms of the intensities at the events less the integral of all intensities up to `max_time`.

    As in MXNet, gradients flow to `lda`, `alpha` and `beta` alone, and from the first output alone.

    Bacry, Mastromatteo, Muzy: Hawkes processes in finance. Market Microstructure and Liquidity 1(1), 2015.

    Parameters
    ----------
    lda
        Intensity of each process without events.
    alpha
        How many events an event brings about: the branching ratio.
    beta
        How fast the effect of an event decays.
    state
        What earlier events have left at time 0.
    lags
        Times between events, the first since time 0; rows are filled up at their ends.
    marks
        To which process an event belongs, from 0 to K - 1.
    valid_length
        How many events a row has.
    max_time
        How long a row was observed.

    Shapes
    ------
    lda, state : (N, K)
    alpha, beta : (K,)
    lags, marks : (N, T)
    valid_length, max_time : (N,)
    out : (N,) and (N, K)

    >>> one = torch.ones(1, 1)
    >>> rate = torch.tensor([[0.5]])
    >>> hawkesll(rate, one[0], one[0], 0 * one, one, one.int() * 0, one[0], 4 * one[0])[0]
    tensor([-3.6434])
    """
    _check_shapes(lda, alpha, beta, state, lags, marks, valid_length, max_time)
    kinds, length = lda.shape[1], lags.shape[1]
    state, lags, horizon = state.detach(), lags.detach(), max_time.detach()[:, None]
    valid = torch.arange(length, device=lags.device) < valid_length.detach()[:, None]
    # Events of one mark beside each other, in the order of time; what fills up the rows comes last.
    marks = torch.where(valid, marks, kinds).to(dtype=torch.int64)
    marks, order = torch.sort(marks, dim=1, stable=True)
    time = torch.gather(lags.cumsum(1), 1, order)
    valid = marks < kinds
    kind = torch.where(valid, marks, 0)
    rate, decay = torch.gather(lda, 1, kind), beta[kind]
    before = torch.gather(state, 1, kind)
    # One scan over a sorted row runs all its processes: a factor of 0 at the first event of each cuts it there.
    first = torch.ones_like(valid)
    first[:, 1:] = marks[:, 1:] != marks[:, :-1]
    since = torch.where(first, time, torch.diff(time, dim=1, prepend=time[:, :1]))
    decayed = torch.exp(-decay * torch.where(valid, since, 0))
    # Ozaki's recursion (1979), which makes the sum over all earlier events one step from the last.
    # memory just before an event: decayed * (1 + memory before the previous one), or what the state has left
    memory = _scan(torch.where(first, 0, decayed), torch.where(first, before, 1) * decayed)
    intensity = torch.where(valid, rate + alpha[kind] * decay * memory, 1)
    left = torch.where(valid, horizon - time, 0)
    # An event adds ``alpha (1 - exp(-beta * left))`` to the integral; `expm1` is exact for short times too.
    arisen = torch.log(intensity) + alpha[kind] * torch.expm1(-decay * left)
    # Of the intensities without the row's own events, whose share is in `arisen`.
    integral = (lda * horizon - alpha * state * torch.expm1(-beta * horizon)).sum(1)
    likelihood = torch.where(valid, arisen, 0).sum(1) - integral
    # As in MXNet no gradient flows from the new state.
    with torch.no_grad():
        remains = torch.where(valid, torch.exp(-decay * left), 0)
        new_state = (state * torch.exp(-beta * horizon)).scatter_add(1, kind, remains)
    return likelihood, new_state


def _scan(factor: Tensor, term: Tensor) -> Tensor:
    """Return ``y[:, j] = term[:, j] + factor[:, j] * y[:, j - 1]`` in as many steps as the length has binary digits."""
    # By doubling (Hillis and Steele, 1986): after each round a term contains twice as many of those before it.
    shift = 1
    while shift < term.shape[1]:
        earlier = torch.nn.functional.pad(term[:, :-shift], (shift, 0))
        term = term + factor * earlier
        factor = factor * torch.nn.functional.pad(factor[:, :-shift], (shift, 0))
        shift *= 2
    return term


def _check_shapes(lda: Tensor, *arrays: Tensor) -> None:
    names = ("alpha", "beta", "state", "lags", "marks", "valid_length", "max_time")
    if lda.ndim != 2:
        raise ShapeError(f"lda must have shape (N, K); got {tuple(lda.shape)}")
    lags = arrays[3]
    if lags.ndim != 2:
        raise ShapeError(f"lags must have shape (N, T); got {tuple(lags.shape)}")
    wanted = _shapes(tuple(lda.shape), tuple(lags.shape))
    for name, array in zip(names, arrays, strict=True):
        if tuple(array.shape) != wanted[name]:
            raise ShapeError(
                f"{name} must have shape {wanted[name]} to match lda {tuple(lda.shape)} and lags "
                f"{tuple(lags.shape)}; got {tuple(array.shape)}"
            )


def _shapes(lda: tuple[int, ...], lags: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    # 0 is unknown; one of the two may be known.
    rows = lda[0] or lags[0]
    return {
        "alpha": (lda[1],),
        "beta": (lda[1],),
        "state": (rows, lda[1]),
        "lags": (rows, lags[1]),
        "marks": (rows, lags[1]),
        "valid_length": (rows,),
        "max_time": (rows,),
    }


@hawkesll.fill_shapes
def _(shapes: Shapes, p: Params) -> Shapes:
    lda, lags = shapes["lda"] or (0, 0), shapes["lags"] or (0, 0)
    if len(lda) != 2 or len(lags) != 2:
        return {}
    return _shapes(lda, lags)
