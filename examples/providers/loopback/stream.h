// Streams: queues of work that runs in order, asynchronously to the host.
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

/// A thread that does its work in order. The host's view of it is the struct that it derives from: both have the same
/// address, here and in all objects of this provider.
class Stream : public OrtSyncStreamImpl {
 public:
  /// `owner`: the object that may wait for all of its streams, or null.
  Stream(const Host& host, const void* owner);
  ~Stream();  // after all its work is done

  /// Adds work. If a piece of work throws, later work is skipped until `wait` has reported the error.
  void later(std::function<void()> work) { queue_->add({std::move(work), false}); }
  /// Waits for all work that was added so far. Throws the first error since the last wait.
  void wait() { queue_->wait(); }
  /// Waits in the same way, but does not report errors.
  void pass() { queue_->pass(); }
  /// Waits for all existing streams of an owner. Throws the first error.
  static void wait_all(const void* owner);
  /// Does `work` when all streams have finished their current work; immediately if they have none.
  static void after_all(std::function<void()> work);
  int number() const { return number_; }
  const Host& host() const { return host_; }

  /// The stream behind a handle of the host, null for null. Throws if it is not a stream of this library.
  static Stream* of(const Host& host, const OrtSyncStream* stream);
  /// The stream for a run of a part or kernel; null if there is none.
  static Stream* of(const Host& host, const OrtKernelContext* context);

 private:
  friend class Notification;
  struct Work {
    std::function<void()> what;
    bool always;  // also after an error, because others wait for it
  };
  /// The work and its thread. Shared, because a stream may be released while a call waits for all of them.
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
    void end();  // after all work is done

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

/// Does `work` on the stream, or immediately if there is none.
void perform(Stream* stream, std::function<void()> work);

}  // namespace loopback
