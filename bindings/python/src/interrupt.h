// Ctrl-C during long calls of the engine.
//
// A call of the engine runs without the GIL, on the thread that made it. Python's own handler of SIGINT only notes the
// signal, and KeyboardInterrupt follows when the main thread is back in Python: after the call. So while the handler is
// Python's default one (signal.default_int_handler), the handler of this room runs first, and asks the engine to end the
// call of the main thread. A handler that the program set itself is left alone; it runs when the call is over.
#pragma once

#include <nanobind/nanobind.h>

#include "engine.h"

namespace retort::python {

// Reads what this room needs to know of Python. Called once, while the module is imported.
void prepare_interrupts();

// Makes the main thread raise KeyboardInterrupt at the next opportunity, as Ctrl-C would. For callbacks that cannot pass
// their exception on. Needs the GIL.
void raise_interrupt_later() noexcept;

// A call that Ctrl-C may end. Use it on the stack, with the GIL:
//
//   Interruptible call(options);
//   do { status = /* without the GIL */ Run(session, call.run_options(), ...); } while (call.repeat(status));
//   check(status);
class Interruptible {
 public:
  // A run with the caller's options or without (null). `terminated`: whether the caller has asked to terminate.
  explicit Interruptible(OrtRunOptions* options, bool terminated = false);
  // The creation of a session with these options, which nothing else uses.
  explicit Interruptible(OrtSessionOptions* options);
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  ~Interruptible() { leave(); }

  // What to give to the engine: the caller's options, or ones of this room; null on threads other than the main one.
  const OrtRunOptions* run_options() const noexcept { return run_; }

  // Call this when the engine is back. Throws KeyboardInterrupt (or what Python's handler raises) if Ctrl-C ended the
  // call, and releases the status. True if Ctrl-C ended it and nothing was raised: then the call has to be made again.
  bool repeat(OrtStatus*& status);

 private:
  void enter() noexcept;
  bool leave() noexcept;  // true if the handler asked the engine to end the call

  OrtRunOptions* run_ = nullptr;
  OrtSessionOptions* load_ = nullptr;
  OrtRunOptions* outer_run_ = nullptr;  // of the call around this one, if a callback made this one
  OrtSessionOptions* outer_load_ = nullptr;
  bool terminated_ = false;
  bool watched_ = false;
  bool entered_ = false;
};

}  // namespace retort::python
