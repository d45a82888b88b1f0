#include "aligned.h"

namespace providers::cuda {
namespace {

constexpr Address kAlignment = 16;  // the widest access of a thread

}  // namespace

Address AlignedCopies::replace(Address address, size_t bytes) {
  if (address % kAlignment == 0 || bytes == 0) return 0;
  if (run_.keep)
    throw Error(text("part ", name_, ": a tensor begins at an address that is no multiple of ", kAlignment,
                     " bytes; it would be copied, which a captured run cannot: bind a tensor that an allocator made"));
  blocks_.emplace_back(device_, bytes, run_.stream);
  return blocks_.back().address();
}

void AlignedCopies::input(Address& address, size_t bytes) {
  const Address copy = replace(address, bytes);
  if (!copy) return;
  check(driver().copy_async(copy, address, bytes, run_.stream), "copying an input that is not aligned");
  address = copy;
}

void AlignedCopies::output(Address& address, size_t bytes) {
  const Address copy = replace(address, bytes);
  if (!copy) return;
  back_.push_back({address, copy, bytes});
  address = copy;
}

void AlignedCopies::copy_back() const {
  for (const Back& b : back_)
    check(driver().copy_async(b.to, b.from, b.bytes, run_.stream), "copying an output that is not aligned");
}

}  // namespace providers::cuda
