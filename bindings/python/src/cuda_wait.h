// CUDA's driver, where this process has opened it: what shares device memory waits for the device.
#pragma once

namespace retort::python {

// Waits until the device has done all work of this process. Does nothing where no driver is open, since then nothing is
// on a device. The caller holds the GIL, which is released meanwhile. False if the device reports an error.
bool wait_for_cuda(int device) noexcept;

}  // namespace retort::python
