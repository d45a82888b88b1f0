// OpenVINO as a side of a measurement.
#pragma once
#include "bench/side.h"

namespace retort::cli {

/// `library` is what dlopen gave for OpenVINO's C library in `file`.
std::unique_ptr<Side> openvino_side(void* library, const std::string& file, bool own_precision);

}  // namespace retort::cli
