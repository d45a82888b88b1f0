#include "kernels/move/pad.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/elementwise/chunks.h"

namespace retort::kernels {
namespace {

constexpr size_t kMaxRank = 16;

/// One dimension: `kept` input elements, starting with `first` (below 0: more are removed than it has), with `before`
/// elements before them and `out` in all.
struct Dim {
  int64_t extent, first, kept, before, out;
};

struct Plan {
  size_t rank = 0;
  std::array<Dim, kMaxRank> dims;  ///< outermost first; the last one is padded unless it is the only one
  size_t run = 1;                  ///< elements of the innermost dimensions that are not padded
  PadMode mode;
};

bool make(const PadArgs& a, Plan& plan) {
  plan.mode = a.mode;
  size_t inner = a.shape.size();
  while (inner > 0 && a.before[inner - 1] == 0 && a.after[inner - 1] == 0) plan.run *= size_t(a.shape[--inner]);
  bool merge = false;
  for (size_t d = 0; d < inner; ++d) {
    const int64_t extent = a.shape[d], first = std::max<int64_t>(0, -a.before[d]);
    const int64_t kept = extent - first - std::max<int64_t>(0, -a.after[d]);
    const bool plain = a.before[d] == 0 && a.after[d] == 0;
    if (plain && merge) {
      Dim& last = plan.dims[plan.rank - 1];
      last = {last.extent * extent, 0, last.kept * extent, 0, last.out * extent};
      continue;
    }
    if (plan.rank == kMaxRank) return false;
    const int64_t before = std::max<int64_t>(0, a.before[d]);
    plan.dims[plan.rank++] = {extent, first, kept, before, before + kept + std::max<int64_t>(0, a.after[d])};
    merge = plain;
  }
  return true;
}

/// Position in the input of output position i, or -1 for a constant.
int64_t source(PadMode mode, const Dim& d, int64_t i) {
  int64_t k = i - d.before;
  const int64_t n = d.kept;
  if (k < 0 || k >= n) {
    switch (mode) {
      case PadMode::constant:
        return -1;
      case PadMode::edge:
        k = std::clamp<int64_t>(k, 0, n - 1);
        break;
      case PadMode::wrap:
        k = k < 0 && k >= -n ? k + n : k >= n && k < 2 * n ? k - n : (k % n + n) % n;
        break;
      case PadMode::reflect: {
        const int64_t period = std::max<int64_t>(1, 2 * (n - 1));
        if (k < 0 && k > -n) {  // reflected once, the most common case
          k = -k;
          break;
        }
        if (k < 0 || k > period) k = (k % period + period) % period;
        k = n == 1 ? 0 : std::min(k, period - k);
        break;
      }
    }
  }
  return d.first + k;
}

struct Row {
  const Mover& m;
  const Plan& plan;
  const void* value;
};

/// Few elements, without a call.
constexpr int64_t kFew = 4;
bool few(const Mover& m, int64_t n) { return n <= kFew && m.size <= 8; }
void put(const Mover& m, void* to, const void* from) {
  switch (m.size) {
    case 1:
      return void(std::memcpy(to, from, 1));
    case 2:
      return void(std::memcpy(to, from, 2));
    case 4:
      return void(std::memcpy(to, from, 4));
    default:
      return void(std::memcpy(to, from, 8));
  }
}

/// Writes elements [range) of an output row, for a mode that repeats the input: one end, or a run away from it that is
/// shorter than the input's extent.
void pad_border(const Row& r, const void* x, void* y, std::pair<int64_t, int64_t> range) {
  const Dim& d = r.plan.dims[r.plan.rank - 1];
  const ptrdiff_t run = ptrdiff_t(r.plan.run);
  if (range.first >= range.second) return;
  if (run == 1 && few(r.m, range.second - range.first)) {
    const ptrdiff_t step = r.plan.mode == PadMode::edge ? 0 : -1;
    ptrdiff_t from = source(r.plan.mode, d, range.first);
    for (int64_t i = range.first; i < range.second; ++i, from += step) put(r.m, r.m.at(y, i), r.m.at(x, from));
    return;
  }
  if (run == 1) {
    return r.m.strided(r.m.at(y, range.first), 1, r.m.at(x, source(r.plan.mode, d, range.first)),
                       r.plan.mode == PadMode::edge ? 0 : -1, size_t(range.second - range.first));
  }
  for (int64_t i = range.first; i < range.second; ++i)
    r.m.copy(r.m.at(y, i * run), r.m.at(x, source(r.plan.mode, d, i) * run), size_t(run));
}

/// Fills the whole output row from its elements [begin, end), which contain at least one period, by doubling.
void repeat(const Row& r, void* y, int64_t period, int64_t begin, int64_t end) {
  const int64_t out = r.plan.dims[r.plan.rank - 1].out, run = int64_t(r.plan.run);
  const auto copy = [&](int64_t to, int64_t from, int64_t n) {
    r.m.copy(r.m.at(y, to * run), r.m.at(y, from * run), size_t(n * run));
  };
  while (end < out) {
    const int64_t away = (end - begin) / period * period, n = std::min(away, out - end);
    copy(end, end - away, n);
    end += n;
  }
  while (begin > 0) {
    const int64_t away = (end - begin) / period * period, n = std::min(away, begin);
    begin -= n;
    copy(begin, begin + away, n);
  }
}

/// Pads the last dimension of one output row; x is null if the whole row is constant padding.
void pad_row(const Row& r, const void* x, void* y) {
  const Dim& d = r.plan.dims[r.plan.rank - 1];
  const ptrdiff_t run = ptrdiff_t(r.plan.run);
  const auto fill = [&](int64_t from, int64_t to) {
    if (run == 1 && few(r.m, to - from)) {
      for (; from < to; ++from) put(r.m, r.m.at(y, from), r.value);
    } else if (to > from)
      r.m.strided(r.m.at(y, from * run), 1, r.value, 0, size_t((to - from) * run));
  };
  if (!x) return fill(0, d.out);
  const int64_t kept = std::max<int64_t>(0, d.kept), end = d.before + kept;
  if (kept > 0 && r.m.may_throw) r.m.copy(r.m.at(y, d.before * run), r.m.at(x, d.first * run), size_t(kept * run));
  if (kept > 0 && !r.m.may_throw)  // without another call
    std::memcpy(r.m.at(y, d.before * run), r.m.at(x, d.first * run), size_t(kept * run) * r.m.size);
  if (r.plan.mode == PadMode::constant) {
    fill(0, std::min(d.before, d.out));
    return fill(end, d.out);
  }
  const int64_t near = r.plan.mode == PadMode::edge ? d.out : r.plan.mode == PadMode::reflect ? kept - 1 : 0;
  const int64_t from = std::max<int64_t>(0, d.before - near), to = std::min(d.out, end + near);
  pad_border(r, x, y, {from, d.before});
  pad_border(r, x, y, {end, to});
  repeat(r, y, r.plan.mode == PadMode::reflect ? std::max<int64_t>(1, 2 * (kept - 1)) : kept, from, to);
}

/// Where the rows of one index of the outer dimensions begin in the input; -1 for constant rows.
ptrdiff_t outer_offset(const Plan& plan, size_t outer) {
  const size_t last = plan.rank - 1;
  ptrdiff_t offset = 0, stride = plan.dims[last].extent * ptrdiff_t(plan.run);
  for (size_t d = last; d-- > 0; stride *= plan.dims[d].extent) {
    if (d + 1 == last) continue;  // the rows themselves
    const Dim& dim = plan.dims[d];
    const int64_t k = source(plan.mode, dim, int64_t(d == 0 ? outer : outer % size_t(dim.out)));
    if (k < 0) return -1;
    if (d > 0) outer /= size_t(dim.out);
    offset += k * stride;
  }
  return offset;
}

/// Pads output rows [begin, end) of `elements` each.
void pad_rows(const Row& r, const void* x, void* y, std::pair<size_t, size_t> range, size_t elements) {
  const Plan& plan = r.plan;
  const size_t last = plan.rank - 1;
  const Dim along = last > 0 ? plan.dims[last - 1] : Dim{1, 0, 1, 0, 1};
  const ptrdiff_t stride = plan.dims[last].extent * ptrdiff_t(plan.run);
  size_t outer = range.first / size_t(along.out), index = range.first % size_t(along.out);
  ptrdiff_t first = outer_offset(plan, outer);
  for (size_t row = range.first; row < range.second; ++row, ++index) {
    if (index == size_t(along.out)) {
      index = 0;
      first = outer_offset(plan, ++outer);
    }
    const int64_t k = first < 0 ? -1 : source(plan.mode, along, int64_t(index));
    pad_row(r, k < 0 ? nullptr : r.m.at(x, first + k * stride), r.m.at(y, ptrdiff_t(row * elements)));
  }
}

}  // namespace

bool pad(const Mover& mover, const PadArgs& args, const void* x, void* y, const Parallel& par) {
  Plan plan;
  if (!make(args, plan)) return false;
  if (plan.rank == 0) {
    mover.copy(y, x, plan.run);
    return true;
  }
  const Row r{mover, plan, args.value};
  size_t rows = 1;
  for (size_t d = 0; d + 1 < plan.rank; ++d) rows *= size_t(plan.dims[d].out);
  const size_t elements = size_t(plan.dims[plan.rank - 1].out) * plan.run;
  if (rows * elements == 0) return true;
  const auto task = [&](size_t begin, size_t end) { pad_rows(r, x, y, {begin, end}, elements); };
  for_chunks(mover.allowed(par), rows, task, std::max<size_t>(1, kChunk / elements));
  return true;
}

}  // namespace retort::kernels
