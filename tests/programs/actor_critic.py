"""Reinforcement learning: an actor-critic walks to the middle of a corridor; head gradients are made by hand."""
from __future__ import print_function
from itertools import chain

import mxnet as mx
import numpy as np


class Corridor(object):
    """Nine cells; the episode ends in the middle, with a reward, or after 12 steps."""

    def __init__(self, rng):
        self.rng = rng
        self.reset()

    def reset(self):
        self.position = self.rng.choice([0, 1, 2, 6, 7, 8])
        self.steps = 0
        return self.observe()

    def observe(self):
        x = np.zeros(9, dtype='float32')
        x[self.position] = 1
        return x

    def step(self, action):
        self.position = min(max(self.position + (1 if action else -1), 0), 8)
        self.steps += 1
        found = self.position == 4
        return self.observe(), 1.0 if found else -0.1, found or self.steps == 12


class Agent(object):
    def __init__(self, input_size, act_space, config):
        self.input_size, self.num_envs, self.config = input_size, config['num_envs'], config
        net = mx.sym.FullyConnected(data=mx.sym.Variable('data'), name='fc1', num_hidden=32, no_bias=True)
        net = mx.sym.Activation(data=net, name='relu1', act_type='relu')
        self.policy = mx.sym.SoftmaxActivation(
            mx.sym.FullyConnected(data=net, name='policy_fc', num_hidden=act_space), name='policy')
        # a log that the loss can be taken from, kept away from 0
        log_policy = mx.sym.log(data=mx.sym.clip(self.policy, 1e-20, 1.0), name='log_policy')
        out_value = mx.sym.FullyConnected(data=net, name='value_fc', num_hidden=1)
        neg_entropy = self.policy * log_policy
        self.sym = mx.sym.Group([log_policy, mx.sym.MakeLoss(neg_entropy, grad_scale=config['entropy_wt']), out_value])
        self.model = mx.mod.Module(self.sym, data_names=('data',), label_names=None)
        self.paralell_num = config['num_envs'] * config['t_max']
        self.model.bind(data_shapes=[('data', (self.paralell_num, input_size))], label_shapes=None, grad_req='write')
        self.model.init_params(mx.init.Xavier(rnd_type='gaussian', factor_type='in', magnitude=2.34))
        self.model.init_optimizer(kvstore='local', optimizer='adam', optimizer_params={
            'learning_rate': config['learning_rate'], 'clip_gradient': 10., 'rescale_grad': 1.0})

    def act(self, ps):
        us = np.random.uniform(size=ps.shape[0])[:, np.newaxis]
        return (np.cumsum(ps, axis=1) > us).argmax(axis=1)

    def forward(self, ps, is_train):
        n = ps.shape[0]
        if n != self.paralell_num:
            self.model.reshape([('data', (n, self.input_size))])
            self.paralell_num = n
        self.model.forward(mx.io.DataBatch(data=[mx.nd.array(ps)], label=None), is_train=is_train)
        return self.model.get_outputs()

    def train_step(self, env_xs, env_as, env_rs, env_vs):
        xs = np.vstack(list(chain.from_iterable(env_xs)))
        actions = np.array(list(chain.from_iterable(env_as)))
        log_policy, _, value = self.forward(xs, True)
        returns, advs = [], []
        for rs, vs in zip(env_rs, env_vs):
            total = []
            for r in reversed(rs):
                total.append(r + self.config['gamma'] * (total[-1] if total else 0.0))
            returns.extend(reversed(total))
            advs.extend(np.array(total[::-1]) - np.array(vs))
        advs, returns = np.array(advs, 'float32'), np.array(returns, 'float32')
        scale = 1.0 / self.num_envs
        policy_grad = mx.nd.zeros(log_policy.shape)
        policy_grad = mx.nd.fill_element_0index(policy_grad, mx.nd.array(-advs * scale), mx.nd.array(actions))
        value_grad = self.config['vf_wt'] * scale * (value - mx.nd.array(returns).reshape((-1, 1)))
        self.model.backward(out_grads=[policy_grad, mx.nd.zeros(log_policy.shape), value_grad])
        self.model.update()


if __name__ == '__main__':
    mx.random.seed(4)
    np.random.seed(4)
    config = dict(num_envs=8, t_max=1, learning_rate=0.02, gamma=0.9, vf_wt=0.5, entropy_wt=0.01)
    envs = [Corridor(np.random.RandomState(i)) for i in range(config['num_envs'])]
    agent = Agent(9, 2, config)
    running_reward = None
    for episode in range(40):
        env_xs, env_as, env_rs, env_vs = ([[] for _ in envs] for _ in range(4))
        xs, done = [env.reset() for env in envs], [False] * len(envs)
        while not all(done):
            log_ps, _, values = agent.forward(np.array(xs), False)
            actions = agent.act(np.exp(log_ps.asnumpy()))
            values = values.asnumpy().ravel()
            for i, env in enumerate(envs):
                if done[i]:
                    continue
                env_xs[i].append(xs[i])
                env_as[i].append(actions[i])
                env_vs[i].append(values[i])
                xs[i], reward, done[i] = env.step(actions[i])
                env_rs[i].append(reward)
        agent.train_step(env_xs, env_as, env_rs, env_vs)
        mean = np.mean([sum(rs) for rs in env_rs])
        running_reward = mean if running_reward is None else 0.8 * running_reward + 0.2 * mean
    print('running reward %.3f' % running_reward)
