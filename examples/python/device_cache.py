"""A decoder whose cache stays on the device where the model runs: past and present share one buffer there, and each step
only sends its token and gets its result. Without a device, the cache is in memory of the host.

    python device_cache.py ../io_binding/decoder.onnx [PROVIDER_LIBRARY]
"""
import sys

import numpy as np
import retort

WIDTH, HEADS, ROOM = 16, 2, 16


def choose(devices, model, runtime, most):
    """The first device that is not the processor, if there is one."""
    return [device for device in devices if device.ep_name != "CPUExecutionProvider"][:1] or list(devices[:1])


def main(model: str, *libraries: str) -> None:
    for library in libraries:
        retort.register_execution_provider_library("provider", library)
    options = retort.SessionOptions()
    options.set_provider_selection_policy_delegate(choose)
    session = retort.InferenceSession(model, options)
    # [bind]
    place = dict(zip((value.name for value in session.get_inputs()), session.get_input_memory_infos()))["past_key"]
    make = retort.OrtValue.ortvalue_from_shape_and_type
    rows = np.zeros((1, HEADS, ROOM, WIDTH // HEADS), np.float32)
    keys, values = (make(rows.shape, np.float32, memory_info=place) for _ in range(2))
    keys.update_inplace(rows)
    values.update_inplace(rows)
    x, y = np.empty((2, 1, 1, WIDTH), np.float32)
    last, total = np.zeros((2, 1), np.int32)  # where the step writes its row, and how many rows there are then
    binding = session.bind(past_key=keys, past_value=values, present_key=keys, present_value=values, y=y)  # the same memory
    # [step]
    for step in range(6):
        x[:] = (7 * step + 3 * np.arange(WIDTH)) % 5 - 2  # the token of this step
        last[:], total[:] = step, step + 1
        binding.bind(x=x, last=last, total=total).run()  # a device gets copies, which are made here
        print(f"step {step}: " + " ".join(f"{value:.4f}" for value in y.flat[:3]))
    # [end]
    # Unwritten rows of the cache are still zero.
    host = retort.OrtValue.ortvalue_from_numpy(rows)
    host.update_inplace(keys)
    taken = host.numpy()[0, 0].any(axis=1)
    print(f"{taken.sum() if taken[:6].all() else 'not 6'} of {ROOM} rows taken")


if __name__ == "__main__":
    main(*sys.argv[1:])
