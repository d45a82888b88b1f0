// A queue of a device's work, which runs in order and asynchronously to the host.
#pragma once
#include <memory>

#include "tensor/memory_space.h"

namespace retort {

class Stream;

/// A point in the work of a stream. May outlive the stream.
class Notification {
 public:
  virtual ~Notification() = default;
  /// Work that is added to `later` from now on begins after the point; the host does not wait. False: the device cannot
  /// do this.
  virtual bool wait_on_device(Stream& later) = 0;
  /// Waits on the host for the point.
  virtual void wait_on_host() = 0;
};

/// Only one thread at a time may add work.
class Stream {
 public:
  virtual ~Stream() = default;
  /// The handle of the device's own interface; null if there is none.
  virtual void* handle() const = 0;
  /// The device that does the work.
  virtual const MemorySpace& space() const = 0;
  /// Marks the end of the work that was added so far.
  virtual std::unique_ptr<Notification> notify() = 0;
  /// Submits collected work to the device.
  virtual void flush() = 0;
  /// Called when a run that used the stream has ended; its work may still be in progress.
  virtual void run_ends() {}
};

/// Waits on the host for all work that was added so far.
void synchronize(Stream& stream);

}  // namespace retort
