#include "onnx/external_data.h"

#include <charconv>
#include <cstdlib>

#include "base/advice.h"
#include "base/checked.h"

namespace retort::onnx {
namespace {

uint64_t number(std::string_view key, std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error == std::errc() && end == text.data() + text.size() && value <= INT64_MAX, ErrorCode::invalid_graph,
          "{} of external data is '{}', which is not a number of bytes; write the model again", key, text);
  return value;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "./" : path.substr(0, slash + 1);
}

/// The path with links resolved, or "" if it does not exist. Folders end in '/'.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  std::string text = real ? real.get() : "";
  if (path.ends_with('/') && !text.ends_with('/')) text += '/';
  return text;
}

}  // namespace

void ExternalEntry::set(std::string_view key, std::string_view value) {
  if (key == "location") location = value;
  if (key == "offset") offset = number(key, value);
  if (key == "length") length = number(key, value);
}

// Download caches contain a link to the model and links to its data, all of which lead to one other folder. In that
// case the folder that contains the model itself is accepted too.
ExternalFiles::ExternalFiles(const ReadOptions& options, const std::string& model_path) : options_(options) {
  folder_ = options.external_folder.empty() ? folder_of(model_path) : options.external_folder;
  if (!options.external_folder.empty() || model_path.empty()) return;
  const std::string linked = folder_of(real_path(model_path));
  if (linked != real_path(folder_)) linked_folder_ = linked;
}

File ExternalFiles::open_file(std::string_view location) const {
  try {
    return File::open_beneath(folder_, location);
  } catch (Error& error) {
    advise(error, cat("put the file into the folder '{}'", folder_));
    if (error.code() != ErrorCode::invalid_argument || linked_folder_.empty()) throw;
    const std::string target = real_path(folder_ + std::string(location));
    if (!target.starts_with(linked_folder_)) throw;
    return File::open_beneath(linked_folder_, std::string_view(target).substr(linked_folder_.size()));
  }
}

const ExternalFiles::Opened& ExternalFiles::open(std::string_view location) {
  if (const auto found = opened_.find(location); found != opened_.end()) return found->second;
  Opened o;
  if (const auto memory = options_.memory_files.find(location); memory != options_.memory_files.end()) {
    const auto& [bytes, owner, outlives] = memory->second;
    o.size = bytes.size();
    o.all = {{reinterpret_cast<const char*>(bytes.data()), bytes.size()}, owner, outlives || owner};
  } else {
    File file = open_file(location);
    if (options_.files) options_.files->push_back({file.identity(), std::string(location)});
    o.size = file.size();
    if (options_.trusted) {
      std::shared_ptr<void> mapping = file.map();
      const std::string_view bytes(static_cast<const char*>(mapping.get()), file.size());
      o.all = {bytes, std::move(mapping), true};
    } else {
      o.file = std::make_unique<File>(std::move(file));
    }
  }
  total_ = checked_add(total_, size_t(o.size), "size of external data");
  return opened_.emplace(std::string(location), std::move(o)).first->second;
}

Source ExternalFiles::find(const ExternalEntry& entry, size_t size) {
  require(!entry.location.empty(), ErrorCode::invalid_graph, "external data has no location");
  require(!entry.length || *entry.length == size, ErrorCode::invalid_graph,
          "external data is {} bytes long, but the tensor needs {}; write the model again", entry.length.value_or(0),
          size);
  const Opened& o = open(entry.location);
  require(entry.offset <= o.size && size <= o.size - entry.offset, ErrorCode::invalid_graph,
          "'{}' has {} bytes, but the tensor needs {} from byte {}; copy the file again, it is incomplete",
          entry.location, o.size, size, entry.offset);
  if (!o.file) return {o.all.bytes.substr(size_t(entry.offset), size), o.all.owner, o.all.keep};
  std::shared_ptr<void> memory = o.file->read(entry.offset, size);
  const std::string_view bytes(static_cast<const char*>(memory.get()), size);
  return {bytes, std::move(memory), true};
}

}  // namespace retort::onnx
