// What Python memory costs to give back: a reference may only be dropped with the GIL, but the engine may release an
// array in one of its own threads, or while this thread waits for the engine without the GIL.
#pragma once

#include "engine.h"

namespace retort::python {

// While it exists, this thread holds the GIL, and what the engine releases is dropped at once. Without it, drop() puts
// the work aside, which never waits for the GIL: the engine may hold a lock that a thread with the GIL waits for.
class HoldsGil {
 public:
  HoldsGil() noexcept;
  ~HoldsGil();
  HoldsGil(const HoldsGil&) = delete;
  HoldsGil& operator=(const HoldsGil&) = delete;
};

// Calls release(context) with the GIL, now or later. Any thread, with or without the GIL. `release` must not throw.
void drop(void (*release)(void*), void* context) noexcept;

// Does the work that was put aside. Needs the GIL. Cheap when there is none. Python's own loop calls it, too.
void drop_waiting() noexcept;

// An allocator for CreateTensorWithDataAndDeleterAsOrtValue: its Free drops what the tensor's memory belongs to, and
// the allocator itself. If the engine refuses the tensor, call Free yourself. `place` stays the caller's, and must
// outlive the value; with an owned one, the allocator releases it.
OrtAllocator* make_deleter(const OrtMemoryInfo* place, Owned<OrtMemoryInfo> owned_place, void (*release)(void*),
                           void* context);

}  // namespace retort::python
