#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "base/cpu.h"
#include "base/denormals.h"
#include "base/parallel.h"
#include "base/task_parts.h"

namespace retort {
namespace {

constexpr size_t kLine = 128;  // two cache lines, because the adjacent line is prefetched too

// The number of times that the caller checks a worker that is not done before it yields its processor: there may be
// more threads than processors, and the worker may need it. About 50 microseconds.
constexpr int kPatience = 1000;

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // `yield` does nothing on most processors
#endif
}

// A worker that starts this much later than it was woken had no processor.
constexpr int64_t kLate = 200'000;  // in nanoseconds

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set,
                         &set);  // best effort: if the processor does not exist, the thread stays unpinned
}

}  // namespace

// A loop is published by storing its description and then incrementing `epoch`. A worker enters by incrementing
// `inside` and reading `open` afterwards; the caller leaves by clearing `open` and waiting until `inside` is zero. Both
// use sequentially consistent operations, so either the worker sees the loop closed or the caller sees the worker
// inside.
struct ThreadPool::Shared {
  alignas(kLine) std::atomic<int> inside{0};
  alignas(kLine) std::atomic<uint32_t> epoch{0};
  std::atomic<uint32_t> rested{0};  // workers need not spin after this epoch; 0: none
  std::atomic<bool> open{false};
  std::atomic<bool> stop{false};
  std::atomic<int> sleeping{0};
  const FunctionRef<void(size_t, int)>* body = nullptr;
  const std::atomic<bool>* cancel = nullptr;
  TaskParts parts;
  size_t first = 0;                 // the number of the first task in `parts`
  std::atomic<bool> failed{false};  // whether a task has thrown
  std::exception_ptr error;         // what the first of them has thrown; written by the one who sets `failed`

  alignas(kLine) std::atomic<bool> busy{false};  // whether a caller owns the pool
  bool started = false;                          // whether the workers have been started
  struct Offer {                                 // an offer to a worker, with hooks: one entry per loop
    void* data = nullptr;
    std::atomic<bool> open{false};
  };
  std::vector<Offer> offers;  // per worker, with hooks

  // If the kernel wakes workers on the caller's own processor, they wait until the caller is done. Once that is
  // observed, they are sent away: while it sleeps, a worker may not run on the caller's processor; when awake, it may
  // run anywhere again.
  struct Seat {
    std::mutex mutex;
    cpu_set_t allowed;  // the affinity of the thread when it went to sleep; guarded, like the other members
    pid_t thread = 0;
    bool asleep = false, sent = false;
  };
  std::vector<Seat> seats;  // per worker
  std::atomic<bool> sends_away{false};
  std::atomic<int64_t> published{0};  // time in nanoseconds when workers were last woken
  std::vector<std::thread> threads;
  std::vector<std::function<void()>> joiners;

  // Whether tasks that have not begun are skipped.
  bool is_over() const {
    return failed.load(std::memory_order_relaxed) || (cancel && cancel->load(std::memory_order_relaxed));
  }

  void run_tasks(int worker) noexcept {
    TaskParts::Taker taker(parts, size_t(worker));
    try {
      for (size_t task = 0; taker.take(task) && !is_over();) (*body)(first + task, worker);
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }
};

// All pools of the process. A forked child has one thread, and its pools have lost their workers, some in the middle of
// a loop: each pool starts again there. Never destroyed, since sessions may outlive static objects.
struct ThreadPool::Registry {
  std::mutex mutex;
  std::vector<ThreadPool*> pools;

  static Registry& get() {
    static Registry* const all = [] {
      pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); },
                     [] {
                       for (ThreadPool* pool : get().pools) pool->begin_anew();
                       get().mutex.unlock();
                     });
      return new Registry;
    }();
    return *all;
  }
};

ThreadPool::ThreadPool(ThreadPoolOptions options) : options_(std::move(options)), shared_(new Shared) {
  if (options_.threads < 1) options_.threads = 1;
  Registry& all = Registry::get();
  const std::lock_guard lock(all.mutex);
  all.pools.push_back(this);
}

