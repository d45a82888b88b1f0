// Parts of a model while it is read.
#pragma once
#include <memory>
#include <utility>

#include "base/later.h"
#include "base/loading.h"

namespace retort::onnx {

/// The only owner of something that takes longer to destroy than a cancelled load may take. If the loading of this
/// thread was cancelled, it is dropped on another thread, provided that nothing in it belongs to the program (`ours`).
template <typename T>
class ReadScratch {
 public:
  explicit ReadScratch(std::shared_ptr<T> object, bool ours = true) : object_(std::move(object)), ours_(ours) {}
  ~ReadScratch() {
    const std::atomic<bool>* const cancel = loading_cancel();
    if (ours_ && cancel && cancel->load()) drop_later(std::move(object_));
  }
  ReadScratch(const ReadScratch&) = delete;
  ReadScratch& operator=(const ReadScratch&) = delete;

  T& operator*() const { return *object_; }
  T* operator->() const { return object_.get(); }
  /// Hands the object over, after which there is nothing to drop.
  std::shared_ptr<T> take() { return std::move(object_); }

 private:
  std::shared_ptr<T> object_;
  const bool ours_;
};

}  // namespace retort::onnx
