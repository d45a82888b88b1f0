#include "interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cerrno>

namespace nb = nanobind;

namespace retort::python {
namespace {

// The calls of the main thread that Ctrl-C ends. Written by the main thread, read by the signal handler, which may run
// on any thread.
struct Calls {
  std::atomic<OrtRunOptions*> run{nullptr};
  std::atomic<OrtSessionOptions*> load{nullptr};
  std::atomic<int> in_handler{0};
  std::atomic<bool> ended{false};
};
Calls calls;
static_assert(std::atomic<OrtRunOptions*>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

// One handler serves all copies of this extension in a process (the packages retort and onnxruntime): the first one
// installs it, and all register their function here. A capsule in `sys` has it.
struct Shared {
  static constexpr int kMost = 8;
  std::atomic<void (*)()> functions[kMost];
  void (*handler)(int, siginfo_t*, void*);
  struct sigaction python;  // Python's own
};
Shared* shared = nullptr;
constexpr const char* kCapsule = "_retort_interrupts_1";

pthread_t main_thread;
PyObject* get_signal = nullptr;       // signal.getsignal
PyObject* default_handler = nullptr;  // signal.default_int_handler

// Runs in the signal handler. Both engines only set flags in these functions: no lock, no allocation.
void end_calls() {
  calls.in_handler.fetch_add(1);
  if (OrtRunOptions* options = calls.run.load()) {
    calls.ended.store(true);
    [[maybe_unused]] OrtStatus* none = api().RunOptionsSetTerminate(options);
  }
  if (OrtSessionOptions* options = calls.load.load()) {
    calls.ended.store(true);
    [[maybe_unused]] OrtStatus* none = api().SessionOptionsSetLoadCancellationFlag(options, true);
  }
  calls.in_handler.fetch_sub(1);
}

void on_signal(int number, siginfo_t* info, void* context) {
  const int error = errno;
  for (auto& function : shared->functions) {
    if (void (*end)() = function.load()) {
      end();
    }
  }
  if (shared->python.sa_flags & SA_SIGINFO) {
    shared->python.sa_sigaction(number, info, context);
  } else {
    shared->python.sa_handler(number);
  }
  errno = error;
}

bool is_installed(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == shared->handler;
}

bool has_default_handler() {
  nb::object current = nb::handle(get_signal)(SIGINT);
  return current.is(nb::handle(default_handler));
}

// Installs the handler over Python's. Programs set handlers with signal.signal(), which removes this one, so it is
// checked again, at most once in a tick of the coarse clock (4 ms or less), because the system call costs as much as a
// bound run of a small model.
void install() {
  static timespec last{-1, 0};
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  if (now.tv_nsec == last.tv_nsec && now.tv_sec == last.tv_sec) {
    return;
  }
  last = now;
  struct sigaction action {};
  if (sigaction(SIGINT, nullptr, &action) != 0 || is_installed(action)) {
    return;
  }
  const bool plain = !(action.sa_flags & SA_SIGINFO);
  if ((plain && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) || !has_default_handler()) {
    return;
  }
  shared->python = action;
  action.sa_sigaction = shared->handler;
  action.sa_flags |= SA_SIGINFO;
  sigaction(SIGINT, &action, nullptr);
}

bool on_main_thread() noexcept { return pthread_equal(pthread_self(), main_thread); }

// Options for runs without options of the caller's. One object is enough: the main thread has one run at a time, and a
// run that a callback makes inside another ends together with it.
OrtRunOptions* own_options() {
  static OrtRunOptions* options = made<OrtRunOptions>(api().CreateRunOptions).release();
  return options;
}

Shared* find_or_make_shared() {
  PyObject* found = PySys_GetObject(kCapsule);  // borrowed
  if (found) {
    return static_cast<Shared*>(PyCapsule_GetPointer(found, kCapsule));
  }
  auto* made = new Shared{};  // lives as long as the process: the handler uses it
  made->handler = on_signal;
  nb::object capsule = nb::steal(PyCapsule_New(made, kCapsule, nullptr));
  PySys_SetObject(kCapsule, capsule.ptr());
  return made;
}

}  // namespace

void prepare_interrupts() {
  nb::module_ signal = nb::module_::import_("signal");
  get_signal = nb::object(signal.attr("getsignal")).release().ptr();
  default_handler = nb::object(signal.attr("default_int_handler")).release().ptr();
  nb::object thread = nb::module_::import_("threading").attr("main_thread")();
  main_thread = static_cast<pthread_t>(nb::cast<unsigned long>(thread.attr("ident")));
  // In a child, the thread that forked is the main one.
  pthread_atfork(nullptr, nullptr, [] {
    main_thread = pthread_self();
    calls.run.store(nullptr);
    calls.load.store(nullptr);
    calls.in_handler.store(0);
  });
  shared = find_or_make_shared();
  if (!shared) {
    nb::raise_python_error();
  }
  for (auto& function : shared->functions) {
    void (*empty)() = nullptr;
    if (function.compare_exchange_strong(empty, end_calls)) {
      break;
    }
  }
}

void raise_interrupt_later() noexcept { PyErr_SetInterrupt(); }

Interruptible::Interruptible(OrtRunOptions* options, bool terminated) : run_(options), terminated_(terminated) {
  watched_ = on_main_thread();
  if (watched_) {
    install();
    if (!run_) {
      run_ = own_options();
    }
    enter();
  }
}

Interruptible::Interruptible(OrtSessionOptions* options) : load_(options) {
  watched_ = on_main_thread();
  if (watched_) {
    install();
    enter();
  }
}

void Interruptible::enter() noexcept {
  outer_run_ = calls.run.load(std::memory_order_relaxed);
  outer_load_ = calls.load.load(std::memory_order_relaxed);
  calls.load.store(load_, std::memory_order_relaxed);
  calls.run.store(run_, std::memory_order_relaxed);
  entered_ = true;
}

bool Interruptible::leave() noexcept {
  if (!entered_) {
    return false;
  }
  entered_ = false;
  calls.load.store(outer_load_, std::memory_order_relaxed);
  calls.run.store(outer_run_);
  // A handler on another thread may still use the options, which the caller may release.
  while (calls.in_handler.load() != 0) {
  }
  if (!calls.ended.load(std::memory_order_relaxed)) {
    return false;
  }
  calls.ended.store(false);
  if (run_ && !terminated_) {
    api().ReleaseStatus(api().RunOptionsUnsetTerminate(run_));
  }
  if (load_) {
    api().ReleaseStatus(api().SessionOptionsSetLoadCancellationFlag(load_, false));
  }
  return true;
}

bool Interruptible::repeat(OrtStatus*& status) {
  const bool ended = leave();
  if (!status) {
    return false;
  }
  // Also without Ctrl-C: a callback may have asked for it (raise_interrupt_later).
  const bool raised = PyErr_CheckSignals() != 0;
  if (!raised && !ended) {
    return false;
  }
  api().ReleaseStatus(status);
  status = nullptr;
  if (raised) {
    throw nb::python_error();
  }
  enter();
  return true;
}

}  // namespace retort::python
