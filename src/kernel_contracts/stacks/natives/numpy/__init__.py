"""The operations of the standard library in plain NumPy: BLAS for products, textbook formulas for the rest.

Requirement: NumPy computes fp16 and bf16 element by element in those formats, so they are widened to float32 once, at
the start, and rounded once, at the end. The error function comes from the C library, one element at a time.
"""
