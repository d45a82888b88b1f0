// Ctrl-C, SIGTERM, and SIGHUP of a terminal that is closed: long measurements end early and tell what they have so far.
#pragma once
#include <sys/types.h>

namespace retort::cli {

/// From here on the first SIGINT, SIGTERM or SIGHUP only sets a mark; a second one ends the program. A signal that the
/// program was started to ignore stays ignored.
void catch_interrupt();
/// For a child process that fork() made: these signals end it, also one that came before.
void forget_interrupt();
/// A child that gets the signal, too, while the object exists: it may have been sent to this process alone.
class InterruptedChild {
 public:
  explicit InterruptedChild(pid_t child);
  ~InterruptedChild();
  InterruptedChild(const InterruptedChild&) = delete;
  /// Waits until the child has ended, and returns its status as waitpid() does.
  int wait();

 private:
  const pid_t child_;
};
/// Whether such a signal has come.
bool interrupted();
/// Ends the program by Exit with 128 + the signal, if one has come, after partial results were printed.
void end_if_interrupted();
/// The same if nothing has been measured yet.
void end_if_interrupted_early();

}  // namespace retort::cli
