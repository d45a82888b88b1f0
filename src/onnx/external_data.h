// External data of tensors: finds the file beneath the model's folder, opens and maps it once, checks the range.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "onnx/reader.h"
#include "onnx/weight_file.h"

namespace retort::onnx {

/// Bytes of a model, and whether tensors may stay in them.
struct Source {
  std::string_view bytes;
  std::shared_ptr<void> owner;
  bool keep = false;
};

/// What the entries of TensorProto.external_data say. "checksum" and unknown keys are ignored, as by ONNX Runtime.
struct ExternalEntry {
  std::string_view location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  /// Takes one key and its value; numbers are plain decimal digits.
  void set(std::string_view key, std::string_view value);
};

class ExternalFiles {
 public:
  /// `model_path` is "" for models from bytes. Both must outlive the object.
  ExternalFiles(const ReadOptions& options, const std::string& model_path);
  /// The `size` bytes that a tensor needs. Throws when the file is missing, leads out of the folder or is too short.
  Source find(const ExternalEntry& entry, size_t size);
  /// Bytes of all files opened so far.
  size_t total() const { return total_; }

 private:
  struct Opened {
    std::unique_ptr<File> file;  ///< untrusted: read range by range; null for memory files
    Source all;                  ///< trusted and memory files
    uint64_t size = 0;
  };
  const Opened& open(std::string_view location);
  File open_file(std::string_view location) const;

  const ReadOptions& options_;
  std::string folder_, linked_folder_;
  std::map<std::string, Opened, std::less<>> opened_;
  size_t total_ = 0;
};

}  // namespace retort::onnx
