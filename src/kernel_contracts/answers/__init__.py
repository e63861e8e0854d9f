"""Judging answers that are at hand: arrays of the caller, beside what a contract admits for the same inputs."""
