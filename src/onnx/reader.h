// Reads ONNX models. The graph keeps the model's own dialect: nodes have the domain, version, attributes and form of
// the file; values captured by bodies become explicit.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "memory/mapping.h"

namespace retort {

/// Limits for the content of a file. Exceeding `depth` is an Error(invalid_protobuf), any other limit an
/// Error(invalid_graph).
struct ReadLimits {
  uint32_t depth = 100;                   ///< levels of nested messages; the limit of protobuf itself
  size_t nodes = size_t(1) << 20;         ///< in all graphs and functions of the file together
  size_t entries = size_t(1) << 22;       ///< likewise: values, types, extents, attributes; captures per body
  size_t string_bytes = size_t(1) << 31;  ///< of one string (EPContext nodes hold whole binaries)
  size_t tensor_bytes = size_t(1) << 46;  ///< of one tensor
  size_t memory_bytes = 0;  ///< for tensors that are not used in place; 0: 256 MiB + 16 × the bytes of all files
};

/// A file of external data that the caller has in memory.
struct MemoryFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<void> owner;  ///< null: tensors copy the bytes, unless `outlives` is set
  bool outlives = false;        ///< the bytes exist as long as the tensors
};

/// An opened file of external data, with the name that the model uses.
struct ExternalFile {
  FileIdentity identity;
  std::string location;
};

struct ReadOptions {
  /// True: files are mapped. False: they are read, because truncating a mapped file would end the process (SIGBUS).
  bool trusted = true;
  /// For models from bytes: tensors refer to the bytes, which must outlive them; if `owner` is set, the tensors keep it
  /// alive.
  bool borrow = false;
  std::shared_ptr<void> owner;
  /// Initializers that are not aligned for their elements are copied if they have fewer bytes than this. Larger ones
  /// stay in place, and code that reads their elements must call aligned() first: weights that are packed then need no
  /// copy.
  size_t unaligned_from = SIZE_MAX;
  /// Folder of external data. The default is the model's own folder or, for models from bytes, the current one.
  std::string external_folder;
  /// External data by location; searched before the folder.
  std::map<std::string, MemoryFile, std::less<>> memory_files;
  /// Receives the opened files of external data; may be null.
  std::vector<ExternalFile>* files = nullptr;
  /// Values of tensors whose data are external, by name; no file is looked for. The tensors refer to their memory. May
  /// be null.
  const std::map<std::string, Tensor>* given = nullptr;
  /// Receives what is wrong in the model but has no effect, a sentence each; may be null.
  std::vector<std::string>* notes = nullptr;
  ReadLimits limits;
  /// Accepts versions of operator sets that are newer than the newest known one, which then counts; otherwise such a
  /// model is an error.
  bool newer_opsets = false;
};

/// Reads the file. Weights are used in place, in a private read-only mapping that they keep alive. Throws Error naming
/// the file: no_such_file, invalid_protobuf (malformed protobuf), invalid_graph or invalid_argument (invalid content),
/// not_implemented, fail (system errors, unsupported versions). Thread-safe. `identity`, if not null, receives the
/// version of the file that was read.
std::shared_ptr<Model> read_model(const std::string& path, const ReadOptions& options = {},
                                  FileIdentity* identity = nullptr);
std::shared_ptr<Model> read_model(std::span<const std::byte> bytes, const ReadOptions& options = {});

}  // namespace retort
