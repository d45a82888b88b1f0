#include "base/later.h"

#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace retort {
namespace {

struct Dropping {
  std::mutex mutex;
  std::vector<std::shared_ptr<void>> waiting;
  bool runs = false;  // whether the thread will look at `waiting` again
  std::condition_variable idle;
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
    idle.notify_all();
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

void drop_later(std::shared_ptr<void> object) noexcept {
  try {
    Dropping& d = *dropping();
    const std::lock_guard lock(d.mutex);
    if (!d.runs) {
      if (d.thread.joinable()) d.thread.join();  // it ends without the mutex
      d.thread = std::thread(&Dropping::work, &d);
      d.runs = true;
    }
    d.waiting.push_back(std::move(object));
  } catch (const std::exception&) {
    // There is no memory or no thread: `object` is dropped when this call ends.
  }
}

void finish_dropping() {
  Dropping& d = *dropping();
  std::unique_lock lock(d.mutex);
  d.idle.wait(lock, [&] { return !d.runs; });
  if (d.thread.joinable()) d.thread.join();  // it ends without the mutex
}

void close_later(int file) noexcept {
  try {
    drop_later(std::shared_ptr<void>(nullptr, [file](void*) { close(file); }));
  } catch (const std::bad_alloc&) {
    // The pointer was dropped, so the file is closed.
  }
}

}  // namespace retort
