"""Arithmetic stated exactly: rounding, summation orders and the three interpretations of a tensor program."""
