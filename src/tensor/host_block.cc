#include "tensor/host_block.h"

#include <sys/mman.h>

#include "base/checked.h"
#include "tensor/tensor.h"

namespace retort {
namespace {

constexpr size_t kHuge = size_t(2) << 20, kPage = 4096;

#ifdef __SANITIZE_ADDRESS__
constexpr bool kUsesMalloc = true;  // it detects accesses beyond the end
#else
constexpr bool kUsesMalloc = false;
#endif

/// A small page takes about four microseconds when it is first written, a huge one as long as 40 of them.
bool ends_with_huge_page(size_t bytes) { return bytes % kHuge >= kHuge / 2; }

}  // namespace

size_t huge_bytes(size_t bytes) {
  return bytes < kHuge / 2 || kUsesMalloc ? 0 : (bytes / kHuge + ends_with_huge_page(bytes)) * kHuge;
}

std::shared_ptr<void> allocate_block(size_t bytes) {
  if (bytes < kHuge / 2 || kUsesMalloc) return allocate_host(bytes);
  const size_t unit = ends_with_huge_page(bytes) ? kHuge : kPage;
  const size_t used = checked_add(bytes, unit - 1, "workspace size") / unit * unit;
  const size_t wanted = checked_add(used, kHuge, "workspace size");
  void* base = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) fail(ErrorCode::fail, "out of memory: {} bytes; free some, or give smaller inputs", bytes);
  const size_t at = reinterpret_cast<size_t>(base);
  void* aligned = static_cast<char*>(base) + (round_up(at, kHuge) - at);
  madvise(aligned, used, MADV_HUGEPAGE);  // only a hint: the block also works without huge pages
  return {aligned, [base, wanted](void*) { munmap(base, wanted); }};
}

}  // namespace retort
