// AveragePool: mean of a window. Padding counts as zeros if count_include_pad is set; elements beyond the padding
// (ceil_mode) never count.
#include "ops/nn/common/pool_kernel.h"

namespace retort::ops {
namespace {

struct AveragePool : PoolAttributes {
  bool count_include_pad = false;
  static constexpr auto attributes =
      std::tuple_cat(pool_attributes, std::tuple{attr("count_include_pad", &AveragePool::count_include_pad)});

  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(0, c.dtype(0), pooled_shape(c, *this, ceil_mode));
  }

  // Number of elements of the window at `at` that lie inside the input and the padding that the model asked for.
  int64_t padded_taps(const Window& w, std::span<const int64_t> at) const {
    int64_t count = 1;
    for (size_t d = 0; d < w.rank; ++d) {
      const WindowAxis& a = w.axes[d];
      const bool explicit_pads = (auto_pad == "NOTSET" || auto_pad.empty()) && !pads.empty();
      const int64_t end = a.in + (explicit_pads ? pads[d + w.rank] : auto_pad.starts_with("SAME") ? a.pad_end : 0);
      int64_t inside = 0;
      for (int64_t k = 0; k < a.kernel; ++k) inside += a.at(at[d], k) < end;
      count *= inside;
    }
    return count;
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const Window w = window(c);
    for_each_plane<T>(c, w, [&](const T* x, T* y) {
      for_each_position(w, c.parallel(), [&](int64_t p, std::span<const int64_t> at) {
        double sum = 0;
        int64_t count = 0;
        for_each_tap(w, at, [&](int64_t, int64_t pixel) {
          sum += x[pixel];
          ++count;
        });
        if (count_include_pad) count = padded_taps(w, at);
        y[p] = count ? T(sum / double(count)) : T(0);
      });
    });
  }

  void fast(RunContext& c, std::type_identity<float>) const {
    const size_t rank = c.shape(0).rank();
    if (rank < 3 || rank > 5 || may_leave_out(*this)) return reference<float>(c);
    using enum kernels::PoolKind;
    kernels::pool_nchw(pool_arguments(c, *this, count_include_pad ? average_include_pad : average, false),
                       c.parallel());
  }
};

}  // namespace

extern const OpDef op_average_pool;
constinit const OpDef op_average_pool = define<AveragePool>({
    .name = "AveragePool",
    .since = {1, 7, 10, 11, 19, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T"},
    .types = kFloats,
});

}  // namespace retort::ops
