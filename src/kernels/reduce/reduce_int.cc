// Integer reductions. Each operation has one function for a line of elements, which is chosen once; what walks the lines
// is compiled once per type and not once per operation.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/move/transpose_tile.h"
#include "kernels/reduce/walk.h"

namespace retort::kernels {
namespace {

/// A sum in double; log_sum_exp subtracts `shift` from each element.
struct Real {
  double sum = 0, shift = 0;
};
/// Adds n elements, `stride` apart, to the partial result A: a Real, or the low bits of an integer modulo 2^64, which are
/// exact in every type.
template <typename A>
using Line = A (*)(const void* x, size_t n, size_t stride, A partial);

template <typename T, typename F>
void for_line(const T* x, size_t n, size_t stride, const F& f) {
  if (stride == 1) {  // vectorised
    for (size_t k = 0; k < n; ++k) f(x[k]);
  } else {
    for (size_t k = 0; k < n; ++k) f(x[k * stride]);
  }
}

template <typename Local, typename T, typename F>
Line<uint64_t> integer_line(F) {
  return [](const void* x, size_t n, size_t stride, uint64_t partial) {
    Local a = Local(partial);
    for_line(static_cast<const T*>(x), n, stride, [&](T v) { a = F()(a, v); });
    return uint64_t(a);
  };
}
template <typename T, typename F>
Line<Real> real_line(F) {
  return [](const void* x, size_t n, size_t stride, Real a) {
    for_line(static_cast<const T*>(x), n, stride, [&](T v) { a.sum += F()(double(v), a.shift); });
    return a;
  };
}

/// Null if the operation is computed in double.
template <typename T>
Line<uint64_t> integer_line_of(Reduce op) {
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
Line<Real> real_line_of(Reduce op) {
  switch (op) {
    case Reduce::l2:
      return real_line<T>([](double v, double) { return v * v; });
    case Reduce::log_sum_exp:
      return real_line<T>([](double v, double shift) { return std::exp(v - shift); });
    default:
      return real_line<T>([](double v, double) { return v; });
  }
}

/// Elements of one size.
struct Elements {
  const char* data;
  size_t size;
  const char* at(size_t i) const { return data + i * size; }
};

template <typename A>
[[gnu::noinline]] A walk(const ReducePlan& plan, const Elements& x, size_t first, Line<A> line, A a) {
  const InnerRun run = inner_run(plan);
  for_reduced(plan, first, [&](size_t at) { a = line(x.at(at), run.extent, run.stride, a); });
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

constexpr size_t kColumns = 64, kRows = 32;  // at most 16 KiB, which stay in the first-level cache

/// Folds `width` columns, starting with the element `first`, into partial[width]. Lines of a copied tile: a loop over
/// columns for each operation and type would be as fast, and much more code.
template <typename A>
[[gnu::noinline]] void walk_columns(const ReducePlan& plan, const Elements& x, size_t first, size_t width, Line<A> line,
                                    A* partial) {
  const InnerRun run = inner_run(plan);
  const TransposeFn transpose = transpose_fn(x.size);
  alignas(64) char tile[kColumns * kRows * sizeof(int64_t)];
  for_reduced(plan, first, [&](size_t at) {
    for (size_t k = 0; k < run.extent; k += kRows) {
      const size_t rows = std::min(kRows, run.extent - k);
      transpose({tile, ptrdiff_t(kRows), x.at(at + k * run.stride), ptrdiff_t(run.stride), width, rows});
      for (size_t c = 0; c < width; ++c) partial[c] = line(tile + c * kRows * x.size, rows, 1, partial[c]);
    }
  });
}

/// An operation on elements of one type. Only one of `line` and `real` is used. What is the same for all types is
/// compiled once.
struct Folding {
  Reduce op;
  Line<uint64_t> line, largest;
  Line<Real> real;
  uint64_t lowest, start;
  uint64_t (*narrow)(double);                       ///< the bits of an element
  double (*widen)(uint64_t);                        ///< from them
  void (*write)(void* y, size_t i, uint64_t bits);  ///< y[i] = bits

  template <typename T>
  static Folding of(Reduce op) {
    const auto lowest = uint64_t(std::numeric_limits<T>::min()), highest = uint64_t(std::numeric_limits<T>::max());
    return {op,
            integer_line_of<T>(op),
            integer_line_of<T>(Reduce::max),
            real_line_of<T>(op),
            lowest,
            op == Reduce::max   ? lowest
            : op == Reduce::min ? highest
                                : uint64_t(op == Reduce::prod),
            [](double v) { return uint64_t(from_double<T>(v)); },
            [](uint64_t bits) { return double(T(bits)); },
            [](void* y, size_t i, uint64_t bits) { static_cast<T*>(y)[i] = T(bits); }};
  }
};

/// Folds `width` columns, starting with the element `first`, to y from element i on.
void fold_columns(const Folding& f, const ReducePlan& plan, const Elements& x, size_t width, void* y, size_t i) {
  const size_t first = plan.offset(i);
  const bool shifts = f.op == Reduce::log_sum_exp;
  uint64_t partial[kColumns];
  std::fill_n(partial, width, f.line ? f.start : f.lowest);
  if (f.line || shifts) walk_columns(plan, x, first, width, f.line ? f.line : f.largest, partial);
  if (!f.line) {
    Real sums[kColumns];
    for (size_t c = 0; c < width && shifts; ++c) sums[c].shift = f.widen(partial[c]);
    walk_columns(plan, x, first, width, f.real, sums);
    for (size_t c = 0; c < width; ++c) partial[c] = f.narrow(finish(f.op, sums[c], plan.count));
  }
  for (size_t c = 0; c < width; ++c) f.write(y, i + c, partial[c]);
}

uint64_t fold_one(const Folding& f, const ReducePlan& plan, const Elements& x, size_t first) {
  if (f.line) return walk(plan, x, first, f.line, f.start);
  Real a;
  if (f.op == Reduce::log_sum_exp) a.shift = f.widen(walk(plan, x, first, f.largest, f.lowest));
  return f.narrow(finish(f.op, walk(plan, x, first, f.real, a), plan.count));
}

void fold_all(const Folding& f, const Elements& x, void* y, const ReducePlan& plan, const Parallel& par) {
  const size_t count = std::max<size_t>(1, plan.count);
  if (plan.rows) {
    const auto task = [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) f.write(y, i, fold_one(f, plan, x, plan.offset(i)));
    };
    return for_chunks(par, plan.outputs, task, std::max<size_t>(1, kChunk / count));
  }
  const size_t inner = plan.kept.extents[plan.kept.rank - 1], tiles = ceil_div(inner, kColumns);
  const auto task = [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {
      const size_t at = t % tiles * kColumns;
      fold_columns(f, plan, x, std::min(kColumns, inner - at), y, t / tiles * inner + at);
    }
  };
  const size_t work = count * std::min(inner, kColumns);
  for_chunks(par, plan.outputs / inner * tiles, task, std::max<size_t>(1, kChunk / work));
}

}  // namespace

template <typename T>
void reduce(Reduce op, const T* x, T* y, const ReducePlan& plan, const Parallel& par) noexcept {
  if (plan.outputs > 0) fold_all(Folding::of<T>(op), {reinterpret_cast<const char*>(x), sizeof(T)}, y, plan, par);
}

template decltype(reduce<int8_t>) reduce<int8_t>;
template decltype(reduce<uint8_t>) reduce<uint8_t>;
template decltype(reduce<int32_t>) reduce<int32_t>;
template decltype(reduce<uint32_t>) reduce<uint32_t>;
template decltype(reduce<int64_t>) reduce<int64_t>;

}  // namespace retort::kernels
