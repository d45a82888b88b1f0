#include "stream.h"

#include <map>
#include <mutex>
#include <set>

#include "memory.h"

namespace providers::cuda {
namespace {

/// All existing streams: a pointer from the host is checked against them before use.
struct Living {
  std::mutex mutex;
  std::set<const OrtSyncStreamImpl*> all;
  static Living& get() {
    static Living& living = *new Living;
    return living;
  }
};

/// A point in the work of a stream.
class Notification : public OrtSyncNotificationImpl {
 public:
  explicit Notification(const Stream& stream)
      : OrtSyncNotificationImpl{}, device_(stream.device()), stream_(stream.handle()) {
    device_.enter();
    cuda::check(driver().event_create(&event_, kEventDisableTiming), "making an event");
    ort_version_supported = ORT_API_VERSION;
    OrtSyncNotificationImpl::Release = [](OrtSyncNotificationImpl* n) noexcept {
      delete static_cast<Notification*>(n);
    };
    OrtSyncNotificationImpl::Activate = [](OrtSyncNotificationImpl* n) noexcept {
      return entry([&] { static_cast<Notification*>(n)->activate(); });
    };
    OrtSyncNotificationImpl::WaitOnDevice = [](OrtSyncNotificationImpl* n, OrtSyncStream* consumer) noexcept {
      return entry([&] { static_cast<Notification*>(n)->wait_on_device(consumer); });
    };
    OrtSyncNotificationImpl::WaitOnHost = [](OrtSyncNotificationImpl* n) noexcept {
      return entry([&] { static_cast<Notification*>(n)->wait_on_host(); });
    };
  }

 private:
  // Work that waits for the event still finds it: the driver keeps what it needs.
  ~Notification() {
    if (event_) driver().event_destroy(event_);
  }
  void activate() {
    device_.enter();
    Captures::host_waits(stream_);
    cuda::check(driver().event_record(event_, stream_), "recording an event");
  }
  void wait_on_device(OrtSyncStream* consumer) {
    const Stream* const later = Stream::of(consumer);
    if (!later) throw Error("a notification needs the stream that shall wait", ORT_INVALID_ARGUMENT);
    later->device().enter();
    cuda::check(driver().stream_wait_event(later->handle(), event_, 0), "letting a stream wait for an event");
  }
  void wait_on_host() {
    device_.enter();
    cuda::check(driver().event_synchronize(event_), "waiting for an event");
  }

  Device& device_;
  const CUstream stream_;
  CUevent event_ = nullptr;
};

}  // namespace

CUstream begin_stream(Device& device) {
  CUstream stream = nullptr;
  device.enter();
  check(driver().stream_create(&stream, kStreamNonBlocking), "making a CUDA stream");
  device.memory().add_stream(stream);
  return stream;
}

void end_stream(Device& device, CUstream stream) noexcept {
  try {
    device.enter();
    driver().stream_synchronize(stream);
    device.memory().drop_stream(stream);
    driver().stream_destroy(stream);
  } catch (const std::exception&) {  // the driver is gone, and the stream with it
  }
}

namespace {

/// The streams of this library, by handle.
struct Owned {
  std::mutex mutex;
  std::map<CUstream, std::weak_ptr<const OwnedStream>> all;
  static Owned& get() {
    static Owned& owned = *new Owned;
    return owned;
  }
};

}  // namespace

std::shared_ptr<const OwnedStream> OwnedStream::make(Device& device) {
  const std::shared_ptr<const OwnedStream> made(new OwnedStream(device));
  Owned& owned = Owned::get();
  const std::lock_guard lock(owned.mutex);
  owned.all[made->handle_] = made;
  return made;
}

std::shared_ptr<const OwnedStream> OwnedStream::find(CUstream handle) {
  Owned& owned = Owned::get();
  const std::lock_guard lock(owned.mutex);
  const auto at = owned.all.find(handle);
  return at == owned.all.end() ? nullptr : at->second.lock();
}

OwnedStream::~OwnedStream() {
  {
    Owned& owned = Owned::get();
    const std::lock_guard lock(owned.mutex);
    owned.all.erase(handle_);
  }
  end_stream(device_, handle_);
}

Stream::Stream(Device& device) : OrtSyncStreamImpl{}, device_(device), owner_(OwnedStream::make(device)) {
  handle_ = owner_->handle();
  device.memory().add_stream(handle_);
  set_functions();
}

Stream::Stream(Device& device, CUstream stream, std::shared_ptr<const OwnedStream> owner,
               std::shared_ptr<Captures> captures)
    : OrtSyncStreamImpl{}, device_(device), handle_(stream), owner_(std::move(owner)), captures_(std::move(captures)) {
  device.memory().add_stream(stream);
  set_functions();
}

void Stream::set_functions() {
  ort_version_supported = ORT_API_VERSION;
  OrtSyncStreamImpl::Release = [](OrtSyncStreamImpl* s) noexcept { delete static_cast<Stream*>(s); };
  OrtSyncStreamImpl::GetHandle = [](OrtSyncStreamImpl* s) noexcept -> void* {
    return static_cast<Stream*>(s)->handle_;
  };
  OrtSyncStreamImpl::CreateNotification = [](OrtSyncStreamImpl* s, OrtSyncNotificationImpl** made) noexcept {
    *made = nullptr;
    return entry([&] { *made = new Notification(*static_cast<Stream*>(s)); });
  };
  OrtSyncStreamImpl::Flush = [](OrtSyncStreamImpl* s) noexcept {
    return entry([&] { static_cast<Stream*>(s)->wait(); });
  };
  OrtSyncStreamImpl::OnSessionRunEnd = [](OrtSyncStreamImpl*) noexcept -> OrtStatus* { return nullptr; };
  Living& living = Living::get();
  const std::lock_guard lock(living.mutex);
  living.all.insert(this);
}

Stream::~Stream() {
  {
    Living& living = Living::get();
    const std::lock_guard lock(living.mutex);
    living.all.erase(this);
  }
  device_.memory().remove_stream(handle_);
}

void Stream::wait() const {
  device_.enter();
  Captures::host_waits(handle_);
  cuda::check(driver().stream_synchronize(handle_), "waiting for a CUDA stream");
}

Stream* Stream::of(const OrtSyncStream* stream) {
  if (!stream) return nullptr;
  const OrtSyncStreamImpl* const impl = ep_api().SyncStream_GetImpl(stream);
  Living& living = Living::get();
  const std::lock_guard lock(living.mutex);
  if (!impl || !living.all.count(impl))
    throw Error("the stream belongs to another provider; CUDA copies on its own streams", ORT_INVALID_ARGUMENT);
  return const_cast<Stream*>(static_cast<const Stream*>(impl));
}

}  // namespace providers::cuda
