"""Execution stacks: one file each, found by listing this folder.

Requirement: importing a file here imports no framework. To add a stack, add a file that ends in `STACK = ...`, an
object with the methods of `base.Stack`; the tests, the command line and the worker find it.
"""