ThreadPool::~ThreadPool() {
  {
    Registry& all = Registry::get();
    const std::lock_guard lock(all.mutex);
    std::erase(all.pools, this);
  }
  join();
}

void ThreadPool::begin_anew() {
  for (auto& t : shared_->threads) t.detach();
  (void)shared_.release();  // the threads that it refers to exist only in the parent
  shared_ = std::make_unique<Shared>();
}

void ThreadPool::join() {
  shared_->stop = true;
  shared_->epoch.fetch_add(1);
  shared_->epoch.notify_all();
  for (auto& t : shared_->threads) t.join();
  for (auto& j : shared_->joiners) j();
}

void ThreadPool::start_workers() {
  if (shared_->started) return;
  shared_->started = true;
  crowded_ = options_.threads > usable_cpus();
  shared_->seats = std::vector<Shared::Seat>(size_t(options_.threads));
  shared_->parts.resize(size_t(options_.threads));
  if (options_.hooks.any()) shared_->offers = std::vector<Shared::Offer>(size_t(options_.threads));
  for (int w = 1; w < options_.threads; ++w) {
    auto body = [this, w] { work(w); };
    if (options_.create_thread) {
      shared_->joiners.push_back(options_.create_thread(body));
    } else {
      shared_->threads.emplace_back(body);
    }
  }
}

void ThreadPool::wait_for_work(int worker, uint32_t seen) {
  Shared& s = *shared_;
  if (options_.spin) {
    const auto until = std::chrono::steady_clock::now() + options_.linger;
    do {
      for (int i = 0; i < 64; ++i) {
        if (s.epoch.load(std::memory_order_acquire) != seen) return;
        pause();
      }
      // A worker that only spins would keep a processor from another that has a task.
      if (crowded_) sched_yield();
    } while (s.rested.load(std::memory_order_relaxed) != seen && std::chrono::steady_clock::now() < until);
  }
  Shared::Seat& seat = s.seats[size_t(worker)];
  {
    const std::lock_guard lock(seat.mutex);
    seat.thread = static_cast<pid_t>(syscall(SYS_gettid));  // glibc 2.30 introduced a function of that name
    seat.asleep = sched_getaffinity(0, sizeof seat.allowed, &seat.allowed) == 0;
  }
  s.sleeping.fetch_add(1);
  s.epoch.wait(seen);
  s.sleeping.fetch_sub(1);
  const std::lock_guard lock(seat.mutex);
  if (std::exchange(seat.sent, false)) sched_setaffinity(0, sizeof seat.allowed, &seat.allowed);
  seat.asleep = false;
  if (!s.sends_away.load(std::memory_order_relaxed) && now_ns() - s.published.load(std::memory_order_relaxed) > kLate)
    s.sends_away.store(true, std::memory_order_relaxed);
}

// Best effort: if the affinity cannot be set, the scheduler places the worker.
void ThreadPool::send_away() {
  Shared& s = *shared_;
  const int here = sched_getcpu();
  for (size_t w = 1; here >= 0 && w < s.seats.size(); ++w) {
    Shared::Seat& seat = s.seats[w];
    const std::lock_guard lock(seat.mutex);
    if (!seat.asleep) continue;
    cpu_set_t elsewhere = seat.allowed;
    CPU_CLR(size_t(here), &elsewhere);
    if (CPU_COUNT(&elsewhere) > 0 && sched_setaffinity(seat.thread, sizeof elsewhere, &elsewhere) == 0)
      seat.sent = true;
  }
}

void ThreadPool::work(int worker) {
  if (size_t(worker) - 1 < options_.affinity.size()) pin(options_.affinity[size_t(worker) - 1]);
  const FlushDenormals flush(options_.flush_denormals);
  Shared& s = *shared_;
  uint32_t seen = 0;
  while (true) {
    wait_for_work(worker, seen);
    seen = s.epoch.load();
    if (s.stop) return;
    s.inside.fetch_add(1);
    if (s.open.load()) help(worker);
    s.inside.fetch_sub(1);
  }
}

