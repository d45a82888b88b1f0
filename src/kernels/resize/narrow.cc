#include "kernels/resize/narrow.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/checked.h"
#include "kernels/elementwise/cast.h"

namespace retort::kernels {
namespace {

constexpr size_t kPart = 8 << 10;  // floats, so that rows of input and output stay in the caches

// Rows of the input and of the output that are floats at a time.
size_t rows_in(const NarrowResize& args) {
  return std::min(args.in_h, std::max(2 * args.rows.taps, kPart / args.in_line));
}
size_t rows_out(const NarrowResize& args) { return std::clamp<size_t>(kPart / args.out_line, 1, args.rows.size); }
size_t floats_of_worker(const NarrowResize& args) {
  const size_t in = checked_mul(rows_in(args), args.in_line, "rows of an image");
  return round_up(checked_add(in, checked_mul(rows_out(args), args.out_line, "rows of an image"), "rows"), size_t(16));
}

// Rows [first, second) of the input.
using Rows = std::pair<size_t, size_t>;
Rows rows_for(const ResizeAxis& axis, size_t row) {
  const auto [low, high] = std::minmax_element(axis.index + row * axis.taps, axis.index + (row + 1) * axis.taps);
  return {size_t(*low), size_t(*high) + 1};
}

void settle(const NarrowResize& args, float* x, size_t n) {
  const auto [least, most] = narrow_range(args.type);
  const float low = float(least), high = float(most), share = float(share_of_integer(args.rounds));
  for (size_t i = 0; i < n; ++i) x[i] = std::clamp(x[i] + std::copysign(share, x[i]), low, high);
}

}  // namespace

std::pair<double, double> narrow_range(DType type) {
  const auto of = []<typename T>(T) {
    return std::pair(double(std::numeric_limits<T>::lowest()), double(std::numeric_limits<T>::max()));
  };
  if (type == DType::i8) return of(int8_t());
  if (type == DType::u8) return of(uint8_t());
  if (type == DType::i16) return of(int16_t());
  if (type == DType::u16) return of(uint16_t());
  return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
}

size_t narrow_resize_floats(const NarrowResize& args, int workers) {
  return checked_mul(floats_of_worker(args), size_t(workers), "the rows of all workers");
}

void resize_narrow(const NarrowResize& args, MakeRows make, float* memory, const Parallel& par) {
  const size_t bytes = dtype_bits(args.type) / 8, most_in = rows_in(args), most_out = rows_out(args);
  const auto* input = static_cast<const std::byte*>(args.input);
  auto* output = static_cast<std::byte*>(args.output);
  const bool is_integer = !is_float(args.type);
  const size_t per_image = ceil_div(args.rows.size, most_out);
  par.for_each(args.images * per_image, [&](size_t task, int worker) {
    float* in = memory + size_t(worker) * floats_of_worker(args);
    float* out = in + most_in * args.in_line;
    const size_t image = task / per_image, end = std::min(args.rows.size, (task % per_image + 1) * most_out);
    for (size_t row = task % per_image * most_out, next; row < end; row = next) {
      Rows from = rows_for(args.rows, row);
      for (next = row + 1; next < end; ++next) {
        const Rows more = rows_for(args.rows, next);
        const Rows all{std::min(from.first, more.first), std::max(from.second, more.second)};
        if (all.second - all.first > most_in) break;
        from = all;
      }
      cast(input + (image * args.in_h + from.first) * args.in_line * bytes, args.type, in, DType::f32,
           (from.second - from.first) * args.in_line, {});
      make(row, next, in - from.first * args.in_line, out, worker);
      const size_t n = (next - row) * args.out_line;
      if (is_integer) settle(args, out, n);
      cast(out, DType::f32, output + (image * args.rows.size + row) * args.out_line * bytes, args.type, n, {});
    }
  });
}

}  // namespace retort::kernels
