"""Kernels that cheat on purpose, numbered as in the survey of such cheats, grouped by idea: a tuple `CHEATS` a file."""
