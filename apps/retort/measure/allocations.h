// Counts the heap allocations of the whole process, the engine's included: the program puts its own malloc in front of
// the C library's.
#pragma once
#include <cstdint>

namespace retort::cli {

/// Allocations so far, by any thread.
uint64_t allocations();

/// False where something else already stands in front of malloc (sanitizers).
bool allocations_are_counted();

/// Stops and goes on with counting; it is on at first.
void count_allocations(bool on);

}  // namespace retort::cli
