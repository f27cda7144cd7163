"""`python -m bayesdp`."""

from bayesdp.cli import main

main()
