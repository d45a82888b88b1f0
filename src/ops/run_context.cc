#include "ops/run_context.h"

#include <utility>

#include "base/cpu.h"
#include "base/loading.h"
#include "kernels/gemm/gemm_bf16.h"
#include "kernels/gemm/gemm_codes.h"
#include "kernels/gemm/strassen.h"

namespace retort {

std::string packed_form() {
  return cat("{} {} {} {} {}", isa_name(current_isa()), int(kernels::codes_unit()), int(multiplies_bf16()),
             int(kernels::has_bf16_tiles()), int(saves_multiplications()));
}

bool multiplies_bf16() { return kernels::has_bf16_products(); }
bool saves_multiplications() { return kernels::gemm_detail::saves_products(); }

std::shared_ptr<const void> PrepareContext::packed(size_t bytes, FunctionRef<void(void*)> write) const {
  const PackedName name{store_.plan, store_.step, blocks_++};
  if (store_.cache) {
    if (auto found = store_.cache->find(name, bytes)) return found;
  }
  BlockPool alone;
  BlockPool& pool = store_.memory ? *store_.memory : alone;
  std::shared_ptr<void> block = pool.allocate(bytes);
  write(block.get());
  check_loading(parallel_);  // packers return early when loading is cancelled: the block is not complete then
  if (store_.shared) {
    std::shared_ptr<void> same = store_.shared->unify(block, bytes);
    if (same != block) pool.give_back(std::exchange(block, same), bytes);
  }
  if (store_.cache) store_.cache->add(name, block, bytes);
  return block;
}

}  // namespace retort
