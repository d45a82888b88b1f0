#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/logic.cc"
#include "kernels/elementwise/logic.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/dispatch.h"
#include "kernels/elementwise/pair_run.h"

// Plain loops: the compiler vectorises them at each level.
HWY_BEFORE_NAMESPACE();
namespace retort::kernels::HWY_NAMESPACE {
namespace {

template <Compare kOp, typename T>
bool holds(T a, T b) {
  using enum Compare;
  if constexpr (kOp == equal) return a == b;
  if constexpr (kOp == not_equal) return a != b;
  if constexpr (kOp == less) return a < b;
  if constexpr (kOp == less_equal) return a <= b;
  if constexpr (kOp == greater) return a > b;
  if constexpr (kOp == greater_equal) return a >= b;
}

/// b may be repeated.
template <Compare kOp, typename T>
void run_compare(const PairRun<T, bool>& r) {
  if (r.b_step) {
    for (size_t i = 0; i < r.n; ++i) r.y[i] = holds<kOp>(r.a[i], r.b[i]);
  } else {
    const T scalar = *r.b;
    for (size_t i = 0; i < r.n; ++i) r.y[i] = holds<kOp>(r.a[i], scalar);
  }
}

constexpr Compare swapped(Compare op) {
  switch (op) {
    case Compare::less:
      return Compare::greater;
    case Compare::less_equal:
      return Compare::greater_equal;
    case Compare::greater:
      return Compare::less;
    case Compare::greater_equal:
      return Compare::less_equal;
    default:
      return op;
  }
}

}  // namespace

template <typename T>
struct Logical {
  static void compare(Compare op, const PairRun<T, bool>& run) {
    constexpr auto kRuns = []<size_t... I>(std::index_sequence<I...>) {
      return std::array{&run_compare<Compare(I), T>...};
    }
    (std::make_index_sequence<size_t(Compare::greater_equal) + 1>());
    if (run.a_step) return kRuns[size_t(op)](run);
    kRuns[size_t(swapped(op))]({run.b, run.b_step, run.a, run.a_step, run.y, run.n});
  }
  /// The condition advances; a and b may both be repeated.
  static void where(const bool* condition, const PairRun<T>& r) {
    const auto select = [condition, y = r.y, n = r.n](auto a, auto b) HWY_ATTR {
      const auto* bytes = reinterpret_cast<const uint8_t*>(condition);
      for (size_t i = 0; i < n; ++i) {  // no branch, because conditions are often random
        const T mask = T(0) - T(bytes[i] != 0);
        y[i] = T((a(i) & mask) | (b(i) & T(~mask)));
      }
    };
    const auto moving = [](const T* p) { return [p](size_t i) HWY_ATTR { return p[i]; }; };
    const auto still = [](const T* p) { return [v = *p](size_t) HWY_ATTR { return v; }; };
    if (r.a_step && r.b_step) return select(moving(r.a), moving(r.b));
    if (r.a_step) return select(moving(r.a), still(r.b));
    if (r.b_step) return select(still(r.a), moving(r.b));
    select(still(r.a), still(r.b));
  }
};

// Bytes of callers may be other than 0 and 1: all except 0 are true.
void logic_run(Logic op, const PairRun<uint8_t>& run) {
  PairRun<uint8_t> r = run;
  if (!r.a_step) {  // all three operations commute
    std::swap(r.a, r.b);
    std::swap(r.a_step, r.b_step);
  }
  const auto loop = [r](auto f) HWY_ATTR {
    if (r.b_step) {
      for (size_t i = 0; i < r.n; ++i) r.y[i] = f(r.a[i], r.b[i]);
    } else {
      const uint8_t scalar = *r.b;
      for (size_t i = 0; i < r.n; ++i) r.y[i] = f(r.a[i], scalar);
    }
  };
  switch (op) {
    case Logic::logic_and:
      return loop([](uint8_t p, uint8_t q) HWY_ATTR { return uint8_t(bool(p) & bool(q)); });
    case Logic::logic_or:
      return loop([](uint8_t p, uint8_t q) HWY_ATTR { return uint8_t(bool(p) | bool(q)); });
    case Logic::logic_xor:
      return loop([](uint8_t p, uint8_t q) HWY_ATTR { return uint8_t(bool(p) ^ bool(q)); });
  }
}

}  // namespace retort::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace retort::kernels {

template <typename T>
void compare(Compare op, const T* a, const T* b, bool* y, const BroadcastPlan<2>& plan, const Parallel& par) noexcept {
  // Types that models rarely compare are compiled for one level only.
  auto run = &HWY_NAMESPACE::Logical<T>::compare;
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, int64_t>) run = RETORT_SELECT(Logical<T>::compare);
  spread_pairs<T, bool>(run, op, {a, 1, b, 1, y, plan.count}, plan, par);
}
template decltype(compare<float>) compare<float>;
template decltype(compare<double>) compare<double>;
template decltype(compare<int32_t>) compare<int32_t>;
template decltype(compare<int64_t>) compare<int64_t>;
template decltype(compare<uint8_t>) compare<uint8_t>;
template decltype(compare<bool>) compare<bool>;

void logic(Logic op, const bool* a, const bool* b, bool* y, const BroadcastPlan<2>& plan,
           const Parallel& par) noexcept {
  const auto bytes = [](const bool* p) { return reinterpret_cast<const uint8_t*>(p); };
  spread_pairs<uint8_t, uint8_t>(RETORT_SELECT(logic_run), op,
                                 {bytes(a), 1, bytes(b), 1, reinterpret_cast<uint8_t*>(y), plan.count}, plan, par);
}

void logic_not(const bool* x, bool* y, size_t n, const Parallel& par) noexcept {
  const auto* bytes = reinterpret_cast<const uint8_t*>(x);
  for_chunks(par, n, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) y[i] = bytes[i] == 0;
  });
}

template <typename T>
void where(const bool* condition, const T* a, const T* b, T* y, const BroadcastPlan<3>& plan,
           const Parallel& par) noexcept {
  const auto run = RETORT_SELECT(Logical<T>::where);
  for_chunks(par, plan.count, [&](size_t begin, size_t end) {
    for_runs(plan, begin, end, [&](size_t out, const std::array<size_t, 3>& at, size_t n) {
      if (plan.step(0)) return run(condition + at[0], {a + at[1], plan.step(1), b + at[2], plan.step(2), y + out, n});
      const bool first = reinterpret_cast<const uint8_t*>(condition)[at[0]] != 0;
      const T* const from = first ? a + at[1] : b + at[2];
      if (plan.step(first ? 1 : 2)) {
        std::copy_n(from, n, y + out);
      } else {
        std::fill_n(y + out, n, *from);
      }
    });
  });
}
template decltype(where<uint8_t>) where<uint8_t>;
template decltype(where<uint16_t>) where<uint16_t>;
template decltype(where<uint32_t>) where<uint32_t>;
template decltype(where<uint64_t>) where<uint64_t>;

}  // namespace retort::kernels
#endif
