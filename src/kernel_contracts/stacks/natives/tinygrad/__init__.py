"""The operations of the standard library as a user of tinygrad calls them.

Requirement: one call of tinygrad where it has the operation, in the format of the data. Where one of its layers is
several operations that each round to fp16 or bf16, the composition runs in float32 and rounds once.
"""
