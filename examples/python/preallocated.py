"""Batches of different sizes in memory for the largest: nothing is allocated after the start.

    python preallocated.py ../digits/digits.onnx
"""
import sys

import digit
import numpy as np
import retort


def main(model: str) -> None:
    session = retort.InferenceSession(model)
    # [bind]
    images = np.stack([digit.two(down)[None] for down in range(8)])
    probabilities = np.empty((8, 10), np.float32)
    binding = session.bind()
    for batch in (8, 3, 5):
        # Views of the front of the same memory: binding a name again replaces what was bound to it.
        binding.bind(image=images[:batch], probabilities=probabilities[:batch]).run()
        print(f"batch of {batch}:", *probabilities[:batch].argmax(axis=1))
    # [end]


if __name__ == "__main__":
    main(*sys.argv[1:])
