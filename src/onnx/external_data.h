// External data of tensors: finds a file in the model's folder, opens and maps it once, and checks ranges.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "onnx/reader.h"
#include "onnx/weight_file.h"

namespace retort::onnx {

/// Bytes of a model, and whether tensors may refer to them.
struct Source {
  std::string_view bytes;
  std::shared_ptr<void> owner;
  bool keep = false;
};

/// The content of TensorProto.external_data. "checksum" and unknown keys are ignored, as by ONNX Runtime.
struct ExternalEntry {
  std::string_view location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  /// Sets one key; numbers are plain decimal digits.
  void set(std::string_view key, std::string_view value);
};

class ExternalFiles {
 public:
  /// `model_path` is "" for models from bytes. Both arguments must outlive the object.
  ExternalFiles(const ReadOptions& options, const std::string& model_path);
  /// Returns the `size` bytes of a tensor. Throws if the file is missing, outside of the folder or too short.
  Source find(const ExternalEntry& entry, size_t size);
  /// Bytes of all files opened so far.
  size_t total() const { return total_; }

 private:
  struct Opened {
    std::unique_ptr<File> file;  ///< untrusted: ranges are read individually; null for memory files
    Source all;                  ///< for trusted and memory files
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
