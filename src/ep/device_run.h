// What a run has to do with devices: a stream for each provider, and copies, which are counted.
#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/profiler.h"
#include "ep/devices.h"
#include "memory/copy_ledger.h"

namespace retort {

/// What a session knows of devices. Immutable once the session is made; outlives its runs.
struct SessionDevices {
  std::shared_ptr<Devices> devices;
  std::vector<std::shared_ptr<Provider>> providers;  ///< in the order in which they are asked
};

/// Who is told of copies; all may be null.
struct CopyBook {
  CopyLedger* ledger = nullptr;
  Profiler* profiler = nullptr;
};

/// How a run treats the streams of devices.
struct StreamUse {
  Stream* callers = nullptr;  ///< for the work of its device; null: the run has its own
  bool waits = true;          ///< the run returns after the devices are done
};

/// Belongs to one run at a time; streams stay for the next.
class DeviceRun {
 public:
  DeviceRun() = default;
  DeviceRun(const DeviceRun&) = delete;
  ~DeviceRun();

  /// `session` may be null: there is only the host. True when memory of the last run may still be in use by a stream that
  /// this run does not know.
  bool begin(const SessionDevices* session, const CopyBook& book, const StreamUse& use);
  /// Also after an error: then nothing of the run is left under way.
  void end(bool failed);
  /// Null where nobody has one for that memory: the host, or a provider without streams.
  Stream* stream(const MemorySpace& space);
  /// Copies and counts. Waits where the host reads the result, and where `from` may change before the run ends.
  void copy(CopyCause cause, std::string_view name, const Tensor& from, Tensor& to, bool from_stays);
  /// Copies without counting.
  void move_bytes(const Tensor& from, Tensor& to, bool from_stays);
  /// Memory in `space`: throws invalid_argument where nobody has it.
  std::shared_ptr<void> allocate(const MemorySpace& space, size_t bytes) const;

 private:
  struct Own {
    const Provider* provider;
    std::unique_ptr<Stream> stream;
  };
  void wait();

  const SessionDevices* session_ = nullptr;
  CopyBook book_;
  StreamUse use_;
  std::vector<Own> own_;               ///< by the session's providers; made when first used
  bool pending_ = false;               ///< own streams may have work of an earlier run
  const Stream* unawaited_ = nullptr;  ///< the caller's stream that may have
};

}  // namespace retort
