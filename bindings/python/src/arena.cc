#include "arena.h"

#include <nanobind/stl/string.h>

#include <vector>

#include "enums.h"
#include "memory.h"
#include "rooms.h"
#include "text.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

enum class ExtendStrategy { kNextPowerOfTwo = 0, kSameAsRequested = 1 };

template <class T>
T number_of(const std::string& name, nb::handle value) {
  T number{};
  if (!nb::try_cast<T>(value, number)) {
    throw Misuse(ORT_INVALID_ARGUMENT,
                 "OrtArenaCfg: option '" + name + "' is " + nb::repr(value).c_str() + "; it must be an integer");
  }
  return number;
}

void register_allocator(const MemoryInfo& info, const Arena* arena) {
  const Owned<OrtArenaCfg> config = arena ? config_of(*arena) : nullptr;
  check(api().CreateAndRegisterAllocator(&env(), info.get(), config.get()));
}

void register_provider_allocator(const std::string& provider, const MemoryInfo& info, const nb::dict& options,
                                 const Arena* arena) {
  std::vector<std::string> texts;
  for (auto [key, value] : options) {
    texts.push_back(nb::cast<std::string>(key));
    texts.push_back(nb::cast<std::string>(value));
  }
  std::vector<const char*> keys, values;
  for (size_t i = 0; i < texts.size(); i += 2) {
    keys.push_back(c_text(texts[i]));
    values.push_back(c_text(texts[i + 1]));
  }
  const Owned<OrtArenaCfg> config = arena ? config_of(*arena) : nullptr;
  check(api().CreateAndRegisterAllocatorV2(&env(), c_text(provider), info.get(), config.get(), keys.data(),
                                           values.data(), keys.size()));
}

}  // namespace

Arena arena_of(const nb::dict& entries) {
  Arena arena;
  for (auto [key, value] : entries) {
    const auto name = nb::cast<std::string>(key);
    if (name == "max_mem") {
      arena.max_mem = number_of<size_t>(name, value);
    } else if (name == "arena_extend_strategy") {
      arena.extend_strategy = number_of<int>(name, value);
    } else if (name == "initial_chunk_size_bytes") {
      arena.initial_chunk = number_of<int>(name, value);
    } else if (name == "max_dead_bytes_per_chunk") {
      arena.max_dead = number_of<int>(name, value);
    } else if (name == "initial_growth_chunk_size_bytes") {
      arena.initial_growth = number_of<int>(name, value);
    } else if (name == "max_power_of_two_extend_bytes") {
      arena.max_extend = number_of<int64_t>(name, value);
    } else {
      throw Misuse(ORT_INVALID_ARGUMENT, "Invalid OrtArenaCfg option: " + name);
    }
  }
  return arena;
}

Owned<OrtArenaCfg> config_of(const Arena& arena) {
  std::vector<const char*> keys = {"max_mem"};
  std::vector<size_t> values = {arena.max_mem};
  const auto add = [&](const char* key, int64_t value) {
    if (value >= 0) {
      keys.push_back(key);
      values.push_back(static_cast<size_t>(value));
    }
  };
  add("arena_extend_strategy", arena.extend_strategy);
  add("initial_chunk_size_bytes", arena.initial_chunk);
  add("max_dead_bytes_per_chunk", arena.max_dead);
  add("initial_growth_chunk_size_bytes", arena.initial_growth);
  add("max_power_of_two_extend_bytes", arena.max_extend);
  return made<OrtArenaCfg>(api().CreateArenaCfgV2, keys.data(), values.data(), keys.size());
}

void bind_arena(nb::module_& m) {
  nb::enum_<ExtendStrategy> strategy(m, "ArenaExtendStrategy", nb::is_arithmetic());
  strategy.value("kNextPowerOfTwo", ExtendStrategy::kNextPowerOfTwo)
      .value("kSameAsRequested", ExtendStrategy::kSameAsRequested)
      .export_values();
  finish_enum(strategy);
  nb::class_<Arena> arena(m, "OrtArenaCfg", "How an allocator with an arena grows. Sizes in bytes; -1: the default.");
  arena.def("__init__", [](Arena* self, size_t max_mem, int extend, int initial_chunk, int max_dead) {
    new (self) Arena{max_mem, extend, initial_chunk, max_dead};
  });
  arena.def("__init__", [](Arena* self, const nb::dict& entries) { new (self) Arena(arena_of(entries)); });
  arena.def_rw("max_mem", &Arena::max_mem)
      .def_rw("arena_extend_strategy", &Arena::extend_strategy)
      .def_rw("initial_chunk_size_bytes", &Arena::initial_chunk)
      .def_rw("max_dead_bytes_per_chunk", &Arena::max_dead)
      .def_rw("initial_growth_chunk_size_bytes", &Arena::initial_growth)
      .def_rw("max_power_of_two_extend_bytes", &Arena::max_extend);
  m.def("create_and_register_allocator", &register_allocator, nb::arg("mem_info"), nb::arg("arena_cfg").none(),
        "Makes an allocator that sessions with session.use_env_allocators share.");
  m.def("create_and_register_allocator_v2", &register_provider_allocator, nb::arg("provider"), nb::arg("mem_info"),
        nb::arg("options"), nb::arg("arena_cfg").none(), "The same for the memory of a provider.");
}

}  // namespace retort::python
