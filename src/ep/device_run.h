// What a run has to do with devices: a stream for each provider, and copies, which are counted.
#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/profiler.h"
#include "ep/devices.h"
#include "ep/uploads.h"
#include "memory/copy_ledger.h"

namespace retort {

/// What a session knows of devices. Immutable once the session is made; outlives its runs.
struct SessionDevices {
  std::vector<std::shared_ptr<Provider>> providers;  ///< in the order in which they are asked
  std::shared_ptr<const Devices> devices;            ///< with the memory of those providers, which goes before them
  std::shared_ptr<Uploads> uploads;                  ///< of its constants
};

/// Who is told of copies; all may be null.
struct CopyBook {
  CopyLedger* ledger = nullptr;
  Profiler* profiler = nullptr;
};

/// How a run treats the streams of devices.
struct StreamUse {
  Stream* callers = nullptr;            ///< for the work of its device; null: the run has its own
  bool waits = true;                    ///< the run returns after the devices are done
  const RunOptions* options = nullptr;  ///< for providers; outlive the run
};

/// Belongs to one run at a time; streams stay for the next.
class DeviceRun {
 public:
  DeviceRun() = default;
  DeviceRun(const DeviceRun&) = delete;
  ~DeviceRun();

  /// `session` may be null: there is only the host. What earlier runs left under way comes before this one.
  void begin(const SessionDevices* session, const CopyBook& book, const StreamUse& use);
  /// Of a body: a part of `outer`, whose streams, book and providers are its own.
  void begin_within(DeviceRun& outer);
  /// Also after an error, of begin() too: then nothing of the run is left under way, and nothing is thrown.
  void end(bool failed);
  /// The host waits for what runs left under way: memory that they use may go then.
  void settle();
  /// The host waits for what this run has put on its streams so far.
  void wait();
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
  void wait_for_own();
  void come_after_earlier_runs();

  const SessionDevices* session_ = nullptr;
  DeviceRun* outer_ = nullptr;  ///< null: this is no part of another one
  CopyBook book_;
  StreamUse use_;
  size_t begun_ = 0;      ///< providers that were told of the run
  std::vector<Own> own_;  ///< by the session's providers; made when first used
  bool pending_ = false;  ///< own streams may have work of an earlier run
  /// The end of an earlier run's work in a caller's stream, which may be gone by now; null: it was waited for.
  std::unique_ptr<Notification> point_;
  MemorySpace point_space_;  ///< the device of that stream
};

}  // namespace retort
