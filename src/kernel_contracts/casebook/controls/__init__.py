"""Kernels that were suspected and are right, and kernels that any judge must tell apart."""
