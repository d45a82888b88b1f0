// ConvInteger: the convolution of (x - x's zero point) with (w - w's zero point), 8-bit integers summed in int32. Padding
// counts as x's zero point.
#include <algorithm>

#include "base/checked.h"
#include "ops/nn/common/window.h"
#include "ops/quant/common/integer_product.h"

namespace retort::ops {
namespace {

struct ConvInteger : WindowAttributes {
  int64_t group = 1;
  static constexpr auto attributes = std::tuple_cat(window_attributes, std::tuple{attr("group", &ConvInteger::group)});
  enum Input : size_t { kX, kW, kXZero, kWZero };

  void check() const {
    WindowAttributes::check();
    require(group > 0, ErrorCode::invalid_argument, "group is {}", group);
  }

  void infer(InferContext& c) const {
    c.set(0, DType::i32);
    c.set(0, DType::i32, convolved_shape(c, *this, group));
  }

  size_t scratch(const RunContext& c) const { return Memory(c, sizes(c), nullptr).bytes; }

  void run(RunContext& c) const {
    const Sizes s = sizes(c);
    const Memory memory(c, s, static_cast<char*>(c.scratch()));
    const ZeroPoints x_zero(c, kXZero, 1, "x_zero_point"), w_zero(c, kWZero, size_t(s.out_c), "w_zero_point");
    for (size_t o = 0; o < s.out_c; ++o)
      widen(c.data(kW), c.dtype(kW), o * s.depth, s.depth, w_zero.at(o), memory.weights + o * s.depth);
    const size_t groups = size_t(group), group_in = s.in_c / groups, group_out = s.out_c / groups;
    for (size_t n = 0; n < s.batch && !c.parallel().cancelled(); ++n) {
      widen(c.data(kX), c.dtype(kX), n * s.in_c * s.in_px, s.in_c * s.in_px, x_zero.at(0), memory.image);
      for (size_t g = 0; g < groups; ++g) {
        gather(s, memory.image + g * group_in * s.in_px, group_in, memory.patches, c.parallel());
        pack_exact(memory.patches, s.out_px, 1, s.depth, s.out_px, memory.packed);
        int32_t* y = c.output<int32_t>().data() + (n * s.out_c + g * group_out) * s.out_px;
        multiply_exact(group_out, s.out_px, s.depth, memory.weights + g * group_out * s.depth, memory.packed, y,
                       memory.work, c.parallel());
      }
    }
  }

 private:
  struct Sizes {
    Window window;
    size_t batch, in_c, out_c, in_px, out_px, depth;  // depth: channels of a group times taps
  };

  Sizes sizes(const RunContext& c) const {
    const Shape &x = c.shape(kX), &w = c.shape(kW), &y = c.out_shape();
    const Window win =
        resolve_window(*this, {x.begin() + 2, x.end()}, {w.begin() + 2, w.end()}, {y.begin() + 2, y.end()});
    return {win,
            size_t(x[0]),
            size_t(x[1]),
            size_t(w[0]),
            size_t(win.in_pixels()),
            size_t(win.out_pixels()),
            checked_mul(size_t(w[1]), size_t(win.taps()), "weights")};
  }

  // The scratch memory; with a null base only its size.
  struct Memory {
    float *weights, *image, *patches, *work;
    void* packed;
    size_t bytes = 0;
    Memory(const RunContext& c, const Sizes& s, char* base) {
      const auto take = [&](size_t size) {
        char* at = base ? base + bytes : nullptr;
        bytes = checked_add(bytes, round_up(size, 64), "working memory");
        return at;
      };
      const auto floats = [&](size_t rows, size_t columns) {
        return reinterpret_cast<float*>(
            take(checked_mul(checked_mul(rows, columns, "elements"), sizeof(float), "elements")));
      };
      weights = floats(c.count(kW), 1);
      image = floats(s.in_c, s.in_px);
      patches = floats(s.depth, s.out_px);
      work = floats(s.out_c, s.out_px);
      packed = take(exact_packed_bytes(s.depth, s.out_px));
    }
  };

  // [channels · taps, output pixels] of one group; 0 outside the image.
  static void gather(const Sizes& s, const float* image, size_t channels, float* patches, const Parallel& run) {
    const WindowAxis& last = s.window.axes[s.window.rank - 1];
    Window lines = s.window;  // a position of it is a line of positions
    --lines.rank;
    const size_t taps = size_t(s.window.taps());
    std::fill_n(patches, s.depth * s.out_px, 0.0f);
    for_each_position(lines, run, [&](int64_t line, std::span<const int64_t> at) {
      for_each_tap(lines, at, [&](int64_t outer_tap, int64_t row) {
        for (int64_t k = 0; k < last.kernel; ++k) {
          const size_t tap = size_t(outer_tap * last.kernel + k);
          for (size_t i = 0; i < channels; ++i)
            copy_line(last, k, image + i * s.in_px + row * last.in,
                      patches + (i * taps + tap) * s.out_px + line * last.out);
        }
      });
    });
  }
  // to[o] = line[at(o, k)] where that is inside.
  static void copy_line(const WindowAxis& axis, int64_t k, const float* line, float* to) {
    const int64_t begin = axis.at(0, k);
    const int64_t first = begin < 0 ? std::min(ceil_div(-begin, axis.stride), axis.out) : 0;
    const int64_t end = begin < axis.in ? std::min(ceil_div(axis.in - begin, axis.stride), axis.out) : 0;
    for (int64_t o = first; o < end; ++o) to[o] = line[begin + o * axis.stride];
  }
};

}  // namespace

extern const OpDef op_conv_integer;
constinit const OpDef op_conv_integer = define<ConvInteger>({
    .name = "ConvInteger",
    .since = {10},
    .inputs = {"x: T", "w: U", "x_zero_point: T?", "w_zero_point: U?"},
    .outputs = {"y: int32"},
    .types = types({DType::i8, DType::u8}),
});

}  // namespace retort::ops
