// The GIL, and locks that are held while the engine works, which may call Python (messages) and so let other threads
// run.
//
// Up to version 3.13, Python ends a thread that asks for the GIL while the interpreter shuts down with pthread_exit(),
// which would unwind functions that nothing may leave by an exception: the process would abort. Such a thread waits
// here for the end of the process, as newer versions let it do.
#pragma once

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

#include <mutex>

namespace retort::python {

// Calls take(), which returns with the GIL.
template <typename Take>
auto with_gil_or_never(Take&& take) noexcept {
  try {
    return take();
  } catch (abi::__forced_unwind&) {
    for (;;) {
      pause();
    }
  }
}

// The thread is without the GIL while this object exists.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    with_gil_or_never([this] { PyEval_RestoreThread(state_); });
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// The thread, which may be one that Python does not know, has the GIL while this object exists.
class WithGil {
 public:
  WithGil() : state_(with_gil_or_never([] { return PyGILState_Ensure(); })) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

// Locks `mutex`; needs the GIL, and waits without it: the thread that holds the lock may need it.
inline std::unique_lock<std::mutex> lock_without_gil(std::mutex& mutex) {
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock) {
    const WithoutGil released;
    lock.lock();
  }
  return lock;
}

}  // namespace retort::python