// Hooks enclose the first entry of a worker into a loop. A second entry, of a worker that was late for the previous
// loop, calls no hooks.
void ThreadPool::help(int worker) {
  Shared& s = *shared_;
  const WorkHooks& hooks = options_.hooks;
  const bool told = hooks.any() && s.offers[size_t(worker)].open.exchange(false);
  void* const data = told ? s.offers[size_t(worker)].data : nullptr;
  if (told && hooks.start) hooks.start(hooks.context, data);
  s.run_tasks(worker);
  if (told && hooks.stop) hooks.stop(hooks.context, data);
}

void ThreadPool::offer() {
  Shared& s = *shared_;
  if (!options_.hooks.any()) return;
  for (size_t w = 1; w < s.offers.size(); ++w) {
    s.offers[w].data = options_.hooks.enqueue ? options_.hooks.enqueue(options_.hooks.context) : nullptr;
    s.offers[w].open.store(true);
  }
}

// Withdraws the offers that no worker has taken, after a loop.
void ThreadPool::settle() {
  Shared& s = *shared_;
  for (size_t w = 1; w < s.offers.size(); ++w) {
    const bool left = s.offers[w].open.exchange(false);
    if (left && options_.hooks.abandon) options_.hooks.abandon(options_.hooks.context, s.offers[w].data);
  }
}

void ThreadPool::rest() { shared_->rested.store(shared_->epoch.load()); }

void ThreadPool::run_loop(size_t first, size_t tasks, TaskOrder order) {
  Shared& s = *shared_;
  s.first = first;
  s.parts.begin(tasks, order == TaskOrder::own_parts ? size_t(options_.threads) : 1);
  offer();
  s.open.store(true);
  s.epoch.fetch_add(1);
  if (s.sleeping.load() > 0) {
    s.published.store(now_ns(), std::memory_order_relaxed);
    if (s.sends_away.load(std::memory_order_relaxed)) send_away();
    s.epoch.notify_all();
  }
  s.run_tasks(0);
  s.open.store(false);
  for (int i = 0; s.inside.load() != 0; ++i) i < kPatience ? pause() : (void)sched_yield();
  settle();
}

void ThreadPool::for_each(size_t tasks, const std::atomic<bool>* cancel, FunctionRef<void(size_t, int)> body,
                          TaskOrder order) {
  const bool alone = options_.threads < 2 || tasks < 2 || shared_->busy.exchange(true, std::memory_order_acquire);
  if (alone) {
    for (size_t i = 0; i < tasks && !(cancel && cancel->load(std::memory_order_relaxed)); ++i) body(i, 0);
    return;
  }
  Shared& s = *shared_;
  const struct Owner {
    Shared& pool;
    ~Owner() { pool.busy.store(false, std::memory_order_release); }
  } owner{s};
  start_workers();
  s.body = &body;
  s.cancel = cancel;
  s.failed.store(false, std::memory_order_relaxed);
  for (size_t first = 0; first < tasks && !s.is_over(); first += TaskParts::kMostTasks)
    run_loop(first, std::min(tasks - first, TaskParts::kMostTasks), order);
  if (s.error) std::rethrow_exception(std::exchange(s.error, nullptr));
}

int Parallel::workers() const { return pool_ ? pool_->workers() : 1; }

void Parallel::for_each(size_t tasks, FunctionRef<void(size_t, int)> body) const {
  if (pool_) return pool_->for_each(tasks, cancel_, body);
  for (size_t i = 0; i < tasks && !cancelled(); ++i) body(i, 0);
}

void Parallel::for_each_in_order(size_t tasks, FunctionRef<void(size_t, int)> body) const {
  if (pool_) return pool_->for_each(tasks, cancel_, body, TaskOrder::in_order);
  for_each(tasks, body);
}

}  // namespace retort
