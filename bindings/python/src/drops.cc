#include "drops.h"

#include <Python.h>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace retort::python {
namespace {

struct Work {
  void (*release)(void*);
  void* context;
};

thread_local int gil_depth = 0;

// Never destroyed: the engine may release values while the process ends.
struct Waiting {
  std::mutex lock;
  std::vector<Work> work;
  std::atomic<bool> any{false};
};

Waiting& waiting() {
  static Waiting* const instance = new Waiting;
  return *instance;
}

int run_waiting(void*) {
  drop_waiting();
  return 0;
}

struct Deleter : OrtAllocator {
  const OrtMemoryInfo* place;
  Owned<OrtMemoryInfo> owned_place;
  Work work;
};

void* refuse_alloc(OrtAllocator*, size_t) { return nullptr; }

void free_with(OrtAllocator* self, void*) {
  auto* deleter = static_cast<Deleter*>(self);
  drop(deleter->work.release, deleter->work.context);
  delete deleter;
}

const OrtMemoryInfo* info_of(const OrtAllocator* self) { return static_cast<const Deleter*>(self)->place; }

}  // namespace

HoldsGil::HoldsGil() noexcept { ++gil_depth; }

HoldsGil::~HoldsGil() { --gil_depth; }

void drop(void (*release)(void*), void* context) noexcept {
  if (gil_depth > 0) {
    // What runs now is Python, which may wait for the engine without the GIL: there, this thread does not hold it.
    const int depth = std::exchange(gil_depth, 0);
    release(context);
    gil_depth = depth;
    return;
  }
  if (!Py_IsInitialized()) {
    return;  // the interpreter is gone, and its memory with it
  }
  Waiting& all = waiting();
  bool first = false;
  {
    const std::lock_guard lock(all.lock);
    first = all.work.empty();
    all.work.push_back({release, context});
    all.any.store(true, std::memory_order_release);
  }
  if (first) {
    Py_AddPendingCall(run_waiting, nullptr);  // if its table is full, the next drop_waiting() does the work
  }
}

void drop_waiting() noexcept {
  Waiting& all = waiting();
  if (!all.any.load(std::memory_order_acquire)) {
    return;
  }
  std::vector<Work> work;
  {
    const std::lock_guard lock(all.lock);
    work.swap(all.work);
    all.any.store(false, std::memory_order_release);
  }
  for (const Work& item : work) {
    item.release(item.context);
  }
}

OrtAllocator* make_deleter(const OrtMemoryInfo* place, Owned<OrtMemoryInfo> owned_place, void (*release)(void*),
                           void* context) {
  auto* deleter = new Deleter{};
  deleter->version = ORT_API_VERSION;
  deleter->Alloc = refuse_alloc;
  deleter->Free = free_with;
  deleter->Info = info_of;
  deleter->place = owned_place ? owned_place.get() : place;
  deleter->owned_place = std::move(owned_place);
  deleter->work = {release, context};
  return deleter;
}

}  // namespace retort::python
