// Tensors in the memory of any device.
#pragma once
#include <algorithm>
#include <retort/retort.hpp>

namespace api = retort::api;

// [place]
/// The environment's allocator for memory of the device that reads it.
inline OrtAllocator* allocator_of(const api::Env& env, api::MemoryView where, api::EpDevice device) {
  OrtAllocator* shared = api::shared_allocator(env, where);
  return shared ? shared : api::create_shared_allocator(env, device, where.kind());
}

/// Copies one tensor to another; CopyTensors does not copy within host memory.
inline void copy(const api::Env& env, const api::Value& from, api::Value& to) {
  if (from.where().host_can_read() && to.where().host_can_read()) {
    std::ranges::copy(from.data<float>(), to.data<float>().begin());
  } else {
    api::copy_tensor(env, from, to);
  }
}
// [end]
