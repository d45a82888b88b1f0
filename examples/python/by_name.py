"""CUDA by its name, as programs for ONNX Runtime select it: the provider in a list, and memory named "cuda". Without
CUDA, the processor runs the model.

    python by_name.py ../digits/digits.onnx
"""
import sys

import digit
import numpy as np
import retort


def main(model: str) -> None:
    # [names]
    has_cuda = "CUDAExecutionProvider" in retort.get_available_providers()
    cuda = [("CUDAExecutionProvider", {"device_id": 0})] if has_cuda else []
    session = retort.InferenceSession(model, providers=[*cuda, "CPUExecutionProvider"])
    place = "cuda" if has_cuda else "cpu"
    image = retort.OrtValue.ortvalue_from_numpy(digit.two(0).reshape(1, 1, 8, 8), place, 0)  # one upload
    binding = session.io_binding()
    binding.bind_input("image", place, 0, np.float32, image.shape(), image.data_ptr())
    binding.bind_output("probabilities", place)  # memory of the device, which the engine allocates
    for _ in range(100):
        session.run_with_iobinding(binding)
    row = binding.copy_outputs_to_cpu()[0][0]  # one download
    # [end]
    print(f"a {row.argmax()} ({100 * row.max():.1f} %)")


if __name__ == "__main__":
    main(*sys.argv[1:])
