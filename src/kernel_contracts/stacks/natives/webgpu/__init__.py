"""The operations of the standard library in WGSL, one file each: the short shader that a textbook would print.

Requirement: `x_t` is the element type of the array `x`. No index is checked, and the largest is taken by `max`.
"""
