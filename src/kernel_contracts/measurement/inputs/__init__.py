"""Input families and probes, one file each: whatever module here has a `FAMILY` is known to the contract language."""
