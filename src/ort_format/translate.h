// A model in ORT format said in the words of ONNX: the same facts in other tables, so that one reader checks and builds
// both.
#pragma once
#include "onnx/wire_writer.h"
#include "ort_format/flat.h"

namespace retort::ort_format {

/// Name of the external data that all tensors with data refer to: the bytes of the model in ORT format themselves.
inline constexpr const char* kData = "the model in ORT format";

/// ModelProto of a model.
onnx::MessageWriter translate(Flat& flat);

}  // namespace retort::ort_format
