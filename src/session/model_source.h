// Where a session's model came from, so that it can be read a second time.
#pragma once
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

/// Not thread-safe.
class ModelSource {
 public:
  /// A model that was made in memory: it cannot be read again.
  ModelSource() = default;
  explicit ModelSource(std::string path) : path_(std::move(path)) {}
  /// `bytes` must live until keep() was called.
  explicit ModelSource(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// The first time.
  std::shared_ptr<Model> read(const SessionOptions& options);
  /// Adds what tells this model from all others, and from itself after a change, without reading the weights of files.
  /// `lasting`: is made false where a file changed so recently that a further change may not show. After read().
  void identify(Fingerprint& fingerprint, bool& lasting) const;
  /// The files of external data that it lies in. After read().
  const std::vector<ExternalFile>& external_files() const { return external_; }
  bool exists() const { return path_ || bytes_.data(); }
  /// Where the model is, or "" for bytes.
  std::string path() const { return path_.value_or(""); }
  /// Notes what read_again() will need. `graph` is as it was read. Bytes are copied, unless they are many.
  void keep(const Graph& graph, const SessionOptions& options);
  /// The same model once more. Throws invalid_argument when what it was read from was not kept, fail when a file has
  /// changed, and what read_model() throws.
  std::shared_ptr<Model> read_again(const SessionOptions& options) const;

 private:
  std::shared_ptr<Model> load(const SessionOptions& options, ReadOptions read, FileIdentity& file) const;
  std::optional<std::string> path_;
  FileIdentity file_;                   ///< of the model at path_
  timespec begin_{};                    ///< when read() began
  std::vector<ExternalFile> external_;  ///< files of external data
  std::span<const std::byte> bytes_;
  std::shared_ptr<void> kept_;         ///< a copy, which bytes_ points to then
  std::vector<FileIdentity> weights_;  ///< the files that initializers lie in
  bool lent_ = false;                  ///< some weights lie in memory of the caller
};

}  // namespace retort
