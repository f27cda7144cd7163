"""A compiler that reads Stan's header as it was precompiled once for all programs of a session.

    python stan_header.py FOLDER gcc -O3 ... -c program.cpp -o program.o

All else is the compiler's own: its options, its messages, its status. The header is compiled with
the options of the first program, and the compiler leaves it out where those of another one differ.
"""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

HEADER = Path("stan", "model", "model_header.hpp")


def with_header(folder: Path, compiler: str, *options: str) -> list[str]:
    """Return the line that compiles one of PyStan's programs, the header made if it isn't."""
    precompiled = folder / HEADER.with_suffix(".hpp.gch")
    precompiled.parent.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not precompiled.exists():
            make(precompiled, compiler, *options)
    return [compiler, f"-I{folder}", "-include", str(HEADER), *options]


def make(precompiled: Path, compiler: str, *options: str) -> None:
    """Compile httpstan's header, which has its own name once it is complete."""
    header = precompiled.with_suffix("")
    header.write_text(f"#include_next <{HEADER}>\n", encoding="utf-8")
    source = options.index("-c")
    kept = [*options[:source], *options[source + 2 :]]  # without the program
    kept[kept.index("-o") + 1] = f"{precompiled}.part"
    # Its folder comes first, as #include_next goes on from there.
    made = [compiler, f"-I{precompiled.parents[2]}", *kept, "-x", "c++-header", str(header)]
    if subprocess.run(made, check=False, capture_output=True).returncode == 0:
        Path(f"{precompiled}.part").rename(precompiled)
    else:
        precompiled.touch()  # no compiler reads an empty one, and it isn't made for each program


if __name__ == "__main__":
    command = sys.argv[2:]
    if "-c" in command and any("httpstan" in option for option in command):
        command = with_header(Path(sys.argv[1]), *command)
    os.execvp(command[0], command)
