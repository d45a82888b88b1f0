// Sessions and bindings behind their handles.
#pragma once
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "abi/handle.h"
#include "abi/options.h"
#include "abi/type_info.h"
#include "session/binding.h"
#include "session/session.h"

namespace retort::abi {

/// Threads for runs that nobody waits for: started when needed, as many as the session's pool has. Thread-safe. The
/// destructor waits for all that was begun, except when one of these runs is what destroys it. A forked child begins
/// anew: what the parent had begun is done in the parent only.
class AsyncRuns {
 public:
  explicit AsyncRuns(size_t threads) : limit_(threads) {}
  ~AsyncRuns();
  AsyncRuns(const AsyncRuns&) = delete;
  void start(std::function<void()> run);

 private:
  /// Held by the threads too: the one that destroys the owner comes back to it.
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> waiting;
    size_t idle = 0;
    bool closing = false;
  };
  static void work(const std::shared_ptr<Queue>& queue);
  void leave_parent();
  const size_t limit_;
  pid_t process_ = getpid();  ///< whose threads these are
  std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
  std::vector<std::thread> threads_;
};

}  // namespace retort::abi

struct OrtSession : retort::abi::Handle<retort::abi::tag_of("sess")> {
  std::shared_ptr<retort::Session> session;
  std::unique_ptr<retort::abi::AsyncRuns> async;  ///< null: the session has one thread
};

struct OrtIoBinding : retort::abi::Handle<retort::abi::tag_of("bind")> {
  explicit OrtIoBinding(std::shared_ptr<retort::Session> session) : binding(std::move(session)) {}
  retort::Binding binding;
};

struct OrtModelMetadata : retort::abi::Handle<retort::abi::tag_of("meta")> {
  retort::ModelInfo info;
};

/// Weights are shared by all sessions of the process, so the container has nothing to hold.
struct OrtPrepackedWeightsContainer : retort::abi::Handle<retort::abi::tag_of("pack")> {};

namespace retort::abi {

/// The options of the engine: a copy, with the caller's threads. Null: the defaults.
SessionOptions session_options(const OrtSessionOptions* options);
/// The type of a port as the C interface tells it.
OrtTypeInfo type_of(const ValueType& type, const DimTable& dims);

}  // namespace retort::abi
