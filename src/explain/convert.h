// Converts model files between formats, with weights inside the file or beside it.
#pragma once
#include <string>

#include "ort_format/write.h"

namespace retort {

/// Reads `from` and writes the same model, in its own dialect, to `to`. For ORT format, functions are expanded,
/// Constant nodes become constants, and missing types are inferred. Throws Error, also for external weights in ORT
/// format. An existing file is replaced completely or not at all.
void convert_model(const std::string& from, const std::string& to, ModelFormat format, const WriteOptions& options);

}  // namespace retort
