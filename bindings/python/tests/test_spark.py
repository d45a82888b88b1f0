"""Spark on this machine, with the packages that make test-python-scale installs."""
import os
import shutil
import sys

import numpy as np
import pytest

pyspark = pytest.importorskip("pyspark", reason="no Spark: make test-python-scale installs it")
pd = pytest.importorskip("pandas")

import retort.spark  # noqa: E402
from retort._worker import Batches  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("java") and not os.environ.get("JAVA_HOME"), reason="no Java")]


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (pyspark.sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
               .config("spark.sql.shuffle.partitions", "2").config("spark.driver.bindAddress", "127.0.0.1")
               .config("spark.driver.host", "127.0.0.1").getOrCreate())
    yield session
    session.stop()


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).random((150, 1, 8, 8), np.float32)


@pytest.fixture(scope="module")
def frame(spark, images):
    rows = pd.DataFrame({"row": np.arange(len(images)), "image": [image.ravel().tolist() for image in images]})
    return spark.createDataFrame(rows, "row int, image array<float>").repartition(2)


@pytest.fixture
def expected(digits, images, tmp_path):
    return Batches(str(digits), cache=str(tmp_path))({"image": images})["probabilities"]


def check(rows, expected):
    assert len(rows) == len(expected)
    for row in rows:
        np.testing.assert_allclose(row["probabilities"], expected[row["row"]], rtol=1e-6)


def test_predict_batch_udf(digits, frame, expected, tmp_path):
    from pyspark.ml.functions import predict_batch_udf
    from pyspark.sql.types import ArrayType, FloatType
    classify = predict_batch_udf(retort.spark.predictor(str(digits), cache=str(tmp_path)), return_type=ArrayType(FloatType()), batch_size=64,
                                 input_tensor_shapes=[[1, 8, 8]])
    check(frame.withColumn("probabilities", classify("image")).collect(), expected)


def test_map_in_pandas(digits, frame, expected, tmp_path):
    function = retort.spark.in_pandas(digits.read_bytes(), cache=str(tmp_path), shapes={"image": (1, 8, 8)})
    check(frame.mapInPandas(function, "row int, image array<float>, probabilities array<float>").collect(), expected)
