"""A compiler that reads Stan's header as it was precompiled once for all programs of a session.

    python stan_header.py FOLDER gcc -O3 ... -c program.cpp -o program.o

Where Clang is installed it compiles instead, in half of GCC's time: with -O1, which makes programs
no slower, and the header's templates instantiated with the header. What Clang can't compile is left
to the compiler that was named, so that messages and status are that one's own. The header is
compiled with the options of the first program, and isn't read with other ones.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

HEADER = Path("stan", "model", "model_header.hpp")


def with_header(folder: Path, compiler: list[str], options: list[str]) -> list[str]:
    """Return the line that compiles one of PyStan's programs, the header made if it isn't."""
    header = folder / HEADER.name
    precompiled = folder / f"{HEADER.name}.gch"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not precompiled.exists():
            make(header, precompiled, compiler, options)
    return [*compiler, "-include", str(header), *options]


def make(header: Path, precompiled: Path, compiler: list[str], options: list[str]) -> None:
    """Compile httpstan's header, which has its own name once it is complete."""
    header.write_text(f"#include <{HEADER}>\n", encoding="utf-8")
    source = options.index("-c")
    kept = [*options[:source], *options[source + 2 :]]  # without the program
    kept[kept.index("-o") + 1] = f"{precompiled}.part"
    made = [*compiler, *kept, "-x", "c++-header", str(header)]
    if subprocess.run(made, check=False, capture_output=True).returncode == 0:
        Path(f"{precompiled}.part").rename(precompiled)
    else:
        precompiled.touch()  # no compiler reads an empty one, and it isn't made for each program


if __name__ == "__main__":
    folder, (compiler, *options) = Path(sys.argv[1]), sys.argv[2:]
    line = [compiler, *options]
    if "-c" in options and any("httpstan" in option for option in options):
        clang = shutil.which("clang++")
        if clang is None:
            line = with_header(folder, [compiler], options)
        else:
            instantiating = [clang, "-fpch-instantiate-templates"]
            faster = with_header(folder, instantiating, [*options, "-O1"])
            if subprocess.run(faster, check=False, capture_output=True).returncode == 0:
                sys.exit(0)
    os.execvp(line[0], line)
