#include "stream.h"

#include <atomic>
#include <set>

namespace loopback {
namespace {

/// All existing streams: a pointer from the host is checked against them before use.
struct Living {
  std::mutex mutex;
  std::set<const Stream*> all;
  static Living& get() {
    static Living& living = *new Living;
    return living;
  }
};

std::atomic<int> next_number{1};

}  // namespace

/// A point in the work of a stream. Its state is shared with the streams that reach it or wait for it, because the host
/// may release the notification before.
class Notification : public OrtSyncNotificationImpl {
 public:
  explicit Notification(Stream& stream) : OrtSyncNotificationImpl{}, queue_(stream.queue_), host_(stream.host()) {
    ort_version_supported = ORT_API_VERSION;
    OrtSyncNotificationImpl::Release = [](OrtSyncNotificationImpl* n) noexcept {
      delete static_cast<Notification*>(n);
    };
    OrtSyncNotificationImpl::Activate = [](OrtSyncNotificationImpl* n) noexcept {
      auto& self = *static_cast<Notification*>(n);
      return entry(self.host_, "Activate", [&] { self.activate(); });
    };
    OrtSyncNotificationImpl::WaitOnDevice = [](OrtSyncNotificationImpl* n, OrtSyncStream* consumer) noexcept {
      auto& self = *static_cast<Notification*>(n);
      return entry(self.host_, "WaitOnDevice", [&] {
        Stream* const later = Stream::of(self.host_, consumer);
        if (!later) throw Error("no stream that shall wait");
        const auto point = self.point_;
        later->queue_->add({[point, wanted = point->current()] { point->wait(wanted); }, true});
      });
    };
    OrtSyncNotificationImpl::WaitOnHost = [](OrtSyncNotificationImpl* n) noexcept {
      auto& self = *static_cast<Notification*>(n);
      return entry(self.host_, "WaitOnHost", [&] {
        self.point_->wait(self.point_->current());
        self.queue_->throw_error(false);  // hosts that ignore this status get the error at the end of the run
      });
    };
  }

 private:
  /// How often it was activated, and how often the stream reached it.
  struct Point {
    std::mutex mutex;
    std::condition_variable changed;
    int64_t asked = 0, reached = 0;
    int64_t current() {
      const std::lock_guard lock(mutex);
      return asked;
    }
    void wait(int64_t wanted) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return reached >= wanted; });
    }
  };

  void activate() {
    const auto point = point_;
    {
      const std::lock_guard lock(point->mutex);
      ++point->asked;
    }
    queue_->add({[point] {
                   const std::lock_guard lock(point->mutex);
                   ++point->reached;
                   point->changed.notify_all();
                 },
                 true});
  }

  const std::shared_ptr<Stream::Queue> queue_;
  const Host host_;
  const std::shared_ptr<Point> point_ = std::make_shared<Point>();
};

Stream::Stream(const Host& host, const void* owner)
    : OrtSyncStreamImpl{}, host_(host), number_(next_number++), owner_(owner) {
  ort_version_supported = ORT_API_VERSION;
  OrtSyncStreamImpl::Release = [](OrtSyncStreamImpl* s) noexcept { delete static_cast<Stream*>(s); };
  OrtSyncStreamImpl::GetHandle = [](OrtSyncStreamImpl* s) noexcept -> void* { return static_cast<Stream*>(s); };
  OrtSyncStreamImpl::CreateNotification = [](OrtSyncStreamImpl* s, OrtSyncNotificationImpl** made) noexcept {
    auto& self = *static_cast<Stream*>(s);
    return entry(self.host_, "CreateNotification", [&] { *made = new Notification(self); });
  };
  OrtSyncStreamImpl::Flush = [](OrtSyncStreamImpl* s) noexcept {
    auto& self = *static_cast<Stream*>(s);
    return entry(self.host_, "Flush", [&] { self.wait(); });
  };
  OrtSyncStreamImpl::OnSessionRunEnd = [](OrtSyncStreamImpl* s) noexcept {
    return entry(static_cast<Stream*>(s)->host_, "OnSessionRunEnd", [] {});
  };
  Living& living = Living::get();
  const std::lock_guard lock(living.mutex);
  living.all.insert(this);
  Control::get().count(kStreams);
}

Stream::~Stream() {
  {
    Living& living = Living::get();
    const std::lock_guard lock(living.mutex);
    living.all.erase(this);
  }
  queue_->end();
  Control::get().count(kStreams, -1);
}

void Stream::wait_all(const void* owner) {
  std::vector<std::shared_ptr<Queue>> queues;
  {
    Living& living = Living::get();
    const std::lock_guard lock(living.mutex);
    for (const Stream* s : living.all) {
      if (s->owner_ == owner) queues.push_back(s->queue_);
    }
  }
  for (const auto& queue : queues) queue->wait();
}

void Stream::after_all(std::function<void()> work) {
  // Each busy stream holds a reference to this; the last one to release it does the work.
  const std::shared_ptr<void> last(nullptr, [work = std::move(work)](void*) { work(); });
  Living& living = Living::get();
  const std::lock_guard lock(living.mutex);
  for (const Stream* s : living.all) {
    if (!s->queue_->idle()) s->queue_->add({[last] {}, true});
  }
}

bool Stream::Queue::idle() {
  const std::lock_guard lock(mutex_);
  return done_ == ordered_;
}

void Stream::Queue::end() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Stream::Queue::add(Work work) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  ++ordered_;
  changed_.notify_all();
}

void Stream::Queue::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Work work = std::move(queue_.front());
    queue_.pop_front();
    const bool drops = error_ && !work.always;
    lock.unlock();
    std::exception_ptr error;
    try {
      if (!drops) work.what();
    } catch (...) {
      error = std::current_exception();
    }
    work = {};  // memory that it kept is freed before anybody is notified that it is done
    lock.lock();
    ++done_;
    if (error && !error_) error_ = error;
    changed_.notify_all();
  }
}

void Stream::Queue::pass() {
  std::unique_lock lock(mutex_);
  const int64_t wanted = ordered_;
  changed_.wait(lock, [&] { return done_ >= wanted; });
}

void Stream::Queue::throw_error(bool forget) {
  std::unique_lock lock(mutex_);
  const std::exception_ptr error = error_;
  if (forget) error_ = nullptr;
  lock.unlock();
  if (error) std::rethrow_exception(error);
}

Stream* Stream::of(const Host& host, const OrtSyncStream* stream) {
  if (!stream) return nullptr;
  const OrtSyncStreamImpl* const impl = host.ep->SyncStream_GetImpl(stream);
  Living& living = Living::get();
  const std::lock_guard lock(living.mutex);
  const auto* const ours = static_cast<const Stream*>(impl);
  if (!impl || !living.all.count(ours)) throw Error("the stream is not this provider's");
  return const_cast<Stream*>(ours);
}

Stream* Stream::of(const Host& host, const OrtKernelContext* context) {
  void* handle = nullptr;  // the result of GetHandle
  check(host, host.api->KernelContext_GetGPUComputeStream(context, &handle));
  return static_cast<Stream*>(handle);
}

void perform(Stream* stream, std::function<void()> work) {
  if (stream)
    stream->later(std::move(work));
  else
    work();
}

}  // namespace loopback
