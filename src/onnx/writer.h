// Writes models: in the model's own dialect as it was read, or in the core dialect that passes produce. Captures become
// names again, and constants become initializers.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "onnx/wire_writer.h"

namespace retort {

/// The place of a constant that has already been written elsewhere.
struct ConstantPlace {
  std::string location;  ///< the name by which the model refers to the file
  uint64_t offset = 0;
};

struct WriteOptions {
  /// Name of a file beside the model that takes the large constants of the main graph; "": none.
  std::string external_file;
  size_t external_threshold = 1024;  ///< constants of at least this many bytes are written there
  /// Constants of at least `external_aligned_from` bytes are aligned to `external_alignment` there, a power of two
  /// (pages, as the ONNX spec recommends); others to 8.
  size_t external_alignment = 4096, external_aligned_from = 0;
  /// Called for each constant, including those of bodies, unless empty. If it returns a place, the constant is not
  /// written to the model. It may be called more than once per constant.
  std::function<std::optional<ConstantPlace>(const std::string& name, const Tensor& constant)> locate;
  /// The operator sets that the file imports; empty: model.opsets.
  std::map<std::string, int> opsets;
};

/// The content of a model file in parts: large constants are only referred to, and must live as long.
struct WrittenModel {
  struct Piece {
    size_t offset;
    std::string_view bytes;
  };
  onnx::MessageWriter model;
  std::vector<Piece> external;  ///< the content of the file of external data, in order
  size_t external_size = 0;
};
/// Throws as write_model() does.
WrittenModel form_model(const Model& model, const WriteOptions& options = {});

/// Returns the bytes of an .onnx file. Constants of 256 bytes and more are aligned to 64 in it, so that read_model uses
/// them in place. Throws invalid_argument or not_implemented if ONNX cannot represent the model.
std::string write_model(const Model& model, const WriteOptions& options = {});
/// The same into a file, which appears completely or not at all. A file that is replaced stays intact for processes
/// that have mapped it.
void write_model(const Model& model, const std::string& path, const WriteOptions& options = {});

}  // namespace retort
