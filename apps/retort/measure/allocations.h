// Counts the heap allocations of the whole process, including the engine's: the program's own malloc wraps the C
// library's.
#pragma once
#include <cstdint>

namespace retort::cli {

/// The number of allocations so far, by all threads.
uint64_t allocations();

/// False if malloc is already replaced by something else (sanitizers).
bool allocations_are_counted();

/// Switches counting on or off; it is on at the start.
void count_allocations(bool on);

}  // namespace retort::cli
