#include "ep/devices.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace retort {
namespace {

std::shared_ptr<Allocator> find_in(std::span<const std::shared_ptr<Allocator>> some, const MemorySpace& space) {
  const auto found = std::ranges::find_if(some, [&](const auto& allocator) {
    const MemorySpace& own = allocator->space();
    // Pinned memory is host memory, but has its own name in requests.
    return own.kind == space.kind && own.device == space.device && own.serves(space);
  });
  return found == some.end() ? nullptr : *found;
}

}  // namespace

void synchronize(Stream& stream) {
  stream.flush();
  stream.notify()->wait_on_host();
}

void Devices::add(std::shared_ptr<ProviderFactory> factory) {
  const std::lock_guard lock(mutex_);
  for (const auto& f : factories_) {
    require(f->name() != factory->name(), ErrorCode::invalid_argument, "provider '{}' is registered already",
            factory->name());
  }
  factories_.push_back(std::move(factory));
}

std::shared_ptr<ProviderFactory> Devices::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(factories_, [&](const auto& f) { return f->name() == name; });
  if (found == factories_.end()) return nullptr;
  auto removed = std::move(*found);
  factories_.erase(found);
  return removed;
}

std::vector<std::shared_ptr<ProviderFactory>> Devices::factories() const {
  if (all_) return all_->factories();
  const std::lock_guard lock(mutex_);
  return factories_;
}

std::shared_ptr<Allocator> Devices::find_allocator(const MemorySpace& space) const {
  for (const SessionMemory& own : own_) {
    if (auto found = find_in(own.any, space)) return found;
  }
  if (all_) return all_->find_allocator(space);
  const std::lock_guard lock(mutex_);
  for (const auto& f : factories_) {
    for (const ProviderDevice& device : f->devices()) {
      if (auto found = find_in(device.memory, space)) return found;
    }
  }
  return nullptr;
}

std::shared_ptr<void> Devices::allocate_constant(const MemorySpace& space, size_t bytes) const {
  for (const SessionMemory& own : own_) {
    if (const auto found = find_in(own.constants, space)) return allocate_from(found, bytes);
  }
  return allocate(space, bytes);
}

std::shared_ptr<void> Devices::allocate(const MemorySpace& space, size_t bytes) const {
  if (const auto allocator = find_allocator(space)) return allocate_from(allocator, bytes);
  require(space.host_readable(), ErrorCode::invalid_argument,
          "no provider has memory of {}; add the provider that owns it", to_string(space));
  return allocate_host(bytes);
}

std::shared_ptr<ProviderFactory> Devices::carrier(const MemorySpace& from, const MemorySpace& to) const {
  if (all_) return all_->carrier(from, to);
  const std::lock_guard lock(mutex_);
  for (const auto& f : factories_) {
    if (f->transfer() && f->transfer()->can_copy(from, to)) return f;
  }
  return nullptr;
}

bool Devices::can_copy(const MemorySpace& from, const MemorySpace& to) const {
  if (from.host_readable() && to.host_readable()) return true;
  return carrier(from, to) || (!from.host_readable() && !to.host_readable() && carrier(from, {}) && carrier({}, to));
}

void Devices::copy(const Tensor& from, Tensor& to, Stream* stream) const {
  const Transfer one{&from, &to};
  copy({&one, 1}, stream);
}

void Devices::copy(std::span<const Transfer> transfers, Stream* stream) const {
  std::vector<Transfer> some;  // transfers of at least one byte
  for (const Transfer& t : transfers) {
    const Tensor &from = *t.from, &to = *t.to;
    require(from.dtype() == to.dtype() && from.bytes() == to.bytes(), ErrorCode::invalid_argument,
            "{}{} cannot be copied to {}{}; give a tensor of the same type and size", dtype_name(from.dtype()),
            to_string(from.shape()), dtype_name(to.dtype()), to_string(to.shape()));
    require(from.dtype() != DType::string, ErrorCode::invalid_argument, "strings stay on the host; copy them there");
    if (from.bytes() > 0) some.push_back(t);
  }
  if (some.empty()) return;
  const MemorySpace &from = some[0].from->space(), &to = some[0].to->space();
  if (from.host_readable() && to.host_readable()) {
    for (const Transfer& t : some) std::memmove(t.to->mutable_data(), t.from->data(), t.from->bytes());
    return;
  }
  if (const auto direct = carrier(from, to)) return direct->transfer()->copy(some, stream);
  const auto down = carrier(from, {}), up = carrier({}, to);
  require(down && up && !from.host_readable() && !to.host_readable(), ErrorCode::not_implemented,
          "no provider copies from {} to {}; add the provider that owns the memory", to_string(from), to_string(to));
  if (stream) synchronize(*stream);  // the host does part of these copies, so they cannot be queued on the stream
  for (const Transfer& t : some) {
    Tensor between(t.from->dtype(), t.from->shape());
    const Transfer first{t.from, &between}, second{&between, t.to};
    down->transfer()->copy({&first, 1}, nullptr);
    up->transfer()->copy({&second, 1}, nullptr);
  }
}

}  // namespace retort
