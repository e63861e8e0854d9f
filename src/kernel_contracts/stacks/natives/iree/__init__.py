"""The operations of the standard library as small StableHLO modules, compiled by IREE for each shape.

Requirement: the instructions that front ends lower the operation to. Where they lower it to several that would each
round to fp16 or bf16, they run in fp32 and the answer is rounded once, as a fused kernel does.
"""
