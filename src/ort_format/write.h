// Writes models in ORT format, version 6, or in another requested format.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "onnx/writer.h"
#include "ort_format/read.h"

namespace retort {

/// The format to save to: the one that session.save_model_format names, otherwise ORT for a name that ends in ".ort",
/// otherwise ONNX. Throws invalid_argument.
ModelFormat saved_format(const std::string& named, const std::string& path);

/// The bytes of a flatbuffer, beginning at a multiple of 32.
struct OrtBytes {
  std::shared_ptr<const void> owner;
  std::string_view bytes;
};

/// Returns the model as a flatbuffer that both this library and ONNX Runtime read: nodes have the version of their
/// operator's definition, edges, and the types that kernels are chosen by. Some operators that ONNX Runtime has only as
/// functions are expanded (expand.h). Weights are inside and begin at multiples of 32, so that load_model() uses them
/// in place. Functions must be inlined, and Constant nodes must be constants. Throws not_implemented for what the
/// format cannot represent (types of optional and sparse values), and invalid_argument beyond 2 GiB.
OrtBytes write_ort(const Model& model);

/// Writes the model to a file of that format (`any` is ONNX); an existing file is replaced completely or not at all.
/// The options do not apply to ORT format, whose weights are always inside.
void save_model(const Model& model, const std::string& path, ModelFormat format, const WriteOptions& options = {});

}  // namespace retort
