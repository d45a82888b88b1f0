// Integer reductions. Each operation has one function for a line of elements, which is chosen once; what walks the lines
// is compiled once per type and not once per operation.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise/chunks.h"
#include "kernels/reduce/walk.h"

namespace retort::kernels {
namespace {

/// A sum in double; log_sum_exp subtracts `shift` from each element.
struct Real {
  double sum = 0, shift = 0;
};
/// Adds n elements, `stride` apart, to the partial result A: a Real, or the low bits of an integer modulo 2^64, which are
/// exact in every type.
template <typename T, typename A>
using Line = A (*)(const T* x, size_t n, size_t stride, A partial);

template <typename T, typename F>
void for_line(const T* x, size_t n, size_t stride, const F& f) {
  if (stride == 1) {  // vectorised
    for (size_t k = 0; k < n; ++k) f(x[k]);
  } else {
    for (size_t k = 0; k < n; ++k) f(x[k * stride]);
  }
}

template <typename Local, typename T, typename F>
Line<T, uint64_t> integer_line(F) {
  return [](const T* x, size_t n, size_t stride, uint64_t partial) {
    Local a = Local(partial);
    for_line(x, n, stride, [&](T v) { a = F()(a, v); });
    return uint64_t(a);
  };
}
template <typename T, typename F>
Line<T, Real> real_line(F) {
  return [](const T* x, size_t n, size_t stride, Real a) {
    for_line(x, n, stride, [&](T v) { a.sum += F()(double(v), a.shift); });
    return a;
  };
}

/// Null if the operation is computed in double.
template <typename T>
Line<T, uint64_t> integer_line_of(Reduce op) {
  switch (op) {
    case Reduce::sum:
      return integer_line<uint64_t, T>([](uint64_t a, T v) { return a + uint64_t(v); });
    case Reduce::prod:
      return integer_line<uint64_t, T>([](uint64_t a, T v) { return a * uint64_t(v); });
    case Reduce::sum_square:
      return integer_line<uint64_t, T>([](uint64_t a, T v) { return a + uint64_t(v) * uint64_t(v); });
    case Reduce::l1:
      return integer_line<uint64_t, T>([](uint64_t a, T v) { return a + (v < 0 ? 0 - uint64_t(v) : uint64_t(v)); });
    case Reduce::max:
      return integer_line<T, T>([](T a, T v) { return std::max(a, v); });
    case Reduce::min:
      return integer_line<T, T>([](T a, T v) { return std::min(a, v); });
    default:
      return nullptr;
  }
}
template <typename T>
Line<T, Real> real_line_of(Reduce op) {
  switch (op) {
    case Reduce::l2:
      return real_line<T>([](double v, double) { return v * v; });
    case Reduce::log_sum_exp:
      return real_line<T>([](double v, double shift) { return std::exp(v - shift); });
    default:
      return real_line<T>([](double v, double) { return v; });
  }
}

template <typename T, typename A>
A walk(const ReducePlan& plan, const T* x, Line<T, A> line, A a) {
  const InnerRun run = inner_run(plan);
  if (plan.reduced.rank == 1) return line(x, run.extent, run.stride, a);
  for_reduced(plan, 0, [&](size_t at) { a = line(x + at, run.extent, run.stride, a); });
  return a;
}

/// The result of an operation that is computed in double.
double finish(Reduce op, const Real& a, size_t count) {
  switch (op) {
    case Reduce::mean:
      return count ? a.sum / double(count) : 0;
    case Reduce::l2:
      return std::sqrt(a.sum);
    case Reduce::log_sum_exp:
      return count ? std::log(a.sum) + a.shift : -std::numeric_limits<double>::infinity();
    default:
      return std::log(a.sum);
  }
}

template <typename T>
T from_double(double v) {
  constexpr double kTop = double(std::numeric_limits<T>::max());
  if (!(v > double(std::numeric_limits<T>::min()))) return std::numeric_limits<T>::min();
  return v >= kTop ? std::numeric_limits<T>::max() : T(v);
}

}  // namespace

template <typename T>
void reduce(Reduce op, const T* x, T* y, const ReducePlan& plan, const Parallel& par) noexcept {
  const Line<T, uint64_t> largest = integer_line_of<T>(Reduce::max), line = integer_line_of<T>(op);
  const Line<T, Real> real = real_line_of<T>(op);
  const auto lowest = uint64_t(std::numeric_limits<T>::min()), highest = uint64_t(std::numeric_limits<T>::max());
  const uint64_t start = op == Reduce::max ? lowest : op == Reduce::min ? highest : op == Reduce::prod;
  const auto one = [&](const T* from) {
    if (line) return T(walk(plan, from, line, start));
    Real a;
    if (op == Reduce::log_sum_exp) a.shift = double(T(walk(plan, from, largest, lowest)));
    return from_double<T>(finish(op, walk(plan, from, real, a), plan.count));
  };
  const auto task = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) y[i] = one(x + plan.offset(i));
  };
  for_chunks(par, plan.outputs, task, std::max<size_t>(1, kChunk / std::max<size_t>(1, plan.count)));
}

template decltype(reduce<int8_t>) reduce<int8_t>;
template decltype(reduce<uint8_t>) reduce<uint8_t>;
template decltype(reduce<int32_t>) reduce<int32_t>;
template decltype(reduce<uint32_t>) reduce<uint32_t>;
template decltype(reduce<int64_t>) reduce<int64_t>;

}  // namespace retort::kernels
