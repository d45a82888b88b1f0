"""The shape of the output depends on data: the library allocates it, and the program gets an array over that memory.

    python unknown_shape.py ../io_binding/places.onnx
"""
import sys

import digit
import numpy as np
import retort


def main(model: str) -> None:
    session = retort.InferenceSession(model)
    image = np.empty((8, 8), np.float32)
    # [bind]
    binding = session.bind(image=image)  # an output without a place is allocated on the CPU
    for clear in range(3):
        image[:] = digit.two(0)
        image[:2 * clear] = 0  # fewer dark pixels each time
        rows, columns = binding.run()["places"]  # [2, found]
        print(f"{rows.size:2d} dark pixels, the first in row {rows[0]}, column {columns[0]}")
    # [end]


if __name__ == "__main__":
    main(*sys.argv[1:])
