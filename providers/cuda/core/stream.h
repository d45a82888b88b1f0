// Streams and notifications for the host.
#pragma once
#include <memory>

#include "capture.h"
#include "place.h"

namespace providers::cuda {

/// A stream that does not wait for the legacy default stream. The device's memory knows it until `end_stream`.
CUstream begin_stream(Device& device);
/// Waits for the stream's work and destroys it. The device's memory forgets it, also if others have added it: the driver must
/// not be asked about a stream that is gone.
void end_stream(Device& device, CUstream stream) noexcept;

/// A stream that this library made. Sessions and the host's views own it together: it ends with the last of them, in
/// whichever order an application releases a session and the stream on which it runs.
class OwnedStream {
 public:
  static std::shared_ptr<const OwnedStream> make(Device& device);
  /// That of a handle; null for a stream of others.
  static std::shared_ptr<const OwnedStream> find(CUstream handle);
  ~OwnedStream();
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  CUstream handle() const { return handle_; }

 private:
  explicit OwnedStream(Device& device) : device_(device), handle_(begin_stream(device)) {}
  Device& device_;
  const CUstream handle_;
};

/// The host's view of a CUDA stream. GetHandle returns the CUstream itself, since applications pass it to CUDA.
class Stream : public OrtSyncStreamImpl {
 public:
  /// A stream of its own, which ends with this object.
  explicit Stream(Device& device);
  /// The view of a session's stream. `owner`: null for a stream of others, which lives longer. `captures`: those of the
  /// session, or null.
  Stream(Device& device, CUstream stream, std::shared_ptr<const OwnedStream> owner, std::shared_ptr<Captures> captures);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device& device() const { return device_; }
  CUstream handle() const { return handle_; }
  Captures* captures() const { return captures_.get(); }
  /// Waits for all work that was ordered so far. Throws Error if it failed.
  void wait() const;

  /// The stream behind a handle of the host; null for null. Throws Error if it is not of this library.
  static Stream* of(const OrtSyncStream* stream);

 private:
  void set_functions();

  Device& device_;
  CUstream handle_ = nullptr;
  const std::shared_ptr<const OwnedStream> owner_;
  const std::shared_ptr<Captures> captures_;
};

}  // namespace providers::cuda
