"""Ray Data and Ray Serve on this machine, with the packages that make test-python-scale installs."""
import os

import numpy as np
import pytest

# The proxy of Ray Serve must start within 5 s by default; on a busy machine it is killed, and so is its next one.
os.environ.setdefault("RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S", "60")
# Ray's workers have a low priority by default, with which they hardly start beside other work.
os.environ.setdefault("RAY_worker_niceness", "0")
ray = pytest.importorskip("ray", reason="no Ray: make test-python-scale installs it")
pytest.importorskip("ray.serve")

import retort.ray  # noqa: E402
from retort._worker import Batches  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).random((150, 1, 8, 8), np.float32)


def test_map_batches(digits, images, tmp_path):
    expected = Batches(str(digits), cache=str(tmp_path))({"image": images})["probabilities"]
    data = ray.data.from_items([{"row": i, "image": image} for i, image in enumerate(images)])
    rows = retort.ray.map_batches(data, str(digits), workers=2, rows=32, cache=str(tmp_path)).take_all()
    assert len(rows) == len(images)
    for row in rows:
        np.testing.assert_array_equal(row["probabilities"], expected[row["row"]])
        np.testing.assert_array_equal(row["image"], images[row["row"]])


def test_bytes_of_a_model_and_no_other_columns(digits, images, tmp_path):
    data = ray.data.from_items([{"row": i, "image": image} for i, image in enumerate(images[:5])])
    row, = retort.ray.map_batches(data, digits.read_bytes(), rows=8, keep=False, cache=str(tmp_path)).take(1)
    assert set(row) == {"probabilities"}


def test_deployment(digits, images, tmp_path):
    """Twenty requests at once, which wait for each other and become batches of eight, and one over HTTP."""
    expected = Batches(str(digits), cache=str(tmp_path))({"image": images[:20]})["probabilities"]
    handle = ray.serve.run(retort.ray.deployment(str(digits), rows=8, wait=0.05, cache=str(tmp_path)), route_prefix="/digits")
    try:
        answers = [handle.remote({"image": image}) for image in images[:20]]
        for answer, row in zip(answers, expected):
            # Which requests share a run is a matter of time, and other numbers of rows may round differently.
            np.testing.assert_allclose(answer.result()["probabilities"], row, rtol=1e-5)
        import requests
        reply = requests.post("http://127.0.0.1:8000/digits", json={"image": images[0].tolist()}, timeout=30)
        np.testing.assert_allclose(reply.json()["probabilities"], expected[0], rtol=1e-5)
    finally:
        ray.serve.shutdown()
