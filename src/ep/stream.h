// Work that a device does beside the host, in order.
#pragma once
#include <memory>

#include "tensor/memory_space.h"

namespace retort {

class Stream;

/// A point in the work of a stream. May outlive the stream.
class Notification {
 public:
  virtual ~Notification() = default;
  /// Work that is given to `later` from now on begins after the point; the host does not wait. False: the device cannot.
  virtual bool wait_on_device(Stream& later) = 0;
  /// The host waits for the point.
  virtual void wait_on_host() = 0;
};

/// One thread at a time gives it work.
class Stream {
 public:
  virtual ~Stream() = default;
  /// What the device's own interface calls it; null where it has no such thing.
  virtual void* handle() const = 0;
  /// The device whose work it is.
  virtual const MemorySpace& space() const = 0;
  /// The end of the work given so far.
  virtual std::unique_ptr<Notification> notify() = 0;
  /// Hands work that was only collected to the device.
  virtual void flush() = 0;
  /// A run that it worked for has ended; its work may still be under way.
  virtual void run_ends() {}
};

/// The host waits for all work given so far.
void synchronize(Stream& stream);

}  // namespace retort
