// Runs of a session that are captured as CUDA graphs and repeated.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "device.h"

namespace providers::cuda {

/// The captured runs of one session, which makes one run at a time. The first run with a number runs as usual, so that
/// plans, kernels and memory are there; the second is captured. Capturing begins with the run's first part and ends
/// when the host waits for the stream or the run ends; then the graph is launched. Thread-safe.
class Captures {
 public:
  /// `stream`: for repeated runs; it must live as long as this object.
  Captures(Device& device, CUstream stream) : device_(device), stream_(stream) {}
  /// Before the stream ends: gives up what is being captured, and frees all graphs. Allocators may live longer.
  void end();
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;

  /// A negative number: a run that is not captured.
  void run_begins(int id);
  /// Keeps the graph of a run that was captured.
  void run_ends();
  /// Before a part runs on `stream`. Whether its work is captured. Throws Error if the host has waited for the stream
  /// since the capture began.
  bool part_begins(CUstream stream);
  /// Gives the capture up.
  void fail();
  /// The host is about to wait for work on the stream, or to order other work after it: if a session captures it, the
  /// capture ends, and the work is launched.
  static void host_waits(CUstream stream);
  /// Before a copy between host and device, which repeated runs would not do: if a run is captured, gives the capture up
  /// and throws Error with these words.
  void refuse_copy(const char* why);
  /// Keeps what the captured graph uses.
  void keep(std::shared_ptr<void> what);

  bool has(int id) const;
  /// Launches the graph and waits for it. Throws Error if there is none.
  void replay(int id);
  void release(int id);

  /// Memory that the host takes during the captured run: the graph uses it each time, also after the host released it.
  void took(Address address);
  /// Whether a graph uses the memory; then it is released with the graph.
  bool keeps_released(Address address);

 private:
  struct Captured;
  enum class State { idle, wanted, capturing, launched };
  void set_current(CUstream stream);
  void finish();
  void give_up();
  void reset();
  void finish_for(CUstream stream);

  Device& device_;
  const CUstream stream_;
  mutable std::mutex mutex_;
  State state_ = State::idle;
  int id_ = -1;                 ///< of the current run
  CUstream current_ = nullptr;  ///< the stream that is captured
  std::shared_ptr<Captured> making_;
  std::map<int, int> runs_;
  std::map<int, std::shared_ptr<Captured>> captured_;
  std::map<Address, std::weak_ptr<Captured>> held_;
};

}  // namespace providers::cuda
