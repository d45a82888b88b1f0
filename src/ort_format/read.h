// Reads models of either format: ONNX, or ORT format, which ONNX Runtime writes (flatbuffers, versions 5 and 6).
#pragma once
#include "onnx/reader.h"

namespace retort {

/// What a file or some bytes are taken for. `any`: ORT format where its identifier is there, else ONNX.
enum class ModelFormat : uint8_t { any, onnx, ort };

/// The format that session.load_model_format names; "" is `any`. Throws invalid_argument.
ModelFormat model_format(const std::string& name);

/// The format of bytes that nobody names; never `any`.
ModelFormat detect_format(std::span<const std::byte> bytes);

/// Like read_model(), for both formats. Of a model in ORT format, weights are used in place wherever read_model() would
/// use external data in place: in the file's mapping, or in bytes that the options let it keep. Nodes have the version
/// that the file says for each. Throws what read_model() throws; fail for broken flatbuffers and for versions of the
/// format that are not supported. Thread-safe.
std::shared_ptr<Model> load_model(const std::string& path, const ReadOptions& options = {},
                                  ModelFormat format = ModelFormat::any, FileIdentity* identity = nullptr);
std::shared_ptr<Model> load_model(std::span<const std::byte> bytes, const ReadOptions& options = {},
                                  ModelFormat format = ModelFormat::any);

}  // namespace retort
