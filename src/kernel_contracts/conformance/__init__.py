"""Measuring many platforms and settling what differs between them: run directories and the arbiter."""
