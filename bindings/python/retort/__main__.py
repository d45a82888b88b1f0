"""The command-line tool: `python -m retort`, and the program `retort` that pip installs."""

import os
import subprocess
import sys
from typing import NoReturn

from . import _tool


def main() -> NoReturn:
    """Replaces this process with the tool, which uses the same library as this package."""
    try:
        tool = _tool.path()
    except FileNotFoundError as error:
        sys.exit(str(error))
    if os.name == "nt":  # execve() would return to the shell before the tool ends
        sys.exit(subprocess.run([tool, *sys.argv[1:]], env=_tool.environment(), check=False).returncode)
    os.execve(tool, ["retort", *sys.argv[1:]], _tool.environment())


if __name__ == "__main__":
    main()
