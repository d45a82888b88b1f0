// Sums, differences and products of integers of 8 and 16 bits. They need no form for each instruction level: the
// vectors that all processors have compute as many elements as the memory of large tensors delivers.
#include <type_traits>

#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/pair_run.h"

namespace retort::kernels {
namespace {

template <Binary kOp, typename T>
T wrapped(T a, T b) {
  const unsigned x = a, y = b;
  if constexpr (kOp == Binary::add) return T(x + y);
  if constexpr (kOp == Binary::sub) return T(x - y);
  return T(x * y);
}

template <Binary kOp, typename T>
void run_narrow(Binary, const PairRun<T>& run) {
  const PairRun<T> r = run;  // a copy, which results do not alias
  if (r.a_step && r.b_step) {
    for (size_t i = 0; i < r.n; ++i) r.y[i] = wrapped<kOp>(r.a[i], r.b[i]);
  } else if (r.b_step) {
    const T scalar = *r.a;
    for (size_t i = 0; i < r.n; ++i) r.y[i] = wrapped<kOp>(scalar, r.b[i]);
  } else {
    const T scalar = *r.b;
    for (size_t i = 0; i < r.n; ++i) r.y[i] = wrapped<kOp>(r.a[i], scalar);
  }
}

template <typename T>
void spread_narrow(Binary op, const T* a, const T* b, T* y, const BroadcastPlan<2>& plan, const Parallel& par) {
  const auto run = op == Binary::add   ? &run_narrow<Binary::add, T>
                   : op == Binary::sub ? &run_narrow<Binary::sub, T>
                                       : &run_narrow<Binary::mul, T>;
  spread_pairs(run, op, {a, 1, b, 1, y, plan.count}, plan, par);
}

}  // namespace

void wrapping_binary(Binary op, size_t bytes, const void* a, const void* b, void* y, const BroadcastPlan<2>& plan,
                     const Parallel& par) noexcept {
  const auto as = [&]<typename T>(std::type_identity<T>, auto function) {
    function(op, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(y), plan, par);
  };
  const auto wide = [](auto... args) { binary(args...); };
  switch (bytes) {
    case 1:
      return as(std::type_identity<uint8_t>(), &spread_narrow<uint8_t>);
    case 2:
      return as(std::type_identity<uint16_t>(), &spread_narrow<uint16_t>);
    case 4:
      return as(std::type_identity<int32_t>(), wide);
    default:
      return as(std::type_identity<int64_t>(), wide);
  }
}

}  // namespace retort::kernels
