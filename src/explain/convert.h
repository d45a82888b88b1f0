// Model files of either format, with their weights inside or beside.
#pragma once
#include <string>

#include "ort_format/write.h"

namespace retort {

/// Reads `from` and writes the same model, in its own dialect, to `to`. In ORT format functions are expanded, Constant
/// nodes become constants and types are inferred where the model tells none. Throws Error, also for external weights of
/// ORT format; a file that is replaced appears whole or not at all.
void convert_model(const std::string& from, const std::string& to, ModelFormat format, const WriteOptions& options);

}  // namespace retort
