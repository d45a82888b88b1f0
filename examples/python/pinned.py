"""Memory that the device can read directly ("pinned"), if there is a device: copies from it are faster and need no second
buffer in the driver. Without a device it is ordinary memory, and the program is the same.

    python pinned.py ../digits/digits.onnx [PROVIDER_LIBRARY]
"""
import sys

import digit
import numpy as np
import retort


# [allocator]
def staging(device: "retort.OrtEpDevice | None") -> "retort.OrtMemoryInfo | None":
    """The memory that the host writes and this device reads; None if the device has no such memory."""
    try:
        return device and device.memory_info(retort.OrtDeviceMemoryType.HOST_ACCESSIBLE)
    except RuntimeError:
        return None
# [end]


def choose(devices, model, runtime, most):
    """The first device that is not the processor, if there is one."""
    return [device for device in devices if device.ep_name != "CPUExecutionProvider"][:1] or list(devices[:1])


def main(model: str, *libraries: str) -> None:
    for library in libraries:
        retort.register_execution_provider_library("provider", library)
    options = retort.SessionOptions()
    options.set_provider_selection_policy_delegate(choose)
    session = retort.InferenceSession(model, options)
    memory = staging(session.get_input_epdevices()[0])
    print(f"staged in {'pinned' if memory else 'ordinary'} memory")
    # [bind]
    make = retort.OrtValue.ortvalue_from_shape_and_type  # without memory_info, in ordinary memory
    shape = [extent if isinstance(extent, int) else 1 for extent in session.get_inputs()[0].shape]  # a batch of one
    image = make(shape, np.float32, memory_info=memory)
    probabilities = make((1, 10), np.float32, memory_info=memory)
    pixels, row = image.numpy().reshape(8, 8), probabilities.numpy()[0]  # arrays over the same memory
    binding = session.bind(probabilities=probabilities)
    for down in range(3):
        pixels[:] = digit.two(down)
        binding.bind(image=image).run()  # if it is ordinary memory, a device reads a copy, which is made here
        print(f"moved down by {down}: a {row.argmax()}")
    # [end]


if __name__ == "__main__":
    main(*sys.argv[1:])
