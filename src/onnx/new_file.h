// Files that appear whole or not at all.
#pragma once
#include <string>
#include <string_view>

namespace retort::onnx {

/// A file under another name, until it is complete. What `path` names is replaced then (through symbolic links), and stays
/// intact for those who have it open. Throws fail where it cannot be written, invalid_argument for what is no regular file.
class NewFile {
 public:
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;

  void write_at(size_t offset, std::string_view bytes);
  void finish();

 private:
  std::string path_, temporary_;
  int fd_;
};

}  // namespace retort::onnx
