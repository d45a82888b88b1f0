"""Tensors stay in the memory where the model runs, and the program names neither provider nor vendor: a policy chooses a
device, the session says which memory its input wants, and the environment's allocator makes tensors there; one upload,
100 runs, one download.

    python any_device.py ../digits/digits.onnx [PROVIDER_LIBRARY]

The provider of ../providers/loopback has too few operators for that model; it runs ../java/templates.onnx.
"""
import sys

import digit
import numpy as np
import retort


# [policy]
def choose(devices, model, runtime, most):
    """The first device that is not the processor, if there is one. OrtExecutionProviderDevicePolicy has other policies."""
    return [device for device in devices if device.ep_name != "CPUExecutionProvider"][:1] or list(devices[:1])


# [place]
def copy(source: retort.OrtValue, target: retort.OrtValue) -> None:
    """Copies a tensor to another place; copy_tensors does not copy within host memory."""
    if source.device_name() == target.device_name() == "cpu":
        target.numpy()[:] = source.numpy()
    else:
        retort.copy_tensors([source], [target])
# [end]


def tell(session: retort.InferenceSession) -> None:
    vendor = session.get_input_memory_infos()[0].device_vendor_id
    if vendor:
        print(f"vendor {vendor:#06x} runs the model")
    else:
        print("no device with a provider here: the processor runs the model")


def main(model: str, *libraries: str) -> None:
    for library in libraries:
        retort.register_execution_provider_library("provider", library)
    # [flow]
    options = retort.SessionOptions()
    options.set_provider_selection_policy_delegate(choose)
    session = retort.InferenceSession(model, options)
    tell(session)  # its vendor id, known only now

    make = retort.OrtValue.ortvalue_from_shape_and_type
    shape = [extent if isinstance(extent, int) else 1 for extent in session.get_inputs()[0].shape]  # a batch of one
    device_image = make(shape, np.float32, memory_info=session.get_input_memory_infos()[0])
    device_result = make((1, 10), np.float32, memory_info=session.get_output_memory_infos()[0])
    binding = session.bind(image=device_image, probabilities=device_result)  # there already: no run copies anything

    image = retort.OrtValue.ortvalue_from_numpy(digit.two(0).reshape(shape))
    copy(image, device_image)  # one upload
    for _ in range(100):
        binding.run()
    result = make((1, 10), np.float32)
    copy(device_result, result)  # one download
    # [end]
    row = result.numpy()[0]
    print(f"100 runs: a {row.argmax()} ({100 * row.max():.1f} %)")


if __name__ == "__main__":
    main(*sys.argv[1:])
