"""The operations of the standard library as loops that Numba compiles.

Requirement: every function stands alone, since compiled code calls no plain function; an accumulator has the format
of the data. Nothing here runs before Numba has compiled it: `prange` then is Numba's, serial unless `parallel` is on.
"""
