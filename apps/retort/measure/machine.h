// Describes the machine on which something is measured.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace retort::cli {

/// Returns processor, cores, caches {"L2": "1 MiB", …}, memory_bytes, isa: [names as in the kernel], level:
/// instruction_level(), best_level: without RETORT_ISA, system, load: of the last minute. Entries that the system does
/// not report are missing.
nlohmann::json describe_machine();

/// The instruction level of Retort: the value of RETORT_ISA, which other engines ignore, or the processor's best.
std::string instruction_level();

}  // namespace retort::cli
