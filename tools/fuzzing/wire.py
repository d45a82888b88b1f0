"""The form of messages between the fuzzer and its workers. Values are plain tuples, so that a worker needs neither
numpy nor onnx:

    ("tensor", element type of ONNX, dims, bytes)    sub-byte elements are packed, the first in the low bits
    ("strings", dims, [bytes])
    ("sparse", element type of ONNX, dims, bytes of the elements, their number, [indices of rows and columns] or [columns, where each row starts])
    ("sequence", [value])    ("map", keys, values)    ("none",) an empty optional
"""
import pickle
import struct


def write(stream, thing):
    data = pickle.dumps(thing)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def read(stream):
    """The next message; None at the end of the stream."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    size = struct.unpack("<Q", head)[0]
    data = stream.read(size)
    return pickle.loads(data) if len(data) == size else None
