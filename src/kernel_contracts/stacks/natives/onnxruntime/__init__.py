"""The operations of the standard library as models of one or two nodes, run by ONNX Runtime.

Requirement: the node that the ONNX standard has for the operation, in the format of the data. What the standard has
no node for is not here.
"""
