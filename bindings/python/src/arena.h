// Allocators with an arena, shared by all sessions of the process.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>

#include "engine.h"

namespace retort::python {

// The class OrtArenaCfg. Sizes in bytes; -1 (and 0 for max_mem): the engine's default.
struct Arena {
  size_t max_mem = 0;
  int extend_strategy = -1;
  int initial_chunk = -1;
  int max_dead = -1;
  int initial_growth = -1;
  int64_t max_extend = -1;
};

// Of a dict with the names of OrtArenaCfg's attributes. Throws Misuse for another name.
Arena arena_of(const nanobind::dict& entries);

Owned<OrtArenaCfg> config_of(const Arena& arena);

}  // namespace retort::python
