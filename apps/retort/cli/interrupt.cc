#include "cli/interrupt.h"

#include <csignal>
#include <cstdio>

#include "cli/commands.h"

namespace retort::cli {
namespace {

volatile std::sig_atomic_t came = 0;

}  // namespace

void catch_interrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { came = 1; };
  action.sa_flags = int(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

void forget_interrupt() { std::signal(SIGINT, SIG_DFL); }

bool interrupted() { return came != 0; }

void end_if_interrupted() {
  if (!interrupted()) return;
  std::fputs("retort: interrupted; the results are those of the work until then\n", stderr);
  throw Exit{kInterrupted};
}

}  // namespace retort::cli
