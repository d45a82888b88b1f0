// Ends the loading of a model that the program has cancelled.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/function_ref.h"
#include "base/parallel.h"

namespace retort {

/// What a program sets, from any thread, to end the loading of models. Loading during which `on` was set fails, even if
/// it is cleared before the loading ends: parts may have returned early.
struct LoadCancellation {
  std::atomic<bool> on{false};
  std::atomic<uint32_t> times{0};  ///< how often `on` was set; raised before it is set
};

/// While this object lives, check_loading() on this thread asks `cancel`, which must outlive it; null: it does nothing.
/// Objects may be nested.
class LoadingThread {
 public:
  explicit LoadingThread(const std::atomic<bool>* cancel);
  ~LoadingThread();
  LoadingThread(const LoadingThread&) = delete;

 private:
  const std::atomic<bool>* const outer_;
  const bool outer_drops_later_;
};

/// What check_loading() on this thread asks; null: nothing. For work on other threads.
const std::atomic<bool>* loading_cancel();

/// From now on, what the loading of this thread has made is dropped on another thread if it is cancelled. Call this only
/// if nothing in the loading belongs to the program, since destructors of the program must not run on another thread. It
/// holds until the LoadingThread is destroyed.
void let_loading_drop_later();
/// Drops an object of the loading that this thread works for: like drop_later() if it was cancelled and may do so, else
/// here.
void drop_of_loading(std::shared_ptr<void> object) noexcept;

/// The only owner of an object that takes longer to destroy than a cancelled load may take (a graph of 100,000 nodes
/// takes 60 ms). Gives it to drop_of_loading().
template <typename T>
class LoadingScratch {
 public:
  explicit LoadingScratch(std::shared_ptr<T> object) : object_(std::move(object)) {}
  ~LoadingScratch() { drop_of_loading(std::move(object_)); }
  LoadingScratch(const LoadingScratch&) = delete;
  LoadingScratch& operator=(const LoadingScratch&) = delete;

  T& operator*() const { return *object_; }
  T* operator->() const { return object_.get(); }

 private:
  std::shared_ptr<T> object_;
};

/// The loading of one model, on the thread that makes this object, which stays there.
class CancellableLoading {
 public:
  explicit CancellableLoading(const LoadCancellation& cancellation);
  /// Throws model_load_canceled if the loading was cancelled since this object was made.
  void end() const;

 private:
  const LoadCancellation& cancellation_;
  const uint32_t times_;
  const LoadingThread thread_;
};

/// Throws model_load_canceled if the loading that this thread works for has been cancelled. To be called every few
/// milliseconds: callers count on loading to end within 50 ms.
void check_loading();
/// The same for the loading whose work `parallel` distributes, on any thread.
void check_loading(const Parallel& parallel);

/// Calls work(begin, size) for consecutive pieces of `bytes` bytes, and check_loading() before each.
void in_pieces(size_t bytes, FunctionRef<void(size_t begin, size_t size)> work);
/// memcpy() in such pieces.
void copy_in_pieces(void* to, const void* from, size_t bytes);

}  // namespace retort
