#include "ep/device_run.h"

#include <cstring>

#include "base/error.h"

namespace retort {
namespace {

void copy_on_host(const Tensor& from, Tensor& to) {
  if (from.dtype() == DType::string) {
    const auto* strings = from.data<std::string>();
    std::copy(strings, strings + from.count(), to.mutable_data<std::string>());
  } else if (from.bytes() && from.data() != to.data()) {
    std::memmove(to.mutable_data(), from.data(), from.bytes());
  }
}

}  // namespace

DeviceRun::~DeviceRun() {
  try {
    if (pending_) wait();
  } catch (const Error&) {  // the device is lost, and with it whatever it did in this memory
  }
}

bool DeviceRun::begin(const SessionDevices* session, const CopyBook& book, const StreamUse& use) {
  const bool other_stream = unawaited_ && unawaited_ != use.callers;
  if (pending_ && use.callers) wait();
  session_ = session;
  book_ = book;
  use_ = use;
  unawaited_ = nullptr;
  if (!session_) return other_stream;
  for (const auto& provider : session_->providers) provider->run_begins();
  return other_stream;
}

void DeviceRun::end(bool failed) {
  if (!session_) return;
  const bool waits = failed || use_.waits;
  if (waits) wait();
  if (!waits) unawaited_ = use_.callers;
  use_.callers = nullptr;  // the caller may let go of it now
  for (const auto& provider : session_->providers) provider->run_ends(waits);
}

void DeviceRun::wait() {
  for (Own& own : own_) {
    if (own.stream) synchronize(*own.stream);
  }
  if (use_.callers) synchronize(*use_.callers);
  pending_ = false;
}

Stream* DeviceRun::stream(const MemorySpace& space) {
  if (!session_ || space.host_readable()) return nullptr;
  if (use_.callers && use_.callers->space().serves(space)) return use_.callers;
  for (const auto& provider : session_->providers) {
    if (!provider->space().serves(space)) continue;
    for (const Own& own : own_) {
      if (own.provider != provider.get()) continue;
      pending_ = true;
      return own.stream.get();
    }
    own_.push_back({provider.get(), provider->make_stream()});
    pending_ = true;
    return own_.back().stream.get();
  }
  return nullptr;
}

std::shared_ptr<void> DeviceRun::allocate(const MemorySpace& space, size_t bytes) const {
  if (space.host_readable() && space.device == DeviceType::cpu) return allocate_host(bytes);
  require(session_, ErrorCode::invalid_argument, "nobody has memory of {}; add the provider whose memory it is",
          to_string(space));
  return session_->devices->allocate(space, bytes);
}

void DeviceRun::move_bytes(const Tensor& from, Tensor& to, bool from_stays) {
  if (from.space().host_readable() && to.space().host_readable()) return copy_on_host(from, to);
  require(session_, ErrorCode::not_implemented, "no provider copies from {} to {}; add the provider whose memory it is",
          to_string(from.space()), to_string(to.space()));
  Stream* const before = stream(from.space());
  Stream* const after = stream(to.space());
  // Between two devices: the copy is the work of the second, after what the first did.
  if (before && after && before != after && !before->notify()->wait_on_device(*after)) synchronize(*before);
  Stream* const on = after ? after : before;
  session_->devices->copy(from, to, on);
  if (on && (to.space().host_readable() || !from_stays)) synchronize(*on);
}

void DeviceRun::copy(CopyCause cause, std::string_view name, const Tensor& from, Tensor& to, bool from_stays) {
  const auto begin = book_.profiler ? Profiler::Clock::now() : Profiler::Clock::time_point();
  try {
    move_bytes(from, to, from_stays);
  } catch (Error& e) {
    e.add_context(cat("copying '{}' from {} to {}", name, to_string(from.space()), to_string(to.space())));
    throw;
  }
  const size_t bytes = from.bytes();
  if (book_.ledger) book_.ledger->add(cause, name, from.space(), to.space(), bytes);
  if (!book_.profiler) return;
  book_.profiler->add(cat("copy {}", name), "Copy", begin, Profiler::Clock::now(),
                      cat("{{\"bytes\":{},\"cause\":\"{}\",\"from\":\"{}\",\"to\":\"{}\"}}", bytes,
                          copy_cause_name(cause), to_string(from.space()), to_string(to.space())));
}

}  // namespace retort
