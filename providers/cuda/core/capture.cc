#include "capture.h"

#include "memory.h"

namespace providers::cuda {
namespace {

// Other threads and this one may allocate memory and load kernels meanwhile.
constexpr int kRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED

/// The streams that sessions capture now.
struct Capturing {
  std::mutex mutex;
  std::map<CUstream, Captures*> by_stream;
  static Capturing& get() {
    static Capturing& all = *new Capturing;
    return all;
  }
};

}  // namespace

/// A graph with what it uses.
struct Captures::Captured {
  explicit Captured(Device& d) : device(d) {}
  ~Captured() {
    if (exec) driver().graph_exec_destroy(exec);
    try {
      for (const Address address : released) device.memory().release(address);
    } catch (const std::exception&) {  // the driver is gone, and the memory with it
    }
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  Device& device;
  CUgraphExec exec = nullptr;
  std::vector<std::shared_ptr<void>> kept;
  std::set<Address> taken, released;
};

void Captures::end() {
  try {
    device_.enter();
    fail();
    driver().stream_synchronize(stream_);
    const std::lock_guard lock(mutex_);
    captured_.clear();
  } catch (const std::exception&) {  // the driver is gone
  }
}

void Captures::run_begins(int id) {
  fail();  // what is left of a run whose end nobody told
  const std::lock_guard lock(mutex_);
  if (id < 0 || captured_.count(id) || ++runs_[id] < 2) return;
  id_ = id;
  state_ = State::wanted;
  making_ = std::make_shared<Captured>(device_);
}

bool Captures::part_begins(CUstream stream) {
  const std::lock_guard lock(mutex_);
  if (state_ == State::idle) return false;
  if (state_ == State::capturing && stream == current_) return true;
  if (state_ != State::wanted) {
    const int id = id_;
    give_up();  // or the graph of the parts before would stand for the whole run
    throw Error(text("run ", id,
                     " cannot be captured as a CUDA graph: between two of its parts the host waits for the ",
                     "device or runs nodes elsewhere; turn enable_cuda_graph off for this model"));
  }
  device_.enter();
  // Memory that is released while a stream is captured is not ordered after that stream: see Memory. So nothing may be
  // under way there.
  check(driver().stream_synchronize(stream), "waiting for a stream before it is captured");
  check(device_.memory().begin_capture(stream, kRelaxed), "beginning the capture of a run");
  set_current(stream);
  state_ = State::capturing;
  return true;
}

/// The stream that is captured, from now on; null: none.
void Captures::set_current(CUstream stream) {
  Capturing& all = Capturing::get();
  const std::lock_guard lock(all.mutex);
  if (current_) all.by_stream.erase(current_);
  if (stream) all.by_stream[stream] = this;
  current_ = stream;
}

/// Ends the capture and launches its graph. Throws Error if the driver could not capture the work.
void Captures::finish() {
  const CUstream stream = current_;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  state_ = State::launched;
  set_current(nullptr);
  device_.enter();
  check(driver().capture_end(stream, &graph), "capturing a run as a CUDA graph");
  const CUresult made = driver().graph_instantiate(&exec, graph, 0);
  driver().graph_destroy(graph);
  check(made, "making a CUDA graph of a run");
  making_->exec = exec;  // which owns it from here on
  check(driver().graph_launch(exec, stream), "launching a CUDA graph");
}

void Captures::host_waits(CUstream stream) {
  Captures* captures = nullptr;
  {
    Capturing& all = Capturing::get();
    const std::lock_guard lock(all.mutex);
    const auto at = all.by_stream.find(stream);
    if (at != all.by_stream.end()) captures = at->second;
  }
  if (captures) captures->finish_for(stream);
}

void Captures::finish_for(CUstream stream) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::capturing || stream != current_) return;
  try {
    finish();
  } catch (...) {
    reset();
    throw;
  }
}

void Captures::run_ends() {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Captured> made = making_;
  const bool has_run = state_ == State::capturing || state_ == State::launched;
  try {
    if (state_ == State::capturing) finish();
  } catch (...) {
    reset();
    throw;
  }
  reset();
  if (has_run && made->exec) captured_[id_] = made;
}

void Captures::fail() {
  const std::lock_guard lock(mutex_);
  give_up();
}

void Captures::give_up() {
  if (state_ == State::capturing) {
    CUgraph graph = nullptr;
    driver().capture_end(current_, &graph);  // it reports the failure that led here once more
    if (graph) driver().graph_destroy(graph);
  }
  reset();
}

/// No run is captured any more. The next one with this number runs as usual.
void Captures::reset() {
  if (state_ != State::idle) runs_.erase(id_);
  set_current(nullptr);
  state_ = State::idle;
  making_ = nullptr;
}

void Captures::refuse_copy(const char* why) {
  const std::lock_guard lock(mutex_);
  if (state_ == State::idle) return;
  give_up();  // the host ends failed runs like others, and the graph would be repeated
  throw Error(why, ORT_INVALID_ARGUMENT);
}

void Captures::keep(std::shared_ptr<void> what) {
  const std::lock_guard lock(mutex_);
  if (making_) making_->kept.push_back(std::move(what));
}

bool Captures::has(int id) const {
  const std::lock_guard lock(mutex_);
  return captured_.count(id) > 0;
}

void Captures::replay(int id) {
  std::shared_ptr<Captured> run;
  {
    const std::lock_guard lock(mutex_);
    const auto at = captured_.find(id);
    if (at == captured_.end()) throw Error(text("no run was captured as graph ", id), ORT_INVALID_ARGUMENT);
    run = at->second;
  }
  device_.enter();
  check(driver().graph_launch(run->exec, stream_), "launching a CUDA graph");
  check(driver().stream_synchronize(stream_), "waiting for a CUDA graph");
}

void Captures::release(int id) {
  const std::lock_guard lock(mutex_);
  runs_.erase(id);
  const auto at = captured_.find(id);
  if (at == captured_.end()) return;
  device_.enter();
  driver().stream_synchronize(stream_);
  captured_.erase(at);
}

void Captures::took(Address address) {
  const std::lock_guard lock(mutex_);
  if (!making_) return;
  making_->taken.insert(address);
  held_[address] = making_;
}

bool Captures::keeps_released(Address address) {
  const std::lock_guard lock(mutex_);
  const auto at = held_.find(address);
  if (at == held_.end()) return false;
  const std::shared_ptr<Captured> owner = at->second.lock();
  held_.erase(at);
  return owner && owner->released.insert(address).second;
}

}  // namespace providers::cuda
