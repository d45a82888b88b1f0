#include "queue.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <random>

namespace software_cuda {

static int delay_us() {
  static const int value = [] {
    const char* const text = std::getenv("SOFTWARE_CUDA_DELAY_US");
    return text ? std::atoi(text) : 0;
  }();
  return value;
}

bool delays() { return delay_us() > 0; }

size_t draw(size_t count) {
  thread_local std::minstd_rand engine(unsigned(std::hash<std::thread::id>()(std::this_thread::get_id())));
  return engine() % count;
}

void delay() {
  if (delays()) usleep(unsigned(draw(size_t(delay_us()) + 1)));
}

std::shared_ptr<Queue> Queue::make() {
  auto queue = std::make_shared<Queue>();
  sigset_t all, before;
  sigfillset(&all);
  for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, s);
  pthread_sigmask(SIG_BLOCK, &all, &before);  // signals of the process are for the application's threads
  std::thread(loop, queue).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return queue;
}

Queue::Ticket Queue::submit(Work work, std::vector<Ticket> after) {
  const std::lock_guard lock(mutex_);
  items_.push_back({std::move(work), std::move(after)});
  changed_.notify_all();
  return {shared_from_this(), ++submitted_};
}

Queue::Ticket Queue::last() {
  const std::lock_guard lock(mutex_);
  return {shared_from_this(), submitted_};
}

void Queue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

bool Queue::done(uint64_t number) {
  const std::lock_guard lock(mutex_);
  return done_ >= number;
}

void Queue::wait(uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ >= number; });
}

void Queue::loop(const std::shared_ptr<Queue>& self) {
  for (;;) {
    Item item;
    {
      std::unique_lock lock(self->mutex_);
      self->changed_.wait(lock, [&] { return !self->items_.empty() || self->closed_; });
      if (self->items_.empty()) return;
      item = std::move(self->items_.front());
      self->items_.pop_front();
    }
    for (const Ticket& t : item.after) t.wait();
    delay();
    if (item.work) item.work();
    item = {};  // what it holds is gone before it counts as done
    const std::lock_guard lock(self->mutex_);
    ++self->done_;
    self->changed_.notify_all();
  }
}

void replay(const std::vector<Capture::Node>& nodes) {
  if (!delays()) {
    for (const auto& node : nodes) node.work();
    return;
  }
  // Any order is right that keeps the edges: a missing one shows.
  std::vector<bool> done(nodes.size());
  for (size_t left = nodes.size(); left > 0; --left) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < nodes.size(); ++i) {
      bool free = !done[i];
      for (const int before : nodes[i].after) free = free && done[size_t(before)];
      if (free) ready.push_back(i);
    }
    const size_t next = ready[draw(ready.size())];
    delay();
    nodes[next].work();
    done[next] = true;
  }
}

}  // namespace software_cuda
