"""The shape of the output is known: every run writes it to the program's memory.

    python known_shape.py ../digits/digits.onnx
"""
import sys

import digit
import numpy as np
import retort


def main(model: str) -> None:
    session = retort.InferenceSession(model)
    # [bind]
    image = np.empty((1, 1, 8, 8), np.float32)  # the program's own memory
    probabilities = np.empty((1, 10), np.float32)
    binding = session.bind(image=image, probabilities=probabilities)  # read and written where they lie
    for down in range(3):
        image[:] = digit.two(down)  # only the contents change
        binding.run()
        best = probabilities[0].argmax()
        print(f"moved down by {down}: a {best} ({100 * probabilities[0, best]:.1f} %)")
    # [end]


if __name__ == "__main__":
    main(*sys.argv[1:])
