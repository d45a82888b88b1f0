// Writes models: the model's own dialect as it was read, or the core dialect that passes made. Captures become names
// again, constants initializers.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "onnx/wire_writer.h"

namespace retort {

/// Where a constant lies that somebody else has written.
struct ConstantPlace {
  std::string location;  ///< as the model will name the file
  uint64_t offset = 0;
};

struct WriteOptions {
  /// Name of a file beside the model that takes the large constants of the main graph; "": none.
  std::string external_file;
  size_t external_threshold = 1024;  ///< bytes from which on a constant goes there
  /// Constants of so many bytes and more begin at multiples of the alignment there, a power of two (pages, as the ONNX
  /// spec recommends); others at multiples of 8.
  size_t external_alignment = 4096, external_aligned_from = 0;
  /// Asked for each constant, bodies included, unless empty: what it answers with stays out of the model. It may be asked
  /// more than once.
  std::function<std::optional<ConstantPlace>(const std::string& name, const Tensor& constant)> locate;
  /// What the file imports; empty: model.opsets.
  std::map<std::string, int> opsets;
};

/// A model in the form of its file, in parts: large constants are only referred to, and must live as long.
struct WrittenModel {
  struct Piece {
    size_t offset;
    std::string_view bytes;
  };
  onnx::MessageWriter model;
  std::vector<Piece> external;  ///< of the file of external data, in order
  size_t external_size = 0;
};
/// Throws as write_model() does.
WrittenModel form_model(const Model& model, const WriteOptions& options = {});

/// The model as the bytes of an .onnx file. Constants of 256 bytes and more lie at multiples of 64 there, so that
/// read_model uses them in place. Throws invalid_argument or not_implemented on what ONNX cannot say.
std::string write_model(const Model& model, const WriteOptions& options = {});
/// The same into a file. It appears whole or not at all, and a file that is replaced stays intact for those who map it.
void write_model(const Model& model, const std::string& path, const WriteOptions& options = {});

}  // namespace retort
