// Describes the machine on which something is measured.
#pragma once
#include <nlohmann/json.hpp>

namespace retort::cli {

/// Returns processor, cores, caches {"L2": "1 MiB", …}, memory_bytes, isa: [names as in the kernel], system, load: of
/// the last minute. Entries that the system does not report are missing.
nlohmann::json describe_machine();

}  // namespace retort::cli
