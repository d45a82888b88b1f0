// Runs that a provider has recorded and replays without a plan. Reads calls and routes. Keeps the frames of recorded
// runs, since the record uses their memory.
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "base/function_ref.h"
#include "ep/run_capture.h"
#include "session/ports.h"
#include "session/routes.h"
#include "session/run_call.h"
#include "session/turns.h"

namespace retort {

/// Thread-safe. The arguments of the constructor must outlive it. A caller chooses a recorded run by a number,
/// gpu_graph_id; runs with a negative number are not recorded. The entries of a call must have been checked.
class Captures {
 public:
  Captures(RunCapture& capture, const Ports& ports, Turns& turns) : capture_(capture), ports_(ports), turns_(turns) {}
  Captures(const Captures&) = delete;

  /// Replays the recorded run that `call` asks for. If it does not exist, clears the last results of the call's
  /// binding, and calls `run` until the provider has recorded it; `run` writes to the same outputs each time.
  /// Throws invalid_argument if inputs or outputs are not those of the recorded run, fail if the provider does not
  /// record it, and what `run` throws.
  void run(const RunCall& call, FunctionRef<void()> run);
  /// Called by `run` after a run of `frame` on `route` has succeeded. Takes the frame if the provider has recorded the
  /// run.
  void keep(const RunCall& call, const ChosenRoute& route, std::unique_ptr<Frame>& frame);
  /// Frees the recorded run with that number, if it exists.
  void release(int id);

 private:
  struct Recorded;
  bool replay(int id, const RunCall& call);
  void check(const Recorded& run, const RunCall& call) const;

  RunCapture& capture_;
  const Ports& ports_;
  Turns& turns_;
  /// Guards the interval in which the provider records a run: only one run at a time, so that what is kept belongs to
  /// it.
  std::mutex recording_mutex_;
  std::mutex recorded_mutex_;  ///< guards recorded_
  std::map<int, std::shared_ptr<const Recorded>> recorded_;
};

}  // namespace retort
