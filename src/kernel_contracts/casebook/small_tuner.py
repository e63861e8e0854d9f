"""An autotuner with the parts that Triton's has: configs, a cache by key, a benchmark that runs on the real output."""

from __future__ import annotations

import time


class Config:
    def __init__(self, kwargs, num_warps=4, num_stages=3, pre_hook=None):
        self.kwargs, self.num_warps, self.num_stages, self.pre_hook = kwargs, num_warps, num_stages, pre_hook

    def all_kwargs(self):
        return dict(self.kwargs)

    def __str__(self):
        shown = [f"{k}: {v}" for k, v in self.kwargs.items()]
        return ", ".join([*shown, f"num_warps: {self.num_warps}", f"num_stages: {self.num_stages}"])


class Launched:
    """A kernel that is launched on a grid."""

    def __init__(self, fn):
        self.fn = fn

    def run(self, *args, grid, **kwargs):
        return self.fn(*args, **kwargs)


class Autotuner:
    def __init__(self, fn, configs, key, reset_to_zero=(), prune=None):
        self.fn, self.configs, self.keys = Launched(fn), configs, key
        self.arg_names = fn.__code__.co_varnames[: fn.__code__.co_argcount]
        self.reset_to_zero, self.early_config_prune = reset_to_zero, prune
        self.cache = {}

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, **kwargs)

    def _reset(self):
        for name in self.reset_to_zero:
            self.nargs[name][...] = 0

    def _bench(self, *args, config, **kwargs):
        began = time.perf_counter()
        for _ in range(2):
            self._reset()
            self.fn.run(*args, **kwargs, **config.all_kwargs())
        return time.perf_counter() - began

    def prune_configs(self, kwargs):
        if self.early_config_prune is None:
            return self.configs
        return self.early_config_prune(self.configs, self.nargs, **kwargs)

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        config = self.configs[0]
        if len(self.configs) > 1:
            key = tuple(self.nargs[k] for k in self.keys)
            if key not in self.cache:
                offered = self.prune_configs(kwargs)
                timings = {c: self._bench(*args, config=c, **kwargs) for c in offered} if len(offered) > 1 else {}
                self.cache[key] = min(timings, key=timings.get) if timings else offered[0]
            config = self.cache[key]
        self.best_config = config
        return self.fn.run(*args, **kwargs, **config.all_kwargs())


def autotune(configs, key, reset_to_zero=(), prune=None):
    return lambda fn: Autotuner(fn, configs, key, reset_to_zero, prune)
