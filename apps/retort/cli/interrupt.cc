#include "cli/interrupt.h"

#include <signal.h>

#include <cstdio>

#include "cli/commands.h"

namespace retort::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};

volatile sig_atomic_t came = 0;
volatile sig_atomic_t child_process = 0;

void set_action(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

void note_signal(int signal) {
  came = signal;
  for (const int one : kSignals) set_action(one, SIG_DFL);
  if (child_process > 0) kill(pid_t(child_process), signal);
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
}

InterruptedChild::InterruptedChild(pid_t child) {
  child_process = child;
  if (interrupted()) kill(child, came);  // it came before the child was known
}

InterruptedChild::~InterruptedChild() { child_process = 0; }

bool interrupted() { return came != 0; }

void end_if_interrupted() {
  if (interrupted()) end_program("retort: interrupted; the results are those of the work until then\n");
}

void end_if_interrupted_early() {
  if (interrupted()) end_program("retort: interrupted before there were results\n");
}

}  // namespace retort::cli
