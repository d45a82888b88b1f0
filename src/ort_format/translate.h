// Translates a model in ORT format to ONNX messages, so that one reader checks and builds both.
#pragma once
#include "onnx/wire_writer.h"
#include "ort_format/flat.h"

namespace retort::ort_format {

/// The name of the external data that all tensors refer to: the bytes of the model in ORT format.
inline constexpr const char* kData = "the model in ORT format";

/// Returns the model's ModelProto.
onnx::MessageWriter translate(Flat& flat);

}  // namespace retort::ort_format
