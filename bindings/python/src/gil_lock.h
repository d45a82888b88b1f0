// Locks that are held while the engine works, which may call Python (messages) and so let other threads run.
#pragma once

#include <Python.h>

#include <mutex>

namespace retort::python {

// Locks `mutex`; needs the GIL, and waits without it: the thread that holds the lock may need it.
inline std::unique_lock<std::mutex> lock_without_gil(std::mutex& mutex) {
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock) {
    PyThreadState* state = PyEval_SaveThread();
    lock.lock();
    PyEval_RestoreThread(state);
  }
  return lock;
}

}  // namespace retort::python
