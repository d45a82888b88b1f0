// Files that appear completely or not at all.
#pragma once
#include <string>
#include <string_view>

namespace retort::onnx {

/// A file that has no name until it is complete, or a temporary one where the file system requires a name. It then
/// replaces the file at `path` (through symbolic links), which stays intact for processes that have it open. Throws fail
/// if it cannot be written, invalid_argument if `path` is not a regular file.
class NewFile {
 public:
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;

  void write_at(size_t offset, std::string_view bytes);
  void finish();

 private:
  void open_named();
  /// Gives a file without a name its own, if no file has that: then nothing is left of a process that is killed.
  bool take_free_name();
  void give_name();

  std::string path_, temporary_;  ///< the second is empty as long as the file has no name
  int fd_;
};

}  // namespace retort::onnx
