#include "session/model_source.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/loading.h"
#include "memory/host.h"
#include "onnx/weight_file.h"

namespace retort {
namespace {

// Hardly any program makes the calls that need a second copy of a model, so the copy may not take more memory than this.
constexpr size_t kMostKept = size_t(64) << 20;

// Whether the caller promises that files in memory outlive the session.
bool keeps_files(const SessionOptions& options) {
  return options.config_on("session.use_external_initializer_file_buffers_directly");
}

ReadOptions read_options(const SessionOptions& options) {
  ReadOptions read{.unaligned_from = size_t(64) << 10};
  for (const auto& [name, file] : options.external_files) {
    read.memory_files.emplace(
        name, MemoryFile{std::as_bytes(file.bytes), std::const_pointer_cast<void>(file.owner), keeps_files(options)});
  }
  read.newer_opsets = allows_newer_opsets(options);
  read.given = &options.external_initializers;
  read.external_folder = options.config_entry("session.model_external_initializers_file_folder_path");
  return read;
}

ModelFormat format_of(const SessionOptions& options) {
  return model_format(options.config_entry("session.load_model_format"));
}

// Both keys together promise that the bytes of a model in ORT format outlive the session. The first alone only saves ONNX
// Runtime a copy.
bool borrows(const SessionOptions& options) {
  return options.config_on("session.use_ort_model_bytes_directly") &&
         options.config_on("session.use_ort_model_bytes_for_initializers");
}

void add_weight_files(const Graph& graph, std::vector<FileIdentity>& files) {
  const auto add = [&](const Tensor& tensor) {
    const auto range = file_range(tensor);
    if (range && std::find(files.begin(), files.end(), range->file) == files.end()) files.push_back(range->file);
  };
  for (size_t i = 0; i < graph.value_count(); ++i) {
    if (graph.value(ValueId(i)).is_constant()) add(graph.value(ValueId(i)).constant);
  }
  for (const auto& [id, tensor] : graph.defaults) add(tensor);
  for (const NodeId id : graph.order()) {
    for (const Body& b : graph.node(id).bodies) add_weight_files(*b.graph, files);
  }
}

// The files of the constants of the graph and its bodies, in the order in which the constants come.
std::vector<FileIdentity> weight_files(const Graph& graph) {
  std::vector<FileIdentity> files;
  add_weight_files(graph, files);
  return files;
}

// Whether weights lie in memory that the caller may free after the session was made.
bool lends_weights(const SessionOptions& options) {
  const auto no_owner = [](const auto& file) { return !file.second.owner; };
  const auto no_memory = [](const auto& tensor) { return !tensor.second.owner(); };
  const bool lends_files = !keeps_files(options) && std::ranges::any_of(options.external_files, no_owner);
  return lends_files ||
         std::any_of(options.external_initializers.begin(), options.external_initializers.end(), no_memory);
}

}  // namespace

bool allows_newer_opsets(const SessionOptions& options) {
  constexpr const char* kVariable = "ALLOW_RELEASED_ONNX_OPSET_ONLY";
  const char* const given = std::getenv(kVariable);
  const std::string_view only = given ? given : "1";
  require(only == "0" || only == "1", ErrorCode::fail, "the environment variable {} is '{}'; set it to 0 or 1",
          kVariable, only);
  const std::string& entry = options.config_entry("session.allow_released_opsets_only");
  return only == "0" || (!entry.empty() && entry != "1");
}

ModelFormat ModelSource::format(const SessionOptions& options) const {
  const ModelFormat asked = format_of(options);
  if (asked != ModelFormat::any) return asked;
  return path_ ? detect_format(*path_) : detect_format(bytes_);
}

std::shared_ptr<Model> ModelSource::load(const SessionOptions& options, ReadOptions read, FileIdentity& file) const {
  if (path_) return load_model(*path_, read, format_of(options), &file);
  const ModelFormat format = this->format(options);
  read.borrow = format == ModelFormat::ort && borrows(options);
  return load_model(bytes_, read, format);
}

std::shared_ptr<Model> ModelSource::read(const SessionOptions& options, const Logger& logger) {
  clock_gettime(CLOCK_REALTIME, &begin_);
  const auto begin = std::chrono::steady_clock::now();
  ReadOptions read = read_options(options);
  std::vector<std::string> notes;
  read.files = &external_;
  read.notes = &notes;
  std::shared_ptr<Model> model = load(options, std::move(read), file_);
  const auto end = std::chrono::steady_clock::now();
  if (options.profiling && format(options) == ModelFormat::onnx)
    loading_ = {begin, end, path_ ? "model_loading_uri" : "model_loading_array"};
  for (const std::string& note : notes) logger.warn("{}", note);
  return model;
}

// The number of the device is left out, since it changes from one start of a container to the next. The time of the last
// change of the inode is in, since no program can set it. It advances in steps of up to two seconds on some file systems.
void ModelSource::identify(Fingerprint& fingerprint, bool& lasting) const {
  constexpr int64_t kStep = 2'000'000'000;
  const auto add = [&](const FileIdentity& file) {
    for (const uint64_t part : {file.inode, file.size, uint64_t(file.modified_ns), uint64_t(file.changed_ns)})
      fingerprint.add(part);
    lasting &= int64_t(begin_.tv_sec) * 1'000'000'000 + begin_.tv_nsec - file.changed_ns >= kStep;
  };
  if (path_)
    add(file_);
  else
    fingerprint.add(bytes_.data(), bytes_.size());
  for (const ExternalFile& file : external_) add(file.identity);
}

void ModelSource::keep(const Graph& graph, const SessionOptions& options) {
  weights_ = weight_files(graph);
  lent_ = lends_weights(options);
  if (bytes_.empty() || bytes_.size() > kMostKept || lent_) return;
  kept_ = allocate_block(bytes_.size());
  copy_in_pieces(kept_.get(), bytes_.data(), bytes_.size());
  bytes_ = {static_cast<const std::byte*>(kept_.get()), bytes_.size()};
}

std::shared_ptr<Model> ModelSource::read_again(const SessionOptions& options) const {
  require(!lent_, ErrorCode::invalid_argument, "weights lay in memory that the caller lent while the session was made");
  require(path_ || kept_, ErrorCode::invalid_argument,
          "no copy of the model was kept, as is of models from bytes up to {} MiB", kMostKept >> 20);
  ReadOptions read = read_options(options);
  read.owner = kept_;
  FileIdentity file;
  auto model = load(options, std::move(read), file);
  require(file == file_, ErrorCode::fail, "the file '{}' has changed since", path_.value_or(""));
  require(weight_files(*model->graph) == weights_, ErrorCode::fail, "the files of its weights have changed since");
  return model;
}

}  // namespace retort
