"""The operations of the standard library as a user of MLX calls them.

Requirement: one call of MLX where it has the operation, in the format of the data.
"""
