"""The operations of the standard library as a user of JAX calls them.

Requirement: one call of JAX where it has the operation, in the format of the data. What JAX leaves to other packages
(losses, optimizers, collectives between processes) is not here.
"""
