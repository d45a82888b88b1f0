// A temporary folder for files that a scene writes; the destructor removes it.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace scenes {

class Folder {
 public:
  Folder() {
    path_ = (std::filesystem::temp_directory_path() / "retort_scene_XXXXXX").string();
    if (!mkdtemp(path_.data())) throw std::runtime_error("no folder " + path_);
  }
  ~Folder() {
    std::error_code gone;
    std::filesystem::remove_all(path_, gone);
  }
  Folder(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// The names in it, in order, as one text.
  std::string names() const {
    std::string all;
    for (const auto& entry : sorted()) all += entry + " ";
    return all;
  }
  bool has(const std::string& name) const { return std::filesystem::exists(path_ + "/" + name); }
  static std::string read(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::vector<std::string> sorted() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) all.push_back(entry.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }
  std::string path_;
};

}  // namespace scenes
