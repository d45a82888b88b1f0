#include "ep/device_run.h"

#include <cstring>
#include <exception>
#include <functional>
#include <utility>

#include "base/error.h"
#include "ops/shape/common/element.h"

namespace retort {
namespace {

void copy_on_host(const Tensor& from, Tensor& to, const Parallel& parallel) {
  const auto* a = from.data<char>();
  auto* b = to.mutable_data<char>();
  const size_t bytes = from.dtype() == DType::string ? 0 : from.bytes();
  const bool overlaps = std::less<>()(a, b + bytes) && std::less<>()(b, a + bytes);  // both are the caller's
  if (!overlaps) return ops::copy(from.dtype(), a, b, from.count(), parallel);
  if (a != b) std::memmove(b, a, bytes);
}

}  // namespace

DeviceRun::~DeviceRun() {
  try {
    settle();
  } catch (...) {  // the device is lost, together with its work in this memory
  }
}

void DeviceRun::settle() {
  if (pending_) wait_for_own();
  if (const auto point = std::exchange(point_, nullptr)) point->wait_on_host();
}

void DeviceRun::wait() {
  if (use_.callers) synchronize(*use_.callers);
  if (pending_) wait_for_own();
}

// The memory of a frame serves one run after the other, whichever streams they use: this run may write where an earlier
// one still reads or writes.
void DeviceRun::come_after_earlier_runs() {
  if (pending_ && (use_.callers || own_.size() > 1)) wait_for_own();
  const auto point = std::exchange(point_, nullptr);
  if (!point) return;
  const bool same_device = use_.callers && use_.callers->space().serves(point_space_);
  if (!same_device || !point->wait_on_device(*use_.callers)) point->wait_on_host();
}

void DeviceRun::begin(const SessionDevices* session, const CopyBook& book, const StreamUse& use) {
  session_ = session;
  book_ = book;
  use_ = use;
  begun_ = 0;
  if (!session_) return;
  come_after_earlier_runs();
  for (const auto& provider : session_->providers) {
    provider->run_begins(use_.outward);
    ++begun_;
  }
}

void DeviceRun::begin_within(DeviceRun& outer) {
  outer_ = &outer;
  session_ = outer.session_;
  book_ = outer.book_;
  use_ = outer.use_;
}

void DeviceRun::end(bool failed) {
  if (outer_) return;  // its work continues
  if (!session_ || (session_->providers.empty() && own_.empty() && !use_.callers)) return;
  std::exception_ptr error;
  const auto attempt = [&](auto step) {
    try {
      step();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  };
  const bool waits = failed || use_.waits;
  Stream* const callers = std::exchange(use_.callers, nullptr);  // the caller may release it after the run
  if (waits) attempt([&] { wait_for_own(); });
  if (callers) {
    attempt([&] {
      if (waits) return synchronize(*callers);
      callers->flush();
      point_ = callers->notify();
      point_space_ = callers->space();
    });
  }
  if (callers) attempt([&] { callers->run_ends(); });
  for (const Own& own : own_) {
    if (own.stream) attempt([&] { own.stream->run_ends(); });
  }
  for (size_t i = 0; i < begun_; ++i) attempt([&] { session_->providers[i]->run_ends(use_.outward, waits); });
  begun_ = 0;
  if (error && !failed) std::rethrow_exception(error);
}

// A stream that fails is not used again.
void DeviceRun::wait_for_own() {
  pending_ = false;
  std::exception_ptr error;
  std::erase_if(own_, [&](const Own& own) {
    if (!own.stream) return false;
    try {
      synchronize(*own.stream);
      return false;
    } catch (...) {
      error = std::current_exception();
      return true;
    }
  });
  if (error) std::rethrow_exception(error);
}

Stream* DeviceRun::stream(const MemorySpace& space) {
  if (!session_ || space.host_readable()) return nullptr;
  if (outer_) return outer_->stream(space);
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
  require(session_, ErrorCode::invalid_argument, "no provider has memory of {}; add the provider that owns it",
          to_string(space));
  return session_->devices->allocate(space, bytes);
}

void DeviceRun::move_bytes(const Tensor& from, Tensor& to, bool from_stays) {
  if (from.space().host_readable() && to.space().host_readable()) return copy_on_host(from, to, use_.copies);
  require(session_, ErrorCode::not_implemented,
          "no provider copies from {} to {}; add the provider that owns the memory", to_string(from.space()),
          to_string(to.space()));
  Stream* const before = stream(from.space());
  Stream* const after = stream(to.space());
  // Between two devices: the second does the copy, after the first has done its work so far.
  if (before && after && before != after && !before->notify()->wait_on_device(*after)) synchronize(*before);
  Stream* const on = after ? after : before;
  session_->devices->copy(from, to, on);
  // After a run that does not wait, callers may change their host memory at any time.
  const bool leaves = !from_stays || (from.space().host_readable() && !use_.waits);
  if (on && (to.space().host_readable() || leaves)) synchronize(*on);
}

void DeviceRun::copy(CopyCause cause, std::string_view name, const Tensor& from, Tensor& to, bool from_stays) {
  const Profiler::Span span = book_.profiler ? book_.profiler->begin() : Profiler::Span();
  try {
    move_bytes(from, to, from_stays);
  } catch (Error& e) {
    e.add_context(cat("copying '{}' from {} to {}", name, to_string(from.space()), to_string(to.space())));
    throw;
  }
  const size_t bytes = from.bytes();
  if (book_.ledger) book_.ledger->add(cause, name, from.space(), to.space(), bytes);
  if (!book_.profiler) return;
  book_.profiler->end(span, cat("copy {}", name), "Copy",
                      {{"bytes", std::to_string(bytes), true},
                       {"cause", std::string(copy_cause_name(cause))},
                       {"from", to_string(from.space())},
                       {"to", to_string(to.space())}});
}

}  // namespace retort
