#include "fibers.h"

#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>

#include "device.h"
#include "stacks.h"

namespace software_cuda {
namespace {

constexpr size_t kPage = 4096;
constexpr int kWarp = 32;

struct Copy {
  void* to;
  const void* from;
  int bytes;
};

enum class State : unsigned char { fresh, running, ready, at_barrier, at_meeting, done };

struct Thread {
  State state = State::fresh;
  Fiber* fiber = nullptr;
  SoftwareIndex index{};
  unsigned mask = 0;
  void* request = nullptr;
  void (*complete)(void**, unsigned) = nullptr;
  int predicate = 0;
  std::vector<std::vector<Copy>> copies;  // groups; the last one is open
};

class Runner {
 public:
  Runner() {
    // The end of dynamic shared memory lies at a page that cannot be touched.
    auto* const p = static_cast<char*>(
        mmap(nullptr, kMostSharedOfBlock + 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const size_t pages = (kMostSharedOfBlock + kPage - 1) / kPage * kPage;
    mprotect(p + pages, kPage, PROT_NONE);
    shared_end_ = p + pages;
  }
  void run(const Launch& launch);
  void barrier();
  int barrier_count(int predicate);
  void meet(unsigned mask, void* request, void (*complete)(void**, unsigned));
  void yield();
  Thread& current() { return threads_[size_t(current_)]; }
  int number() const { return current_; }
  const Launch* launch() const { return launch_; }

 private:
  void run_block();
  void start();
  static void work();
  void begin(int t);
  void end();
  Fiber* fiber();
  void resume(int t);
  void stop(State state);
  void try_barrier();
  bool try_meeting(int t, unsigned mask);
  [[noreturn]] void deadlock();
  void to_main(Fiber* from);
  void to_fiber(Fiber* to);

  const Launch* launch_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::deque<int> ready_;
  Fiber main_;
  Fiber* active_ = nullptr;
  char* shared_end_ = nullptr;
  int current_ = 0, next_ = 0, count_ = 0, done_ = 0, waiting_ = 0, predicates_ = 0;
  bool backwards_ = false;
};

thread_local Runner* runner = nullptr;

void Runner::to_main(Fiber* from) { switch_to(*from, main_); }

void Runner::to_fiber(Fiber* to) {
  active_ = to;
  switch_to(main_, *to);
}

Fiber* Runner::fiber() {
  if (!idle_.empty()) {
    Fiber* const f = idle_.back();
    idle_.pop_back();
    return f;
  }
  fibers_.push_back(std::make_unique<Fiber>());
  prepare(*fibers_.back(), &Runner::work);
  return fibers_.back().get();
}

/// What every fiber does: threads of the block that have not begun, as long as none has to wait.
void Runner::work() {
  for (;;) {
    Runner& r = *runner;
    Fiber* const self = r.active_;
    while (r.next_ < r.count_) {
      r.begin(r.backwards_ ? r.count_ - 1 - r.next_ : r.next_);
      ++r.next_;
      r.current().fiber = self;
      r.launch_->kernel->call(r.launch_->arguments);
      r.end();
    }
    r.idle_.push_back(self);
    r.to_main(self);
  }
}

void Runner::begin(int t) {
  current_ = t;
  Thread& thread = threads_[size_t(t)];
  thread.state = State::running;
  *launch_->module->thread = thread.index;
}

void Runner::end() {
  Thread& thread = current();
  thread.state = State::done;
  thread.copies.clear();
  ++done_;
  try_barrier();
  // Those who wait for this lane no longer do.
  const int first = current_ / kWarp * kWarp;
  for (int l = first; l < std::min(first + kWarp, count_); ++l)
    if (threads_[size_t(l)].state == State::at_meeting) try_meeting(l, threads_[size_t(l)].mask);
}

void Runner::resume(int t) {
  begin(t);
  to_fiber(threads_[size_t(t)].fiber);
}

/// The running thread waits; another goes on.
void Runner::stop(State state) {
  Thread& thread = current();
  Fiber* const self = thread.fiber;
  thread.state = state;
  to_main(self);
}

void Runner::try_barrier() {
  if (waiting_ == 0 || waiting_ + done_ < count_) return;
  waiting_ = 0;
  predicates_ = 0;
  for (int i = 0; i < count_; ++i) {
    const int t = backwards_ ? count_ - 1 - i : i;
    Thread& thread = threads_[size_t(t)];
    if (thread.state != State::at_barrier) continue;
    predicates_ += thread.predicate;
    thread.state = State::ready;
    ready_.push_back(t);
  }
}

int Runner::barrier_count(int predicate) {
  current().predicate = predicate != 0;
  ++waiting_;
  current().state = State::at_barrier;
  try_barrier();
  stop(current().state);
  return predicates_;
}

void Runner::barrier() { barrier_count(0); }

void Runner::yield() {
  ready_.push_back(current_);
  stop(State::ready);
}

/// Completes the meeting of the lanes in `mask` of the warp of thread t if all are there that have not ended.
bool Runner::try_meeting(int t, unsigned mask) {
  const int first = t / kWarp * kWarp;
  void* requests[kWarp] = {};
  unsigned there = 0;
  const auto complete = threads_[size_t(t)].complete;
  for (int l = 0; l < kWarp; ++l) {
    if (!(mask >> l & 1) || first + l >= count_) continue;
    const Thread& other = threads_[size_t(first + l)];
    if (other.state == State::done) continue;
    if (other.state != State::at_meeting || other.mask != mask) return false;
    if (other.complete != complete) die("%s: lanes of a warp meet in different functions", running_thread().c_str());
    requests[l] = other.request;
    there |= 1u << l;
  }
  complete(requests, there);
  for (int l = 0; l < kWarp; ++l) {
    if (!(there >> l & 1)) continue;
    threads_[size_t(first + l)].state = State::ready;
    if (first + l != current_) ready_.push_back(first + l);
  }
  return true;
}

void Runner::meet(unsigned mask, void* request, void (*complete)(void**, unsigned)) {
  Thread& thread = current();
  if (!(mask >> (current_ % kWarp) & 1)) die("%s: a lane is not in the mask that it gives", running_thread().c_str());
  thread.mask = mask;
  thread.request = request;
  thread.complete = complete;
  thread.state = State::at_meeting;
  if (try_meeting(current_, mask)) {
    thread.state = State::running;
  } else {
    stop(State::at_meeting);
  }
}

void Runner::deadlock() {
  int at_barrier = 0, at_meeting = 0, example_barrier = -1, example_meeting = -1;
  for (int t = 0; t < count_; ++t) {
    if (threads_[size_t(t)].state == State::at_barrier) ++at_barrier, example_barrier = t;
    if (threads_[size_t(t)].state == State::at_meeting) ++at_meeting, example_meeting = t;
  }
  const SoftwareIndex b = *launch_->module->block;
  die("kernel %s, block (%u, %u, %u): its threads wait for each other forever: of %d threads, %d ended, %d wait in "
      "__syncthreads (one is number %d), and %d wait for lanes of their warp (one is number %d, with mask %08x)",
      launch_->name.c_str(), b.x, b.y, b.z, count_, done_, at_barrier, example_barrier, at_meeting, example_meeting,
      example_meeting < 0 ? 0 : threads_[size_t(example_meeting)].mask);
}

void Runner::start() {
  const SoftwareIndex b = launch_->block;
  count_ = int(b.x * b.y * b.z);
  threads_.resize(size_t(count_));
  for (int t = 0; t < count_; ++t)
    threads_[size_t(t)].index = {unsigned(t) % b.x, unsigned(t) / b.x % b.y, unsigned(t) / b.x / b.y};
}

void Runner::run_block() {
  next_ = done_ = waiting_ = 0;
  for (Thread& t : threads_) t.state = State::fresh;
  if (launch_->shared_bytes) std::memset(*launch_->module->dynamic_shared, 0xFF, launch_->shared_bytes);
  while (done_ < count_) {
    if (next_ < count_) {
      to_fiber(fiber());
      continue;
    }
    if (ready_.empty()) deadlock();
    const int t = ready_.front();
    ready_.pop_front();
    resume(t);
  }
}

void Runner::run(const Launch& launch) {
  launch_ = &launch;
  start();
  const SoftwareModule& m = *launch.module;
  *m.grid_size = launch.grid;
  *m.block_size = launch.block;
  *m.dynamic_shared = reinterpret_cast<unsigned char*>(shared_end_ - (launch.shared_bytes + 127) / 128 * 128);
  for (unsigned z = 0; z < launch.grid.z; ++z) {
    for (unsigned y = 0; y < launch.grid.y; ++y) {
      for (unsigned x = 0; x < launch.grid.x; ++x) {
        *m.block = {x, y, z};
        backwards_ = delays() && (x & 1);
        run_block();
      }
    }
  }
  launch_ = nullptr;
}

void commit_copies() { runner->current().copies.emplace_back(); }

void copy_async(void* shared, const void* global, int bytes) {
  auto& groups = runner->current().copies;
  if (groups.empty()) groups.emplace_back();
  if ((reinterpret_cast<size_t>(shared) | reinterpret_cast<size_t>(global)) % 16)
    die("%s: copy16_async with an address that is not aligned to 16 bytes", running_thread().c_str());
  std::memset(shared, 0xFF, 16);  // what it had is gone, and the copy comes as late as it may
  groups.back().push_back({shared, global, bytes});
}

void wait_copies(int pending) {
  auto& groups = runner->current().copies;
  while (int(groups.size()) - 1 > pending) {
    for (const Copy& c : groups.front()) {
      unsigned char row[16] = {};
      std::memcpy(row, c.from, size_t(c.bytes));
      std::memcpy(c.to, row, 16);
    }
    groups.erase(groups.begin());
  }
}

}  // namespace

const Launch* running() { return runner ? runner->launch() : nullptr; }
unsigned lane() { return unsigned(runner->number()) % kWarp; }
void meet(unsigned mask, void* request, void (*complete)(void**, unsigned)) { runner->meet(mask, request, complete); }

std::string running_thread() {
  const Launch* const launch = running();
  if (!launch) return "no kernel";
  const SoftwareIndex b = *launch->module->block, t = *launch->module->thread;
  const auto list = [](const SoftwareIndex& i) {
    return "(" + std::to_string(i.x) + ", " + std::to_string(i.y) + ", " + std::to_string(i.z) + ")";
  };
  return "kernel " + launch->name + ", block " + list(b) + ", thread " + list(t);
}

void run(const Launch& launch) {
  static auto& mutex = *new std::mutex;
  static auto& idle = *new std::vector<Runner*>;
  {
    const std::lock_guard lock(mutex);
    if (idle.empty()) idle.push_back(new Runner);
    runner = idle.back();
    idle.pop_back();
  }
  runner->run(launch);
  const std::lock_guard lock(mutex);
  idle.push_back(runner);
  runner = nullptr;
}

const SoftwareRuntime* runtime() {
  static const SoftwareRuntime functions = {
      [] { runner->barrier(); },
      [](int predicate) { return runner->barrier_count(predicate); },
      meet,
      [] { runner->yield(); },
      multiply,
      load_matrices,
      copy_async,
      commit_copies,
      wait_copies,
      [](const char* why) { die("%s: %s", running_thread().c_str(), why); },
      [] { return (unsigned long long)std::chrono::steady_clock::now().time_since_epoch().count(); },
  };
  return &functions;
}

}  // namespace software_cuda
