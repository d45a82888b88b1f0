#include "base/later.h"

#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace retort {
namespace {

struct Dropping {
  std::mutex mutex;
  std::vector<std::shared_ptr<void>> waiting;
  bool runs = false;  // whether the thread will look at `waiting` again
  std::thread thread;

  void work() {
    std::unique_lock lock(mutex);
    while (!waiting.empty()) {
      std::vector<std::shared_ptr<void>> objects = std::exchange(waiting, {});
      lock.unlock();
      objects.clear();
      lock.lock();
    }
    runs = false;
  }
};

// Never destroyed, since a load may be cancelled while static objects are destroyed. A forked child has no such thread;
// what it was to drop stays allocated there.
Dropping*& dropping() {
  static Dropping* current = [] {
    pthread_atfork([] { dropping()->mutex.lock(); }, [] { dropping()->mutex.unlock(); },
                   [] { dropping() = new Dropping; });
    return new Dropping;
  }();
  return current;
}

}  // namespace

void drop_later(std::shared_ptr<void> object) {
  Dropping& d = *dropping();
  const std::lock_guard lock(d.mutex);
  if (!d.runs) {
    if (d.thread.joinable()) d.thread.join();  // it ends without the mutex
    try {
      d.thread = std::thread(&Dropping::work, &d);
    } catch (const std::system_error&) {
      return;  // `object` is dropped after the mutex is free
    }
    d.runs = true;
  }
  d.waiting.push_back(std::move(object));
}

void finish_dropping() {
  Dropping& d = *dropping();
  std::thread thread;
  {
    const std::lock_guard lock(d.mutex);
    thread = std::move(d.thread);
  }
  if (thread.joinable()) thread.join();
}

void close_later(int file) noexcept {
  try {
    drop_later(std::shared_ptr<void>(nullptr, [file](void*) { close(file); }));
  } catch (const std::bad_alloc&) {
    // The pointer was dropped, so the file is closed.
  }
}

}  // namespace retort
