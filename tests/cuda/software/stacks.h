// Stacks on which threads of a block run, and the switch between them.
#pragma once
#include <ucontext.h>

namespace software_cuda {

/// A stack that is not running keeps where it stopped.
struct Fiber {
  char* memory = nullptr;
  void* stopped = nullptr;
#if !defined(__x86_64__)
  ucontext_t context{};
#endif
};

/// Gives the fiber a stack, below which a page cannot be touched. It begins with `entry`, which never returns.
void prepare(Fiber& fiber, void (*entry)());
/// Goes on with another fiber; returns when one switches back.
void switch_to(Fiber& from, Fiber& to);

}  // namespace software_cuda
