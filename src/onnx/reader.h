// Reads ONNX models. The graph keeps the model's own dialect: nodes have the domain, version, attributes and form that
// the file gives them; values captured by bodies become explicit.
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

/// Bounds on what a file may ask for. Reaching one is an Error(invalid_graph), exceeding `depth` invalid_protobuf.
struct ReadLimits {
  uint32_t depth = 100;                   ///< levels of nested messages; protobuf's own limit
  size_t nodes = size_t(1) << 20;         ///< in all graphs and functions of the file together
  size_t entries = size_t(1) << 22;       ///< likewise: values, types, extents, attributes; captures per body
  size_t string_bytes = size_t(1) << 31;  ///< of one string (EPContext nodes carry whole binaries)
  size_t tensor_bytes = size_t(1) << 46;  ///< of one tensor
  size_t memory_bytes = 0;                ///< for tensors not used in place; 0: 256 MiB + 16 × the bytes of all files
};

/// A file of external data that the caller holds in memory.
struct MemoryFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<void> owner;  ///< null: tensors copy what they need, unless
  bool outlives = false;        ///< the bytes are there for as long as the tensors
};

/// A file of external data that was opened, by what the model calls it.
struct ExternalFile {
  FileIdentity identity;
  std::string location;
};

struct ReadOptions {
  /// Files are mapped. False: they are read, because a mapped file that somebody cuts off ends the process (SIGBUS).
  bool trusted = true;
  /// Models from bytes: tensors point into the bytes, which must outlive them; `owner`, when set, is kept for that.
  bool borrow = false;
  std::shared_ptr<void> owner;
  /// Initializers that are not aligned to their element are copied. From this many bytes on they stay where they are,
  /// and whoever reads their elements calls aligned() first: weights that are packed anyway then need no copy.
  size_t unaligned_from = SIZE_MAX;
  /// Folder of external data; default: the model's own, for models from bytes the current one.
  std::string external_folder;
  /// External data by location; looked at before the folder.
  std::map<std::string, MemoryFile, std::less<>> memory_files;
  /// Receives what files of external data were opened; null: nobody asks.
  std::vector<ExternalFile>* files = nullptr;
  ReadLimits limits;
};

/// Reads the file. Weights are used in place, in a private read-only mapping that they keep alive. Throws Error naming
/// the file: no_such_file, invalid_protobuf (broken wire data), invalid_graph or invalid_argument (what makes no
/// sense), not_implemented, fail (the system, unsupported versions). Thread-safe. `identity`, where it is not null, gets
/// the version of the file that was read.
std::shared_ptr<Model> read_model(const std::string& path, const ReadOptions& options = {},
                                  FileIdentity* identity = nullptr);
std::shared_ptr<Model> read_model(std::span<const std::byte> bytes, const ReadOptions& options = {});

}  // namespace retort
