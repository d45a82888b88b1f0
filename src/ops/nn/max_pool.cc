// MaxPool: largest element of a window, and optionally its index in the flattened input. Of equal elements, the first
// is chosen; NaN is larger than all others.
#include <algorithm>
#include <bit>
#include <limits>

#include "base/checked.h"
#include "ops/nn/common/pool_kernel.h"

namespace retort::ops {
namespace {

struct MaxPool : PoolAttributes {
  int storage_order = 0;
  static constexpr auto attributes =
      std::tuple_cat(pool_attributes, std::tuple{attr("storage_order", &MaxPool::storage_order)});

  void check() const {
    PoolAttributes::check();
    require(storage_order == 0 || storage_order == 1, ErrorCode::invalid_argument,
            "storage_order is {}, expected 0 (row by row) or 1 (column by column)", storage_order);
  }
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    c.set(1, DType::i64);
    const Shape y = pooled_shape(c, *this, ceil_mode);
    c.set(0, c.dtype(0), y);
    c.set(1, DType::i64, y);
  }

  // The index of `pixel` if spatial axes are stored in column-major order (storage_order 1).
  static int64_t column_major(const Window& w, int64_t pixel) {
    int64_t index = 0, scale = w.in_pixels();
    for (size_t d = w.rank; d-- > 0; pixel /= w.axes[d].in) {
      scale /= w.axes[d].in;
      index += pixel % w.axes[d].in * scale;
    }
    return index;
  }

  // NaN is the largest of all.
  template <typename T>
  static bool exceeds(T x, T best) {
    if constexpr (std::is_floating_point_v<T>) return x > best || (std::isnan(x) && !std::isnan(best));
    return x > best;
  }

  template <typename T>
  void reference(RunContext& c) const {
    const Window w = window(c);
    int64_t* indices = c.wants(1) ? c.output<int64_t>(1).data() : nullptr;
    const T* start = c.input<T>(0).data();
    using Limits = std::numeric_limits<T>;
    // The result for a window without pixels.
    const T least = Limits::has_infinity ? T(-Limits::infinity()) : Limits::lowest();
    for_each_plane<T>(c, w, [&](const T* x, T* y) {
      for_each_position(w, c.parallel(), [&](int64_t p, std::span<const int64_t> at) {
        int64_t best = -1;
        for_each_tap(w, at, [&](int64_t, int64_t pixel) {
          if (best < 0 || exceeds(x[pixel], x[best])) best = pixel;
        });
        y[p] = best < 0 ? least : x[best];
        if (indices) *indices++ = (x - start) + (storage_order == 1 && best >= 0 ? column_major(w, best) : best);
      });
    });
  }

  void fast(RunContext& c, std::type_identity<float>) const {
    const size_t rank = c.shape(0).rank();
    if (rank < 3 || rank > 5 || may_leave_out(*this)) return reference<float>(c);
    if (c.wants(1)) return take_indices(c);
    kernels::pool_nchw(pool_arguments(c, *this, kernels::PoolKind::max, false), c.parallel());
  }

  // A task is a plane; the windows of a line take one tap after the other, in the order of the reference.
  void take_indices(RunContext& c) const {
    const Window w = window(c);
    const auto in = size_t(w.in_pixels()), out = size_t(w.out_pixels());
    if (out == 0) return;
    const int64_t stride = w.axes[w.rank - 1].stride;
    c.parallel().for_each(c.out_count() / out, [&](size_t plane, int) {
      const float* x = c.input<float>(0).data() + plane * in;
      float* best = c.output<float>().data() + plane * out;
      int64_t* index = c.output<int64_t>(1).data() + plane * out;
      std::fill_n(best, out, -std::numeric_limits<float>::infinity());
      std::fill_n(index, out, -1);
      for_each_line(w, 0, int64_t(out), int64_t(out), [&](int64_t p, int64_t n) {
        for_each_tap_of_line(w, p, n, [&](int64_t, int64_t pixel, int64_t j0, int64_t j1) {
          for (int64_t j = j0; j < j1; ++j) {
            const int64_t at = pixel + j * stride;
            const float most = best[p + j];  // exceeds() without branches, which processors mispredict
            const uint32_t take = -uint32_t((index[p + j] < 0) | (!(x[at] <= most) & (most == most)));
            best[p + j] =
                std::bit_cast<float>((std::bit_cast<uint32_t>(x[at]) & take) | (std::bit_cast<uint32_t>(most) & ~take));
            index[p + j] += (at - index[p + j]) & int64_t(int32_t(take));
          }
        });
      });
      for (size_t i = 0; i < out; ++i)
        index[i] = int64_t(plane * in) + (storage_order == 1 && index[i] >= 0 ? column_major(w, index[i]) : index[i]);
    });
  }

  // Loops that the compiler vectorises.
  template <typename T>
  static void take_largest(const T* x, int64_t stride, size_t n, T* y) {
    if (stride == 1) {
      for (size_t i = 0; i < n; ++i) y[i] = std::max(y[i], x[i]);
    } else if (stride == 2) {
      for (size_t i = 0; i < n; ++i) y[i] = std::max(y[i], x[2 * i]);
    } else {
      for (size_t i = 0; i < n; ++i) y[i] = std::max(y[i], x[int64_t(i) * stride]);
    }
  }
  // Codes: first the largest of each column of a window's rows, then of the columns.
  template <typename T>
  void of_codes(RunContext& c) const {
    constexpr int64_t kWidth = 2048;
    const Window w = window(c);
    if (c.wants(1) || w.rank != 2 || w.axes[1].in > kWidth || may_leave_out(*this)) return reference<T>(c);
    const WindowAxis &v = w.axes[0], &h = w.axes[1];
    const size_t in = size_t(w.in_pixels()), out = size_t(w.out_pixels());
    if (out == 0) return;
    c.parallel().for_each(c.out_count() / out, [&](size_t plane, int) {
      const T* x = c.input<T>(0).data() + plane * in;
      T* y = c.output<T>().data() + plane * out;
      T columns[kWidth];
      for (int64_t i = 0; i < v.out; ++i, y += h.out) {
        std::fill_n(columns, h.in, std::numeric_limits<T>::lowest());
        for (int64_t k = 0; k < v.kernel; ++k) {
          if (v.inside(v.at(i, k))) take_largest(x + v.at(i, k) * h.in, 1, size_t(h.in), columns);
        }
        std::fill_n(y, h.out, std::numeric_limits<T>::lowest());
        for (int64_t k = 0; k < h.kernel; ++k) {
          const int64_t first = h.at(0, k);  // the tap of window j is at first + j · stride
          const int64_t begin = first >= 0 ? 0 : ceil_div(-first, h.stride);
          const int64_t end = std::min(h.out, ceil_div(std::max<int64_t>(h.in - first, 0), h.stride));
          take_largest(columns + first + begin * h.stride, h.stride, size_t(std::max<int64_t>(end - begin, 0)),
                       y + begin);
        }
      }
    });
  }
  void fast(RunContext& c, std::type_identity<uint8_t>) const { of_codes<uint8_t>(c); }
  void fast(RunContext& c, std::type_identity<int8_t>) const { of_codes<int8_t>(c); }
};

}  // namespace

extern const OpDef op_max_pool;
constinit const OpDef op_max_pool = define<MaxPool>({
    .name = "MaxPool",
    .since = {1, 8, 10, 11, 12, 22},
    .inputs = {"X: T"},
    .outputs = {"Y: T", "Indices: int64?"},
    .types = kFloats | types({DType::i8, DType::u8}),
});

}  // namespace retort::ops
