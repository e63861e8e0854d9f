"""An ONNX file as a model of ours: each node that computes becomes operations of the standard library.

Requirement: a rule never changes what a node computes; what has no operation is refused by the name of its node.
"""
