"""The command-line tool inside the package, and how Python code runs it."""
import os
import subprocess

FOLDER = os.path.dirname(os.path.abspath(__file__))


def path() -> str:
    """The tool: the file that RETORT_TOOL names, else `retort` in the folder of this package.

    Raises FileNotFoundError if there is none.
    """
    found = os.environ.get("RETORT_TOOL") or os.path.join(FOLDER, "retort")
    if not os.access(found, os.X_OK):
        raise FileNotFoundError(
            f"the command-line tool {found} is missing or cannot be executed; install the package again, or set RETORT_TOOL to "
            "the program `retort` of a build"
        )
    return found


def run(*arguments: str) -> str:
    """Runs the tool and returns what it printed. Raises RuntimeError with its message if it fails.

    The tool opens the library that RETORT_LIBRARY names, else the one beside it.
    """
    done = subprocess.run([path(), *arguments], capture_output=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode:
        raise RuntimeError(f"retort {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
