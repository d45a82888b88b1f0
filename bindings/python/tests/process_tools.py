"""Python code that runs in a process of its own, with names that many cases need."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

HERE = str(Path(__file__).resolve().parent)
PRELUDE = f"""
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # processes in the background start with it ignored
sys.path.insert(0, {HERE!r})
import numpy as np
import retort
from models import add, endless, model
from onnx import helper
def product(n):
    return model([helper.make_node("MatMul", ["a", "b"], ["c"])], {{"a": [n, n], "b": [n, n]}}, {{"c": [n, n]}})
LONG = {{"steps": np.array(10**9), "start": np.zeros(256, np.float32)}}
SHORT = {{"steps": np.array(2), "start": np.zeros(256, np.float32)}}
FEED = {{"x": np.ones(4, np.float32), "y": np.ones(4, np.float32)}}
def press(after):
    def send():
        time.sleep(after)
        global pressed
        pressed = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=send, daemon=True).start()
"""


def run(code: str, timeout: float = 120) -> str:
    """What a Python process prints; it must end without an error."""
    program = PRELUDE + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr.decode() + done.stdout.decode()
    return done.stdout.decode()
