"""Q-learning with a replay memory and a target network: two executors, bound by hand and updated by an updater."""
import mxnet as mx
import numpy as np


def dqn_sym(action_num):
    data = mx.symbol.Variable('data')
    net = mx.symbol.FullyConnected(data=data, num_hidden=32, name='fc1')
    net = mx.symbol.Activation(data=net, act_type='relu', name='relu1')
    qvalue = mx.symbol.FullyConnected(data=net, name='qvalue', num_hidden=action_num)
    action = mx.symbol.Variable('dqn_action')
    reward = mx.symbol.Variable('dqn_reward')
    onehot = mx.symbol.one_hot(action, depth=action_num)
    chosen = mx.symbol.sum(qvalue * onehot, axis=1)
    loss = mx.symbol.MakeLoss(mx.symbol.smooth_l1(chosen - reward, scalar=1.0), normalization='batch', name='dqn')
    return mx.symbol.Group([loss, mx.symbol.BlockGrad(qvalue, name='q_out')])


class ReplayMemory(object):
    def __init__(self, size, rng):
        self.states = np.zeros((size, 4), 'float32')
        self.actions, self.rewards = np.zeros(size, 'int32'), np.zeros(size, 'float32')
        self.next_states, self.ends = np.zeros((size, 4), 'float32'), np.zeros(size, 'float32')
        self.size, self.top, self.count, self.rng = size, 0, 0, rng

    def append(self, state, action, reward, next_state, end):
        i = self.top
        self.states[i], self.actions[i], self.rewards[i] = state, action, reward
        self.next_states[i], self.ends[i] = next_state, end
        self.top = (i + 1) % self.size
        self.count = min(self.count + 1, self.size)

    def sample(self, n):
        picked = self.rng.randint(0, self.count, n)
        return (self.states[picked], self.actions[picked], self.rewards[picked], self.next_states[picked],
                self.ends[picked])


def play(rng, state, action):
    """A game on two dials: press the button of the larger one; three presses end it."""
    right = int(state[1] > state[0])
    reward = 1.0 if action == right else 0.0
    presses = state[3] + 1
    return np.array([rng.uniform(), rng.uniform(), 1, presses], 'float32'), reward, presses == 3


def copy_params(source, target):
    for name, array in source.arg_dict.items():
        if name.endswith('weight') or name.endswith('bias'):
            array.copyto(target.arg_dict[name])


def main():
    mx.random.seed(9)
    rng = np.random.RandomState(9)
    batch_size, freeze_interval, discount = 32, 50, 0.5
    net = dqn_sym(2)
    shapes = {'data': (batch_size, 4), 'dqn_action': (batch_size,), 'dqn_reward': (batch_size,)}
    req = {name: 'null' if name in shapes else 'write' for name in net.list_arguments()}
    online = net.simple_bind(ctx=mx.cpu(), grad_req=req, **shapes)
    target = net.simple_bind(ctx=mx.cpu(), grad_req='null', **shapes)
    actor = online.reshape(allow_up_sizing=False, partial_shaping=True, data=(1, 4), dqn_action=(1,), dqn_reward=(1,))
    initializer = mx.init.Xavier(factor_type='in', magnitude=2.34)
    params = {}
    for name, array in online.arg_dict.items():
        if name not in shapes:
            initializer(mx.init.InitDesc(name), array)
            params[name] = (array, online.grad_dict[name])
    copy_params(online, target)
    updater = mx.optimizer.get_updater(mx.optimizer.create('adagrad', learning_rate=0.05, eps=0.01))

    memory = ReplayMemory(1000, rng)
    state = np.array([rng.uniform(), rng.uniform(), 1, 0], 'float32')
    eps, rewards = 1.0, []
    for step in range(400):
        eps = max(0.05, eps - 0.005)
        if rng.rand() < eps:
            action = rng.randint(2)
        else:
            actor.arg_dict['data'][:] = state.reshape((1, 4))
            q = actor.forward(is_train=False)[1].asnumpy()
            action = int(q[0].argmax())
        following, reward, end = play(rng, state, action)
        memory.append(state, action, reward, following, end)
        state = np.array([rng.uniform(), rng.uniform(), 1, 0], 'float32') if end else following
        rewards.append(reward)
        if step < 64 or step % 2:
            continue
        states, actions, rs, nexts, ends = memory.sample(batch_size)
        target.forward(is_train=False, data=nexts)
        best = mx.nd.max(target.outputs[1], axis=1).asnumpy()
        online.forward(is_train=True, data=states, dqn_action=actions, dqn_reward=rs + best * (1.0 - ends) * discount)
        online.backward()
        for i, name in enumerate(sorted(params)):
            updater(i, params[name][1], params[name][0])
        if step % freeze_interval == 0:
            copy_params(online, target)
    print('reward of the last hundred steps %.3f' % np.mean(rewards[-100:]))


if __name__ == '__main__':
    main()
