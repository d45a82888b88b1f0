#include "cli/interrupt.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "cli/commands.h"

namespace retort::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

// Who tells a signal to the child takes its number away, so that the child is told once: the handler if it sees the child,
// otherwise who makes the child known, who then sees the signal. The order of these two is the same for all threads.
std::atomic<int> came = 0;
std::atomic<pid_t> child_process = 0;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free);

void set_action(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

void note_signal(int signal) {
  came = signal;
  for (const int one : kSignals) set_action(one, SIG_DFL);
  if (const pid_t child = child_process.exchange(0); child > 0) kill(child, signal);
}

[[noreturn]] void end_program(const char* message) {
  std::fputs(message, stderr);
  throw Exit{128 + came};
}

}  // namespace

void catch_interrupt() {
  for (const int signal : kSignals) {
    struct sigaction before = {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) set_action(signal, note_signal);
  }
}

void forget_interrupt() {
  for (const int signal : kSignals) {
    struct sigaction before = {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == note_signal) set_action(signal, SIG_DFL);
  }
  if (interrupted()) _exit(128 + came);
}

InterruptedChild::InterruptedChild(pid_t child) : child_(child) {
  child_process = child;
  if (interrupted() && child_process.exchange(0) > 0) kill(child, came);  // it came before the child was known
}

InterruptedChild::~InterruptedChild() { child_process = 0; }

int InterruptedChild::wait() {
  siginfo_t info = {};
  // Without taking its status: until that is taken, no other process gets its number.
  while (waitid(P_PID, id_t(child_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) continue;
  child_process = 0;
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

bool interrupted() { return came != 0; }

void end_if_interrupted() {
  if (interrupted()) end_program("retort: interrupted; the results are those of the work until then\n");
}

void end_if_interrupted_early() {
  if (interrupted()) end_program("retort: interrupted before there were results\n");
}

}  // namespace retort::cli
