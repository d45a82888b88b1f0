// Writes models in ORT format, version 6, or in whichever format is asked for.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "onnx/writer.h"
#include "ort_format/read.h"

namespace retort {

/// The format to save to: what session.save_model_format names, else ORT for a name that ends in ".ort", else ONNX.
/// Throws invalid_argument.
ModelFormat saved_format(const std::string& named, const std::string& path);

/// The bytes of a flatbuffer, at a multiple of 32.
struct OrtBytes {
  std::shared_ptr<const void> owner;
  std::string_view bytes;
};

/// The model as a flatbuffer that this library reads, and ONNX Runtime, too: nodes have the version of their operator's
/// definition, edges and the types that kernels are chosen by; operators that ONNX
/// Runtime has as functions only are expanded where that is simple (expand.h). Weights are inside and lie at multiples of 32, so that
/// load_model() uses them in place. Functions must be inlined and Constant nodes made constants. Throws not_implemented
/// on what the format cannot say (types of optional and sparse values), invalid_argument beyond 2 GiB.
OrtBytes write_ort(const Model& model);

/// The model into a file of that format (`any` is ONNX), which appears whole or not at all. Of the options ORT format
/// has none: its weights are always inside.
void save_model(const Model& model, const std::string& path, ModelFormat format, const WriteOptions& options = {});

}  // namespace retort
