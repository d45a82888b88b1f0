#include "control.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "host.h"

namespace loopback {

static_assert(sizeof(LoopbackCounts) == kCounts * sizeof(int64_t));

Control& Control::get() {
  static Control& control = *new Control;  // never destroyed: threads of streams may outlive static objects
  return control;
}

namespace {

bool number(const std::string& text, double& value) {
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && !*end && value >= 0 && value < 1e15;
}
bool flag(const std::string& text, bool& value) {
  value = text == "1";
  return text == "0" || text == "1";
}

}  // namespace

bool Control::set(const std::string& key, const std::string& value) {
  double n = 0;
  bool on = false;
  if (key == "rate") return number(value, n) && (rate = n, true);
  if (key == "latency_us") return number(value, n) && (latency = int64_t(n * 1000), true);
  if (key == "delay_us") return number(value, n) && (delay = int64_t(n * 1000), true);
  if (key == "streams") return flag(value, on) && (streams = on, true);
  if (key == "hold") return flag(value, on) && (hold = on, true);
  if (key != "fail") {
    const std::lock_guard lock(mutex_);
    Style changed = style_;
    if (key == "style" || key == "claim" || key == "drop_constants" || key == "channels_last" || key == "capture")
      return set(key, value, changed) && (style_ = changed, true);
    return false;
  }
  // "Compute" fails each time, "Compute:3" the third time from now, "" never.
  const size_t colon = value.find(':');
  if (colon != std::string::npos && (!number(value.substr(colon + 1), n) || n < 1)) return false;
  const std::lock_guard lock(mutex_);
  fail_ = value.substr(0, colon);
  fail_at_ = int64_t(n);
  may_fail_ = !fail_.empty();
  return true;
}

bool Control::set(const std::string& key, const std::string& value, Style& style) {
  if (key == "style") return (value == "compiled" || value == "kernels") && (style.kernels = value == "kernels", true);
  if (key == "claim") return style.claim = value, true;
  if (key == "drop_constants") return flag(value, style.drop_constants);
  if (key == "channels_last") return flag(value, style.channels_last);
  if (key == "capture") return number(value, style.capture);
  return set(key, value);
}

Style Control::style() {
  const std::lock_guard lock(mutex_);
  return style_;
}

bool Control::should_fail(std::string_view name) noexcept {
  if (!may_fail_) return false;
  const std::lock_guard lock(mutex_);
  if (name != fail_) return false;
  if (fail_at_ == 0) return true;
  if (--fail_at_ > 0) return false;
  may_fail_ = false;
  return true;
}

void Control::fail_if_told(const char* name) {
  if (should_fail(name)) throw Error("option 'fail' makes this call fail");
}

void Control::tell(LoopbackCounts& counts) const noexcept {
  int64_t* to = &counts.to_device;
  for (int i = 0; i < kCounts; ++i) to[i] = counts_[i];
}

void Control::reset() noexcept {
  for (int i = 0; i < kAlive; ++i) counts_[i] = 0;
}

void Control::wait_while_held() const noexcept {
  constexpr int64_t kMinute = 60'000'000'000, kStep = 1'000'000;
  for (const int64_t end = now() + kMinute; hold && now() < end;) pause_until(now() + kStep);
}

void Control::record(bool on) {
  const std::lock_guard lock(mutex_);
  events_.clear();
  recording_ = on;
}

void Control::happened(const char* what, int64_t begin, int64_t bytes, int64_t stream) {
  if (!recording_) return;
  const int64_t end = now();
  const std::lock_guard lock(mutex_);
  events_.push_back({what, begin, end, bytes, stream});
}

size_t Control::events(LoopbackEvent* into, size_t room) {
  const std::lock_guard lock(mutex_);
  std::copy_n(events_.begin(), std::min(room, events_.size()), into);
  return events_.size();
}

int64_t now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void pause_until(int64_t time) noexcept {
  constexpr int64_t kSpin = 100'000;  // margin for a thread that sleeps too long
  for (int64_t left; (left = time - now()) > 0;) {
    if (left > kSpin) std::this_thread::sleep_for(std::chrono::nanoseconds(left - kSpin));
  }
}

}  // namespace loopback

using loopback::Control;

extern "C" {

__attribute__((visibility("default"))) void LoopbackCounters(LoopbackCounts* counts) { Control::get().tell(*counts); }
__attribute__((visibility("default"))) void LoopbackReset() { Control::get().reset(); }
__attribute__((visibility("default"))) int LoopbackSet(const char* key, const char* value) {
  return key && value && Control::get().set(key, value);
}
__attribute__((visibility("default"))) void LoopbackRecord(int on) { Control::get().record(on != 0); }
__attribute__((visibility("default"))) size_t LoopbackEvents(LoopbackEvent* events, size_t room) {
  return Control::get().events(events, room);
}
}
