#include "memory/host.h"

#include <sys/mman.h>

#include "base/checked.h"
#include "tensor/tensor.h"

namespace retort {
namespace {

constexpr size_t kHuge = size_t(2) << 20;

}  // namespace

std::shared_ptr<void> allocate_block(size_t bytes) {
  if (bytes < kHuge) return allocate_host(bytes);
  const size_t wanted = checked_add(round_up(bytes, 4096), kHuge, "workspace size");
  void* base = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) fail(ErrorCode::fail, "out of memory: {} bytes", bytes);
  void* aligned = reinterpret_cast<void*>(round_up(reinterpret_cast<size_t>(base), kHuge));
  madvise(aligned, wanted - kHuge, MADV_HUGEPAGE);  // a hint: without huge pages the block works as well
  return {aligned, [base, wanted](void*) { munmap(base, wanted); }};
}

}  // namespace retort
