// The device side of a run: a stream for each provider, and copies, which are counted.
#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/profiler.h"
#include "ep/devices.h"
#include "ep/uploads.h"
#include "memory/copy_ledger.h"
#include "ops/run_context.h"

namespace retort {

/// The devices of a session. Immutable once the session is made; outlives its runs.
struct SessionDevices {
  std::vector<std::shared_ptr<Provider>> providers;  ///< in the order in which they claim nodes
  std::shared_ptr<const Devices> devices;            ///< with those providers' own memory for the session
  std::shared_ptr<Uploads> uploads;                  ///< of the session's constants
};

/// Where copies are recorded; all may be null.
struct CopyBook {
  CopyLedger* ledger = nullptr;
  Profiler* profiler = nullptr;
};

/// How a run uses the streams of devices, and threads for its copies.
struct StreamUse {
  Stream* callers = nullptr;      ///< for the work of its device; null: the run makes a stream
  bool waits = true;              ///< whether the run returns after the devices have finished
  const void* outward = nullptr;  ///< the run's options as its caller knows them; null: none
  Parallel copies;                ///< for copies on the host, which are completed even if the run is terminated
};

/// Belongs to one run at a time; its streams are kept for the next.
class DeviceRun : public RunDevices {
 public:
  DeviceRun() = default;
  DeviceRun(const DeviceRun&) = delete;
  ~DeviceRun();

  /// Starts a run, whose work follows the unfinished work of earlier runs. `session` may be null: then there is only
  /// the host.
  void begin(const SessionDevices* session, const CopyBook& book, const StreamUse& use);
  /// Starts the run of a body, as a part of `outer`: it uses the streams, book and providers of `outer`.
  void begin_within(DeviceRun& outer);
  /// Call it also after an error, even of begin(): then no work of the run is unfinished. Does not throw.
  void end(bool failed);
  /// Waits on the host for the unfinished work of earlier runs, so that memory that they use may be freed.
  void settle();
  /// Waits on the host for the work that this run has put on its streams so far.
  void wait();
  /// The options of the run as its caller knows them; null: none.
  const void* outward() const { return use_.outward; }
  /// The stream for that memory; null for the host, and for a provider without streams.
  Stream* stream(const MemorySpace& space);
  /// Copies and counts. Waits if the host reads the result, and if `from` may change before the run ends.
  void copy(CopyCause cause, std::string_view name, const Tensor& from, Tensor& to, bool from_stays);
  /// Copies without counting.
  void move_bytes(const Tensor& from, Tensor& to, bool from_stays);
  /// Allocates memory in `space`; throws invalid_argument if no provider has it.
  std::shared_ptr<void> allocate(const MemorySpace& space, size_t bytes) const;

 private:
  struct Own {
    const Provider* provider;
    std::unique_ptr<Stream> stream;
  };
  void wait_for_own();
  void come_after_earlier_runs();

  const SessionDevices* session_ = nullptr;
  DeviceRun* outer_ = nullptr;  ///< null: not a part of another run
  CopyBook book_;
  StreamUse use_;
  size_t begun_ = 0;      ///< number of providers that were notified of the run
  std::vector<Own> own_;  ///< by the session's providers; made on first use
  bool pending_ = false;  ///< whether own streams may have unfinished work of an earlier run
  /// The end of an earlier run's work in a caller's stream, which may have been released since; null: the run waited
  /// for it.
  std::unique_ptr<Notification> point_;
  MemorySpace point_space_;  ///< the device of that stream
};

/// The use of devices by the run that a step belongs to; there must be one.
inline DeviceRun& device_run(const RunContext& context) { return static_cast<DeviceRun&>(*context.devices()); }

}  // namespace retort
