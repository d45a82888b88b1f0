// Decides when seven multiplications are cheaper than eight, and how a product is divided for them.
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <atomic>

#include "base/checked.h"
#include "base/cpu.h"
#include "kernels/gemm/gemm_plan.h"
#include "kernels/gemm/strassen.h"

namespace retort::kernels::gemm_detail {
namespace {

/// Maximum rows of a block: the products of a pair of panels and the sums of a block of k stay in the second-level
/// cache. A few more rows are not divided, because small blocks have many tiles that are not full, and each computes the
/// sums of B again: 197 rows (ViT) are 1.02 to 1.04 times as fast. Many rows in blocks of 256 were up to 3 % slower with
/// few steps of k (2048 x 384 x 1536, Zen 4).
constexpr size_t kMostRows = 192, kUndivided = 256;
/// Bytes of sums of A that are in memory at a time, unless that leaves a worker without a block of rows of its own, or
/// with fewer tasks than this.
constexpr size_t kSlabBytes = size_t(1) << 20;
constexpr size_t kTasksOfWorker = 2;
/// With more tasks per slab than this, columns are not divided further.
constexpr size_t kWantedTasks = 16;
constexpr size_t kLeastRows = 32;
/// Number of pairs of rows in a task that computes sums.
constexpr size_t kPairsOfTask = 16;

size_t pairs_of(size_t n) { return n / (2 * gemm_panel_width()); }

#if defined(__x86_64__)
/// Whether a processor with AVX-512 computes 512-bit operations in two halves: Zen 4, the only one of AMD's family 19h
/// that has them.
bool halves_512_bits() {
  static const bool halves = [] {
    constexpr unsigned kFamily = 0x19;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    __builtin_cpu_init();
    if (!__builtin_cpu_is("amd") || !__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return false;
    return (eax >> 8 & 15) + (eax >> 20 & 255) == kFamily;
  }();
  return halves;
}
#endif

}  // namespace

// At AVX-512, a multiplication saves time where it takes two steps of 256 bits. Where it takes one, the sums cannot keep
// up: on Zen 5, 46 of 50 products of the zoo were slower with them (5 % in the median, 16 % at most), and so were
// whole models (BERT 5 %, ViT 8 %); on Sapphire Rapids, 35 of the 50 products (4 % in the median). At v2, plain products
// take three panels at a time (wide-inl.h), which sums of panels do not.
bool saves_products() {
#if defined(__x86_64__)
  switch (current_isa()) {
    case Isa::avx512:
      return halves_512_bits();
    case Isa::avx2:
      return true;
    case Isa::v2:
      return false;
  }
#endif
  return true;
}

// Compares the multiply-adds that are saved with the cost of sums, in multiply-adds of a vector. At AVX2, sums of A cost
// more beside multiply-adds: products of fewer than about 256 columns were 3 to 12 % slower with sums, and those of 2000
// and more columns 4 to 11 % faster (products of the zoo with cold weights).
bool strassen_pays(size_t rows, size_t n, size_t steps) {
  if (!saves_products()) return false;
  const bool is_avx2 = current_isa() == Isa::avx2;
  const double row_sums = is_avx2 ? 2.4 : 0.34;
  constexpr double kPanelSums = 14, kResults = 55;
  const double margin = is_avx2 ? 1.4 : 1.5;  // with a smaller margin, one product in three was slower
  const double m = double(rows), k = double(steps), pairs = double(pairs_of(n));
  const double saved = m * k * pairs / 2;
  const double cost = row_sums * m * k + kPanelSums * k * pairs + kResults * m * pairs;
  return rows >= kLeastRows && steps % 2 == 0 && saved > margin * cost;
}

StrassenPlan plan_strassen(size_t m, size_t n, size_t k, int workers) {
  StrassenPlan p;
  const size_t width = 2 * gemm_panel_width(), pairs = std::max<size_t>(pairs_of(n), 1);
  p.half = k / 2;
  p.blocks = m <= kUndivided ? 1 : ceil_div(m, kMostRows);
  p.block_rows = round_up(ceil_div(m, p.blocks), 2);
  p.blocks = ceil_div(m, p.block_rows);
  p.k_block = k_block_of(p.block_rows / 2, p.half);
  p.sum_stride = round_up(p.half, 16);
  if (p.sum_stride % 256 == 0) p.sum_stride += 16;  // otherwise rows would share a few sets of the first-level cache
  p.sum_floats = spread(p.block_rows / 2 * p.sum_stride);
  p.b_floats = spread(p.k_block * gemm_panel_width());
  p.product_floats = spread(p.block_rows / 2 * gemm_panel_width());
  const size_t block_floats = kSums * p.sum_floats;
  const size_t fitting = kSlabBytes / (block_floats * sizeof(float));
  const size_t busy = kTasksOfWorker * size_t(workers);
  p.slab_blocks = std::min(std::max({fitting, ceil_div(busy, pairs), size_t(workers)}), p.blocks);
  const size_t wanted = ceil_div(std::max(kWantedTasks, busy), p.slab_blocks);
  p.group_columns = ceil_div(pairs, std::min(wanted, pairs)) * width;
  p.column_groups = ceil_div(n, p.group_columns);
  p.worker_floats = p.b_floats + kProducts * p.product_floats;
  return p;
}

size_t strassen_bytes(const StrassenPlan& p, int workers) {
  return (p.slab_blocks * (kSums * p.sum_floats + 16) + size_t(workers) * p.worker_floats) * sizeof(float);
}

namespace {

/// A product in progress: the blocks of one slab after the other.
class Strassen {
 public:
  Strassen(const GemmArgs& args, const StrassenPlan& plan, const Parallel& par, void* scratch)
      : args_(args),
        plan_(plan),
        par_(par),
        unfit_(static_cast<uint32_t*>(scratch)),
        sums_(static_cast<float*>(scratch) + plan.slab_blocks * 16),
        own_(sums_ + plan.slab_blocks * kSums * plan.sum_floats) {}

