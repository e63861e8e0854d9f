"""The operations of the standard library as plain C, one file each, compiled by the C compiler of this machine.

Requirement: `x_t` is the element type of the array `x`; an accumulator has the format of the data.
"""
