#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/move/copy.cc"
#include "kernels/move/copy.h"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/dispatch.h"
#include "kernels/elementwise/chunks.h"

HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// `to` begins at a cache line, and `bytes` is a multiple of a cache line. The caller calls FlushStream().
void stream_lines(uint8_t* to, const uint8_t* from, size_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < bytes; i += lanes) hn::Stream(hn::LoadU(d, from + i), d, to + i);
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kAlone = size_t(1) << 20;  // less is not worth waking other threads
constexpr size_t kTask = size_t(256) << 10, kStreamedTask = size_t(1) << 20;
constexpr size_t kStreamed = size_t(32) << 20;  // as in elementwise/unary.cc

}  // namespace

void copy_bytes(void* to, const void* from, size_t bytes, const Parallel& par) noexcept {
  auto* y = static_cast<uint8_t*>(to);
  const auto* x = static_cast<const uint8_t*>(from);
  if (bytes < kAlone) {
    if (bytes > 0) std::memcpy(y, x, bytes);
    return;
  }
  if (bytes < kStreamed) {
    return for_chunks(
        par, bytes, [&](size_t begin, size_t end) { std::memcpy(y + begin, x + begin, end - begin); }, kTask);
  }
  for_chunks(
      par, bytes, [&](size_t begin, size_t end) { stream_bytes(y + begin, x + begin, end - begin); }, kStreamedTask);
}

void stream_bytes(void* to, const void* from, size_t bytes) noexcept {
  auto* y = static_cast<uint8_t*>(to);
  const auto* x = static_cast<const uint8_t*>(from);
  const size_t head = std::min(bytes, (kLine - reinterpret_cast<uintptr_t>(y) % kLine) % kLine);
  const size_t lines = (bytes - head) / kLine * kLine, tail = bytes - head - lines;
  if (head > 0) std::memcpy(y, x, head);
  RETORT_SELECT(stream_lines)(y + head, x + head, lines);
  if (tail > 0) std::memcpy(y + head + lines, x + head + lines, tail);
  hwy::FlushStream();
}

}  // namespace retort::kernels
#endif