  void run_slab(size_t first) const {
    const size_t blocks = std::min(plan_.slab_blocks, plan_.blocks - first);
    std::fill_n(unfit_, blocks, 0);
    const size_t chunks = ceil_div(plan_.block_rows / 2, kPairsOfTask);
    par_.for_each(blocks * chunks, [&](size_t task, int) { sum_rows(first, task / chunks, task % chunks); });
    const auto multiply = select_strassen().multiply;
    par_.for_each(blocks * plan_.column_groups, [&](size_t task, int worker) {
      const size_t block = task / plan_.column_groups;
      StrassenPart part;
      part.m0 = (first + block) * plan_.block_rows;
      part.m1 = std::min(part.m0 + plan_.block_rows, args_.m);
      part.n0 = task % plan_.column_groups * plan_.group_columns;
      part.n1 = std::min(part.n0 + plan_.group_columns, args_.n);
      part.sums = sums_ + block * kSums * plan_.sum_floats;
      part.plain = unfit_[block] != 0;
      part.scratch = own_ + size_t(worker) * plan_.worker_floats;
      multiply(args_, plan_, part);
    });
  }

 private:
  void sum_rows(size_t first, size_t block, size_t chunk) const {
    const auto sum = select_strassen().sum_rows;
    const size_t m0 = (first + block) * plan_.block_rows;
    const size_t all = std::min(m0 + plan_.block_rows, args_.m) - m0, rows = (all + 1) / 2;
    float* sums = sums_ + block * kSums * plan_.sum_floats;
    bool fit = true;
    for (size_t r = chunk * kPairsOfTask; r < std::min(rows, (chunk + 1) * kPairsOfTask); ++r) {
      const float* top = args_.a + (m0 + r) * args_.a_stride;
      const float* bottom = rows + r < all ? top + rows * args_.a_stride : nullptr;
      fit &= sum(top, bottom, plan_.half, sums + r * plan_.sum_stride, plan_.sum_floats);
    }
    if (!fit) std::atomic_ref(unfit_[block]).store(1, std::memory_order_relaxed);
  }

  const GemmArgs& args_;
  const StrassenPlan& plan_;
  const Parallel& par_;
  uint32_t* unfit_;  // [slab_blocks]
  float *sums_, *own_;
};

}  // namespace

void multiply_strassen(const GemmArgs& whole, const StrassenPlan& plan, const Parallel& par, void* scratch) noexcept {
  GemmArgs args = whole;
  args.run = &par;
  const Strassen product(args, plan, par, scratch);
  for (size_t first = 0; first < plan.blocks && !par.cancelled(); first += plan.slab_blocks) product.run_slab(first);
}

}  // namespace retort::kernels::gemm_detail
