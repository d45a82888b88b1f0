// Reads models of either format: ONNX, or ORT format, which ONNX Runtime writes (flatbuffers, versions up to 6).
#pragma once
#include "onnx/reader.h"

namespace retort {

/// The format of a file or of bytes. `any`: ORT format if its identifier is found, otherwise ONNX.
enum class ModelFormat : uint8_t { any, onnx, ort };

/// The format that session.load_model_format names; "" is `any`. Throws invalid_argument.
ModelFormat model_format(const std::string& name);

/// Detects the format of bytes or of a file; never returns `any`. Throws if the file cannot be read.
ModelFormat detect_format(std::span<const std::byte> bytes);
ModelFormat detect_format(const std::string& path);

/// Like read_model(), for both formats. In ORT format, weights are used in place wherever read_model() would use
/// external data in place: in the file's mapping, or in bytes that the options allow it to keep. Nodes have the version
/// that the file gives for each. Throws what read_model() throws; fail for broken flatbuffers and for unsupported
/// versions of the format. Thread-safe.
std::shared_ptr<Model> load_model(const std::string& path, const ReadOptions& options = {},
                                  ModelFormat format = ModelFormat::any, FileIdentity* identity = nullptr);
std::shared_ptr<Model> load_model(std::span<const std::byte> bytes, const ReadOptions& options = {},
                                  ModelFormat format = ModelFormat::any);

}  // namespace retort
