"""The command-line tool: `python -m retort`, and the program `retort` that pip installs."""

import os
import subprocess
import sys
from typing import NoReturn

from . import _tool


def main() -> NoReturn:
    """Replaces this process with the tool, which uses the library that RETORT_LIBRARY names, else the one beside it."""
    try:
        tool = _tool.path()
    except FileNotFoundError as error:
        sys.exit(str(error))
    if os.name == "nt":  # execv() would return to the shell before the tool ends
        sys.exit(subprocess.run([tool, *sys.argv[1:]], check=False).returncode)
    os.execv(tool, ["retort", *sys.argv[1:]])


if __name__ == "__main__":
    main()
