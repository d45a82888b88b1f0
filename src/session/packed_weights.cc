#include "session/packed_weights.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "ops/run_context.h"

namespace retort {
namespace {

constexpr const char* kKey = "session.packed_weights_cache";

std::string absolute(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  return real ? real.get() : path;
}

// "resnet50" for "/models/resnet50.onnx", shortened so that it fits in the name of a file.
std::string stem(const std::string& path) {
  const size_t begin = path.rfind('/') + 1;
  const std::string name = path.substr(begin, path.find('.', begin + 1) - begin);
  return name.empty() ? "model" : name.substr(0, 100);
}

void add_tensors(Fingerprint& to, const std::map<std::string, Tensor>& tensors) {
  for (const auto& [name, tensor] : tensors) {
    to.add(name);
    to.add(cat("{}{}", dtype_name(tensor.dtype()), to_string(tensor.shape())));
    if (tensor.dtype() == DType::string) {
      for (size_t i = 0; i < tensor.count(); ++i) to.add(tensor.data<std::string>()[i]);
    } else {
      to.add(tensor.data(), tensor.bytes());
    }
  }
}

// Adds all options that may change the plan. Options that change nothing do no harm here.
void add_options(Fingerprint& to, const SessionOptions& options) {
  to.add(uint64_t(options.optimization));
  to.add(options.config.size());
  for (const auto& [key, value] : options.config) {
    if (key == kKey) continue;
    to.add(key);
    to.add(value);
  }
  for (const auto* extents : {&options.dims_by_name, &options.dims_by_denotation}) {
    to.add(extents->size());
    for (const auto& [name, extent] : *extents) {
      to.add(name);
      to.add(uint64_t(extent));
    }
  }
}

// Adds the values that the caller gives in place of the model's.
void add_given(Fingerprint& to, const SessionOptions& options) {
  add_tensors(to, options.initializers);
  add_tensors(to, options.external_initializers);
  for (const auto& [name, file] : options.external_files) {
    to.add(name);
    to.add(file.bytes.data(), file.bytes.size());
  }
}

}  // namespace

PackedFolder::PackedFolder(std::string path) : path_(std::move(path)) {
  struct stat s {};
  int error = mkdir(path_.c_str(), 0777) == 0 ? 0 : errno;
  is_new_ = error == 0;
  if (stat(path_.c_str(), &s) == 0) error = S_ISDIR(s.st_mode) ? 0 : ENOTDIR;
  require(error == 0, ErrorCode::invalid_argument,
          "{} is '{}', which is not a folder and cannot be created: {}; name a folder, or leave the key out", kKey,
          path_, std::strerror(error));
}

PackedFolder::~PackedFolder() {
  if (is_new_) rmdir(path_.c_str());  // fails, as it should, if a file is in it
}

// The name of the file is made from what stays when a model changes: library, processor, options, and where the model
// lies. So the weights of a changed model replace those of the old one. The key is made from the model's content, too.
PackedFile::PackedFile(const SessionOptions& options, const ModelSource& source, SharedBlocks& weights,
                       const Logger& logger) {
  const std::string& folder = options.config_entry(kKey);
  if (folder.empty()) return;
  folder_.emplace(folder);
  if (build_id().empty() || !source.exists()) {
    logger.warn("{} has no effect: {}", kKey,
                source.exists() ? "the library was linked without a build id"
                                : "the model was not read from a file or from bytes");
    return;
  }
  Fingerprint name, content;
  bool lasting = true;
  source.identify(content, lasting);
  if (!lasting) {
    logger.info("{}: packed weights are neither read nor kept, the model's file changed a moment ago", kKey);
    return;
  }
  add_given(content, options);
  name.add(build_id());
  name.add(packed_form());
  add_options(name, options);
  const std::string path = source.path();
  name.add(path.empty() ? content.text() : absolute(path));
  content.add(name.text());
  cache_.emplace(cat("{}/{}-{}.packed", folder, stem(path), name.text()), content, &weights, logger);
}

}  // namespace retort
