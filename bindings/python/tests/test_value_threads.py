"""Values in many threads at once."""
import gc
import sys
import threading

import numpy as np
from retort.capi import _pybind_state as C

from value_tools import HOST, value_of

THREADS = 8


def in_threads(work):
    """Calls work(number) in THREADS threads; raises the first exception."""
    errors = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:  # pylint: disable=broad-exception-caught
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_one_value_is_read_by_all():
    array = np.arange(1000, dtype=np.float32)
    value = value_of(array)
    references = sys.getrefcount(array)

    def work(_):
        for _ in range(500):
            assert value.shape() == [1000] and value.data_type() == "tensor(float)"
            assert value.numpy()[999] == 999
            assert np.from_dlpack(value)[500] == 500

    in_threads(work)
    gc.collect()
    assert sys.getrefcount(array) == references


def test_each_makes_values_of_its_own():
    def work(number):
        for i in range(500):
            array = np.full(100, number * 1000 + i, np.int32)
            value = value_of(array)
            del array
            copy = C.OrtValue.ortvalue_from_shape_and_type([100], np.int32, HOST)
            copy.update_inplace(value)
            assert (copy.numpy() == number * 1000 + i).all()
            assert value_of(np.array([str(number)])).numpy().tolist() == [str(number)]

    in_threads(work)


def test_a_vector_is_filled_by_all():
    vector = C.OrtValueVector()

    def work(number):
        for _ in range(200):
            vector.push_back(value_of(np.full(3, number)))
            assert len(vector) > 0 and vector[0].shape() == [3]

    in_threads(work)
    assert len(vector) == THREADS * 200
    assert sorted({int(value.numpy()[0]) for value in vector}) == list(range(THREADS))


def test_values_are_released_in_another_thread():
    array = np.arange(100, dtype=np.float32)
    references = sys.getrefcount(array)
    values = [value_of(array) for _ in range(1000)]
    in_threads(lambda number: values[number * 100:(number + 1) * 100].clear())
    thread = threading.Thread(target=values.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert sys.getrefcount(array) == references
