"""The first run: loads a model, shows what it takes and gives, classifies three pictures at once.

    python first.py ../digits/digits.onnx
"""
import sys

import digit
import numpy as np
import retort


def main(model: str) -> None:
    # [run]
    session = retort.InferenceSession(model)
    for argument in (*session.get_inputs(), *session.get_outputs()):
        print(f"{argument.name}: {argument.type} of shape {argument.shape}")
    images = np.stack([digit.two(down)[None] for down in range(3)])  # batch, channel, rows, columns
    probabilities, = session.run(["probabilities"], {"image": images})
    for down, row in enumerate(probabilities):
        print(f"moved down by {down}: a {row.argmax()} ({100 * row.max():.1f} %)")
    # [mistake]
    try:
        session.run(None, {"image": images.astype(np.float64)})
    except retort.errors.InvalidArgument as error:
        print("a mistake:", type(error).__name__)
    # [end]


if __name__ == "__main__":
    main(*sys.argv[1:])
