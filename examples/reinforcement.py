"""How to learn from rewards: an actor and a critic balance a pole on a cart, by head gradients made by hand.

The carts are a few lines of NumPy. The network has two outputs: the probabilities of pushing left and right, and the
value of a state. There are no labels: a push becomes more probable where it went better than the value promised. Run it
with `python examples/reinforcement.py --picture FILE.png`; the picture shows the progress.
"""

import argparse
import sys

import numpy as np

import rebind as mx

CARTS, UPDATES, DISCOUNT = 16, 60, 0.98
LIMIT = 200  # steps of an episode, at most; a step is a fiftieth of a second


def pushed(state, right):
    """Position, speed, angle and angular speed of each cart after a push of 10 N (Barto and others, 1983)."""
    _, speed, angle, turning = state.T
    cart, pole, half = 1.0, 0.1, 0.5  # masses in kg; half of the pole's length in m
    sine, cosine, mass = np.sin(angle), np.cos(angle), cart + pole
    thrust = (np.where(right, 10.0, -10.0) + pole * half * turning**2 * sine) / mass
    fall = (9.8 * sine - cosine * thrust) / (half * (4 / 3 - pole * cosine**2 / mass))
    return state + 0.02 * np.stack(
        [speed, thrust - pole * half * fall * cosine / mass, turning, fall], axis=1
    )


def network():
    """The logarithms of the probabilities of both pushes, and the value of a state."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=64, name="fc")
    net = mx.sym.Activation(net, act_type="tanh", name="tanh")
    policy = mx.sym.log_softmax(mx.sym.FullyConnected(net, num_hidden=2, name="policy"))
    return mx.sym.Group([policy, mx.sym.FullyConnected(net, num_hidden=1, name="value")])


def modules():
    """A module that plays with all carts, and one that learns from all steps; both have the same parameters."""
    learner, player = (mx.mod.Module(network(), label_names=None) for _ in range(2))
    learner.bind([("data", (LIMIT * CARTS, 4))])
    learner.init_params(mx.init.Xavier())
    learner.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.01, "rescale_grad": 1.0})
    player.bind([("data", (CARTS, 4))], for_training=False, shared_module=learner)
    return player, learner


def outputs_of(module, states, is_train=False):
    module.forward(mx.io.DataBatch([mx.nd.array(states)], []), is_train=is_train)
    return [output.asnumpy() for output in module.get_outputs()]


def play(player, random):
    """An episode of each cart: the states, the pushes, and which carts were still running, for every step."""
    states, (pushes, running) = np.zeros((LIMIT, CARTS, 4)), np.zeros((2, LIMIT, CARTS), bool)
    state, runs = random.uniform(-0.05, 0.05, (CARTS, 4)), np.ones(CARTS, bool)
    for t in range(LIMIT):
        policy, _ = outputs_of(player, state)
        states[t], running[t] = state, runs
        pushes[t] = random.uniform(size=CARTS) < np.exp(policy[:, 1])
        state = pushed(state, pushes[t])
        runs &= (abs(state[:, 0]) < 2.4) & (abs(state[:, 2]) < 0.21)  # on the track, and 12 degrees
        if not runs.any():
            break
    return states, pushes, running


def learn(learner, states, pushes, running):
    """One update: the reward of a step is 1, later ones count less."""
    returns, later = np.zeros((LIMIT, CARTS)), np.zeros(CARTS)
    for t in reversed(range(LIMIT)):
        later = running[t] * (1 + DISCOUNT * later)
        returns[t] = later * (1 - DISCOUNT)  # from 0 to 1
    policy, value = outputs_of(learner, states.reshape(-1, 4), is_train=True)
    weight = running.reshape(-1) / running.sum()
    advantage = returns.reshape(-1) - value[:, 0]
    value_grad = -weight * advantage
    advantage = (advantage - weight @ advantage) / np.sqrt(weight @ advantage**2)
    policy_grad = np.zeros_like(policy)
    policy_grad[np.arange(len(policy)), pushes.reshape(-1).astype(int)] = -weight * advantage
    learner.backward([mx.nd.array(policy_grad), mx.nd.array(value_grad[:, None])])
    learner.update()


def draw(path, lengths):
    """Draw how long the poles stay up."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 3.2), layout="constrained")
    ax = figure.subplots()
    ax.fill_between(range(UPDATES), np.min(lengths, axis=1), np.max(lengths, axis=1), alpha=0.2)
    ax.plot(np.mean(lengths, axis=1))
    ax.set(xlabel="update", ylabel="steps with the pole up", title=f"Mean and range of {CARTS} carts")
    ax.grid(alpha=0.3)
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw the progress into FILE")
    picture = parser.parse_args().picture
    mx.tune()
    mx.random.seed(0)  # the first weights
    random = np.random.RandomState(0)
    player, learner = modules()
    lengths = []
    for _ in range(UPDATES):
        episodes = play(player, random)
        learn(learner, *episodes)
        lengths.append(episodes[-1].sum(axis=0))
    first, last = np.mean(lengths[:5]), np.mean(lengths[-5:])
    print(f"Steps with the pole up: {first:.0f} at first, {last:.0f} at last")
    if picture:
        draw(picture, lengths)
    return 0 if last >= 120 else "reinforcement.py: the pole is to stay up for 120 steps"


if __name__ == "__main__":
    sys.exit(main())
