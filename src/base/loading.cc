#include "base/loading.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/later.h"

namespace retort {
namespace {

constexpr size_t kPiece = size_t(4) << 20;  // a few milliseconds, even if all pages are new

thread_local const std::atomic<bool>* cancel_flag = nullptr;
thread_local bool drops_later = false;

void check(bool cancelled) {
  require(!cancelled, ErrorCode::model_load_canceled,
          "loading was cancelled; clear the cancellation flag of the options to load again");
}

}  // namespace

LoadingThread::LoadingThread(const std::atomic<bool>* cancel)
    : outer_(std::exchange(cancel_flag, cancel)), outer_drops_later_(std::exchange(drops_later, false)) {}

LoadingThread::~LoadingThread() {
  cancel_flag = outer_;
  drops_later = outer_drops_later_;
}

const std::atomic<bool>* loading_cancel() { return cancel_flag; }

void let_loading_drop_later() { drops_later = true; }

void drop_of_loading(std::shared_ptr<void> object) noexcept {
  if (drops_later && cancel_flag && cancel_flag->load()) drop_later(std::move(object));
}

CancellableLoading::CancellableLoading(const LoadCancellation& cancellation)
    : cancellation_(cancellation), times_(cancellation.times.load()), thread_(&cancellation.on) {}

void CancellableLoading::end() const { check(cancellation_.on.load() || cancellation_.times.load() != times_); }

void check_loading() { check(cancel_flag && cancel_flag->load(std::memory_order_relaxed)); }

void check_loading(const Parallel& parallel) { check(parallel.cancelled()); }

void in_pieces(size_t bytes, FunctionRef<void(size_t, size_t)> work) {
  for (size_t begin = 0; begin < bytes; begin += kPiece) {
    check_loading();
    work(begin, std::min(kPiece, bytes - begin));
  }
}

void copy_in_pieces(void* to, const void* from, size_t bytes) {
  in_pieces(bytes, [&](size_t begin, size_t size) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, size);
  });
}

}  // namespace retort
