// The machine that measurements come from.
#pragma once
#include <nlohmann/json.hpp>

namespace retort::cli {

/// processor, cores, caches {"L2": "1 MiB", …}, memory_bytes, isa: [names that the kernel uses], system, load: of the
/// last minute. What the system does not tell is missing.
nlohmann::json describe_machine();

}  // namespace retort::cli
