#include "stacks.h"

#include <sys/mman.h>

#include "memory.h"

// Saves the registers that a call keeps on the stack, stores its pointer in *save and goes on with another stack.
extern "C" void software_cuda_switch(void** save, void* next);
#if defined(__x86_64__)
asm(R"(
.text
.hidden software_cuda_switch
.globl software_cuda_switch
.type software_cuda_switch, @function
software_cuda_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size software_cuda_switch, . - software_cuda_switch
)");
#endif

namespace software_cuda {

constexpr size_t kStack = size_t(128) << 10, kPage = 4096;

void prepare(Fiber& fiber, void (*entry)()) {
  void* const p = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) die("no memory for the stack of a thread");
  mprotect(p, kPage, PROT_NONE);
  fiber.memory = static_cast<char*>(p);
#if defined(__x86_64__)
  auto** top = reinterpret_cast<void**>(fiber.memory + kStack - 64);
  *--top = nullptr;  // so that the stack is aligned as after a call
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  fiber.stopped = top;
#else
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.memory;
  fiber.context.uc_stack.ss_size = kStack;
  makecontext(&fiber.context, entry, 0);
#endif
}

void switch_to(Fiber& from, Fiber& to) {
#if defined(__x86_64__)
  software_cuda_switch(&from.stopped, to.stopped);
#else
  swapcontext(&from.context, &to.context);
#endif
}

}  // namespace software_cuda
