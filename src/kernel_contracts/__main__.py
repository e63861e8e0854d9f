"""`python -m kernel_contracts` is `kc`."""

from kernel_contracts.cli import main

main()
