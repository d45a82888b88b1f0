"""A web service whose workers inherit a session from the process that loaded it (gunicorn --preload)."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from common import PACKAGES

pytest.importorskip("gunicorn")
WORKERS, REQUESTS = 2, 40
SERVICE = """
import json, os
import numpy as np
import retort
from onnx import TensorProto, helper

product = helper.make_graph(
    [helper.make_node("MatMul", ["a", "b"], ["c"])], "g",
    [helper.make_tensor_value_info(name, TensorProto.FLOAT, [256, 256]) for name in "ab"],
    [helper.make_tensor_value_info("c", TensorProto.FLOAT, [256, 256])])
model = helper.make_model(product, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
options = retort.SessionOptions()
options.intra_op_num_threads = 2
session = retort.InferenceSession(model.SerializeToString(), options)
a = np.ones((256, 256), np.float32)
session.run(None, {"a": a, "b": a})  # its threads run before the workers are made
LOADED_BY = os.getpid()

def app(environment, start_response):
    total = float(session.run(None, {"a": a, "b": a})[0].sum())
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"total": total, "loaded_by": LOADED_BY, "pid": os.getpid()}).encode()]
"""


class Local(http.client.HTTPConnection):
    """A connection to a socket that is a file."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "service.py").write_text(SERVICE, encoding="utf-8")
    at = str(tmp_path / "socket")
    paths = os.pathsep.join([*PACKAGES, *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "gunicorn", "--preload", f"--workers={WORKERS}", f"--bind=unix:{at}", "--no-control-socket", "service:app"]
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, stdout=log, stderr=log)
        for _ in range(600):
            if os.path.exists(at) or process.poll() is not None:
                break
            time.sleep(0.1)
        assert process.poll() is None and os.path.exists(at), (tmp_path / "log").read_text(encoding="utf-8")
        yield at
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, (tmp_path / "log").read_text(encoding="utf-8")


@pytest.mark.retort_only("official ONNX Runtime has no threads in a child, and waits for them")
def test_workers_use_the_session_of_their_parent(service: str) -> None:
    answers = []
    for _ in range(REQUESTS):
        connection = Local(service)
        connection.request("GET", "/")
        answers.append(json.loads(connection.getresponse().read()))
        connection.close()
    assert {answer["total"] for answer in answers} == {256.0**3}
    assert len({answer["loaded_by"] for answer in answers}) == 1
    assert all(answer["pid"] != answer["loaded_by"] for answer in answers)
