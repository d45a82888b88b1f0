// Writes models: the model's own dialect as it was read, or the core dialect that passes made. Captures become names
// again, constants initializers.
#pragma once
#include <string>

#include "ir/graph.h"

namespace retort {

struct WriteOptions {
  /// Name of a file beside the model that takes the large constants of the main graph; "": none. Only for files.
  std::string external_file;
  size_t external_threshold = 1024;  ///< bytes from which on a constant goes there
  /// What the file imports; empty: model.opsets.
  std::map<std::string, int> opsets;
};

/// The model as the bytes of an .onnx file. Constants of 256 bytes and more lie at multiples of 64 there, so that
/// read_model uses them in place. Throws invalid_argument or not_implemented on what ONNX cannot say.
std::string write_model(const Model& model, const WriteOptions& options = {});
/// The same into a file. It appears whole or not at all, and a file that is replaced stays intact for those who map it.
void write_model(const Model& model, const std::string& path, const WriteOptions& options = {});

}  // namespace retort
