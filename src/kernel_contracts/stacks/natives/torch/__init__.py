"""The operations of the standard library as a user of PyTorch calls them.

Requirement: one call of PyTorch where it has the operation. Where eager PyTorch composes several that each round to
fp16 or bf16, the composition runs in float32 and rounds once, as a fused kernel does.
"""
