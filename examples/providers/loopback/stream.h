// Streams: work in order, beside the host.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "host.h"

namespace loopback {

/// A thread that does what it is given, in order. The host's side of it is the struct that it derives from: the address of
/// one is that of the other, here and in all objects of this provider.
class Stream : public OrtSyncStreamImpl {
 public:
  /// `owner`: whoever may want to wait for all of its streams; null for nobody.
  Stream(const Host& host, const void* owner);
  ~Stream();  // after all its work is done

  /// Does `work` after what was given before. After one that throws, the others are dropped until `wait` has told it.
  void later(std::function<void()> work) { queue_->add({std::move(work), false}); }
  /// Waits for what was given so far. Throws the first error since the last wait.
  void wait() { queue_->wait(); }
  /// Waits likewise, and leaves errors to be told later.
  void pass() { queue_->pass(); }
  /// Waits for all streams of an owner that live now. Throws the first error.
  static void wait_all(const void* owner);
  /// Does `work` when all streams have done what they have to do now; at once where they have nothing to do.
  static void after_all(std::function<void()> work);
  int number() const { return number_; }
  const Host& host() const { return host_; }

  /// The stream behind one of the host's, null for null. Throws for streams that are none of this library's.
  static Stream* of(const Host& host, const OrtSyncStream* stream);
  /// The stream that a run of a part or kernel shall use; null where there is none.
  static Stream* of(const Host& host, const OrtKernelContext* context);

 private:
  friend class Notification;
  struct Work {
    std::function<void()> what;
    bool always;  // after an error, too: others wait for it
  };
  /// The work and its thread. Shared, because a stream may be released while somebody waits for all.
  class Queue {
   public:
    Queue() : thread_([this] { serve(); }) {}
    ~Queue() { end(); }
    void add(Work work);
    void wait() {
      pass();
      throw_error(true);
    }
    void pass();
    void throw_error(bool forget);
    bool idle();
    void end();  // when all is done

   private:
    void serve();
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Work> queue_;
    int64_t ordered_ = 0, done_ = 0;
    bool ends_ = false;
    std::exception_ptr error_;
    std::thread thread_;
  };

  const Host host_;
  const int number_;
  const void* const owner_;
  const std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
};

/// `work` on the stream, or at once where there is none.
void perform(Stream* stream, std::function<void()> work);

}  // namespace loopback
