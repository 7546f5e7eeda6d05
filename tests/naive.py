"""The deterministic policies in plain NumPy, straight from the paper: an oracle that shares nothing with jaxids.

Trials are on the first axis; V_t is inverted anew at every step.
"""

import numpy as np


def play(name, features, means, rho, rho_bound, noise, *, delta=0.01, lam=1.0, norm_bound=1.0):
    """Actions and cumulative regret, both [n, steps], of UCB, W-UCB, DIDS-F or DIDS-UCB.

    features [n, K, d], means [n, K], rho [n, K], rho_bound [n], noise of scale one [n, steps].
    """
    trials, steps = noise.shape
    dim, rows = features.shape[-1], np.arange(trials)
    weights = np.broadcast_to(rho_bound[:, None], rho.shape) if name in ("UCB", "TS") else rho
    precision = np.broadcast_to(lam * np.eye(dim), (trials, dim, dim)).copy()
    moment = np.zeros((trials, dim))
    actions, regret = np.zeros((trials, steps), int), np.zeros((trials, steps))
    for t in range(steps):
        log_det = np.linalg.slogdet(precision)[1] - dim * np.log(lam)
        beta = np.sqrt(2 * np.log(1 / delta) + log_det) + np.sqrt(lam) * norm_bound
        action = choose(name, Posterior(features, precision, moment, weights, beta))
        x, weight = features[rows, action], weights[rows, action]
        reward = means[rows, action] + rho[rows, action] * noise[:, t]
        precision += x[:, :, None] * x[:, None, :] / weight[:, None, None] ** 2
        moment += x * (reward / weight**2)[:, None]
        actions[:, t], regret[:, t] = action, means.max(axis=1) - means[rows, action]
    return actions, regret.cumsum(axis=1)


class Posterior:
    """Weighted least squares on the actions, by the formulas of Section 4.1."""

    def __init__(self, features, precision, moment, rho, beta):
        self.features, self.rho, self.beta = features, rho, beta
        self.cov = np.linalg.inv(precision)
        self.theta = np.einsum("nij,nj->ni", self.cov, moment)
        self.mean = np.einsum("nkd,nd->nk", features, self.theta)
        self.joint = features @ self.cov @ features.swapaxes(1, 2)
        self.var = np.einsum("nkk->nk", self.joint)
        self.radius = beta[:, None] * np.sqrt(self.var)
        self.ucb = np.argmax(self.mean + self.radius, axis=1)

    def about(self, target):
        """Log σ(x')²/σ(x'|x)² for a target x'."""
        rows = np.arange(len(target))
        own = self.var[rows, target][:, None]
        after = own - self.joint[rows, :, target] ** 2 / (self.rho**2 + self.var)
        return np.log(own / after)


def choose(name, posterior):
    """The actions [n] that a policy plays."""
    if name in ("UCB", "W-UCB"):
        return posterior.ucb
    gap = np.max(posterior.mean + posterior.radius, axis=1)[:, None] - (posterior.mean - posterior.radius)
    gain = np.log(1 + posterior.var / posterior.rho**2) if name == "DIDS-F" else posterior.about(posterior.ucb)
    return np.argmin(gap**2 / gain, axis=1)
