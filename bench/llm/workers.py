"""Processes that run a language model: worker.cc on an engine library, peer.py on a package of llama.cpp."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class Worker:
    """One process; requests and replies as worker.cc tells."""

    def __init__(self, command, **env):
        self._command = command
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8",
                                         env={**os.environ, **env})

    def ask(self, **request):
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{' '.join(self._command)} ended with {self._process.wait()}")
        reply = json.loads(line)
        if "error" in reply:
            raise SystemExit(f"{' '.join(self._command)}: {reply['error']}")
        return reply

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def engine(program, library, folder, threads=1):
    return Worker([program, folder, str(threads)], RETORT_LIBRARY=library)


def peer(package, gguf, threads=1):
    return Worker([sys.executable, os.path.join(HERE, "peer.py"), package, gguf, str(threads)])
