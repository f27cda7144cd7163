"""Run the command line by `python -m bayesdp`."""

from bayesdp.cli import main

main()
