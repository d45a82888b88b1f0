"""The command-line tool: `python -m retort`, and the program `retort` that pip installs."""
import os
import sys
from typing import NoReturn

from . import _tool


def main() -> NoReturn:
    """Replaces this process with the tool, which uses the library that RETORT_LIBRARY names, else the one of this package."""
    try:
        path = _tool.path()
    except FileNotFoundError as error:
        sys.exit(str(error))
    os.execv(path, ["retort", *sys.argv[1:]])


if __name__ == "__main__":
    main()
