"""Measuring: inputs, shapes, the worker process that holds the kernel, and the session that ties them together.

Requirement: measures, judges nothing. Nothing here knows a contract class, an oracle or a tolerance by name.
"""
