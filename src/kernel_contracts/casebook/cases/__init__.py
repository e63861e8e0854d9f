"""Real faults, one a file, each rebuilt from its report beside a kernel that does the same job in the right way."""
