"""The operations of the standard library as tensor expressions of TVM, compiled for the sizes that come.

Requirement: TVM's operator library where it has the operation. What adds up says in which dtype: the data is cast to
the accumulator before, and rounded to its own format once, afterwards.
"""
