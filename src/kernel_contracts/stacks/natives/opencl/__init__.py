"""The operations of the standard library in OpenCL C, one file each: the short kernel that a textbook would print.

Requirement: `x_t` is the element type of the array `x`; an accumulator has the format of the data. No index is
checked, and the largest is taken by `fmax`, as is usual there.
"""
