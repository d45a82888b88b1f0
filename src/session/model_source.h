// Where a session's model came from, so that it can be read a second time.
#pragma once
#include <chrono>
#include <cstddef>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fingerprint.h"
#include "memory/mapping.h"
#include "ort_format/read.h"
#include "session/options.h"

namespace retort {

/// Whether models may import operator sets that are newer than the known ones: session.allow_released_opsets_only or the
/// environment variable ALLOW_RELEASED_ONNX_OPSET_ONLY is 0. Throws fail if the variable is neither 0 nor 1.
bool allows_newer_opsets(const SessionOptions& options);

/// How long it took to read a model, and what profiles call that.
struct Loading {
  std::chrono::steady_clock::time_point begin, end;
  const char* event;
};

/// Not thread-safe.
class ModelSource {
 public:
  /// The source of a model that was made in memory, which cannot be read again.
  ModelSource() = default;
  explicit ModelSource(std::string path) : path_(std::move(path)) {}
  /// `bytes` must live until keep() was called.
  explicit ModelSource(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// Reads the model for the first time, and warns of what is wrong in it but has no effect. Throws what read_model()
  /// throws.
  std::shared_ptr<Model> read(const SessionOptions& options, const Logger& logger);
  /// Adds what distinguishes this model from all others, and from itself after a change, without reading weights in files.
  /// Sets `lasting` to false if a file changed so recently that a further change might not show. After read().
  void identify(Fingerprint& fingerprint, bool& lasting) const;
  /// What a profile tells of read(): nothing for models in ORT format, which profiles of ONNX Runtime do not mention
  /// either, and nothing before read().
  const std::optional<Loading>& loading() const { return loading_; }
  /// The files of the model's external data. After read().
  const std::vector<ExternalFile>& external_files() const { return external_; }
  bool exists() const { return path_ || bytes_.data(); }
  /// The path of the model; "" for bytes.
  std::string path() const { return path_.value_or(""); }
  /// Keeps what read_again() will need. `graph` is as it was read. Copies bytes unless they are many.
  void keep(const Graph& graph, const SessionOptions& options);
  /// Reads the same model once more. Throws invalid_argument if its bytes were not kept, fail if a file has changed, and
  /// what read_model() throws.
  std::shared_ptr<Model> read_again(const SessionOptions& options) const;

 private:
  ModelFormat format(const SessionOptions& options) const;
  std::shared_ptr<Model> load(const SessionOptions& options, ReadOptions read, FileIdentity& file) const;
  std::optional<std::string> path_;
  FileIdentity file_;  ///< of the file at path_
  timespec begin_{};   ///< the time at which read() began
  std::optional<Loading> loading_;
  std::vector<ExternalFile> external_;  ///< files of external data
  std::span<const std::byte> bytes_;
  std::shared_ptr<void> kept_;         ///< a copy of the bytes, to which bytes_ points then; null: no copy was made
  std::vector<FileIdentity> weights_;  ///< the files in which initializers lie
  bool lent_ = false;                  ///< some weights lie in memory of the caller
};

}  // namespace retort
