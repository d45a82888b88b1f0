"""A decoder whose past and present share one buffer: each step writes its row where the next step reads it.

    python kv_cache.py ../io_binding/decoder.onnx
"""
import sys

import numpy as np
import retort

WIDTH, HEADS, ROOM = 16, 2, 16


def main(model: str) -> None:
    options = retort.SessionOptions()
    # In Retort, a copy of the cache is then an error; other engines ignore the entry.
    options.add_session_config_entry("session.disallow_implicit_copies", "1")
    session = retort.InferenceSession(model, options)
    # [bind]
    keys = np.zeros((1, HEADS, ROOM, WIDTH // HEADS), np.float32)
    values = np.zeros_like(keys)
    x, y = np.empty((2, 1, 1, WIDTH), np.float32)
    last, total = np.zeros((2, 1), np.int32)  # where the step writes its row, and how many rows there are then
    binding = session.bind(x=x, last=last, total=total, past_key=keys, past_value=values,
                           present_key=keys, present_value=values, y=y)  # the same memory
    # [step]
    for step in range(6):
        x[:] = (7 * step + 3 * np.arange(WIDTH)) % 5 - 2  # the token of this step
        last[:], total[:] = step, step + 1
        binding.run()
        print(f"step {step}: " + " ".join(f"{value:.4f}" for value in y.flat[:3]))
    # [end]
    # Unwritten rows of the cache are still zero.
    taken = keys[0, 0].any(axis=1)
    print(f"{taken.sum() if taken[:6].all() else 'not 6'} of {ROOM} rows taken")


if __name__ == "__main__":
    main(*sys.argv[1:])
