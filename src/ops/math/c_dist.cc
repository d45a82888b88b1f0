// com.microsoft.CDist: the distance, squared or not, of each row of A from each row of B. Differences are squared as
// they are, so that rows that lie close together and far from the origin keep their digits.
#include <cmath>

#include "kernels/distance/distance.h"
#include "kernels/elementwise/chunks.h"
#include "kernels/elementwise/unary.h"
#include "kernels/gemm/gemm.h"
#include "ops/op.h"

namespace retort::ops {
namespace {

struct CDist {
  std::string metric = "sqeuclidean";
  static constexpr std::tuple attributes{attr("metric", &CDist::metric)};

  void check() const {
    require(metric == "sqeuclidean" || metric == "euclidean", ErrorCode::not_implemented,
            "metric \"{}\"; sqeuclidean and euclidean are there", metric);
  }
  void infer(InferContext& c) const {
    c.set(0, c.dtype(0));
    const Shape &a = c.shape(0), &b = c.shape(1);
    require(a.rank() == 2 && b.rank() == 2 && may_equal(a[1], b[1]), ErrorCode::invalid_argument,
            "A and B of shapes {} and {}, expected matrices with rows of one length", c.dims().text(a),
            c.dims().text(b));
    require(!is_known(a[1]) || a[1] > 0, ErrorCode::invalid_argument, "rows of A have no elements");
    c.set(0, c.dtype(0), {a[0], b[0]});
  }
  Cost cost(const CostContext& c) const {
    const double sums = c.out_count() * c.extent(0, 1);
    return {.multiply_adds = sums, .operations = sums + (metric == "euclidean" ? c.out_count() : 0)};
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const size_t width = size_t(c.shape(0)[1]), columns = size_t(c.shape(1)[0]);
    c.parallel().for_each(size_t(c.shape(0)[0]), [&](size_t i, int) {
      const T *a = c.input<T>(0).data() + i * width, *b = c.input<T>(1).data();
      T* y = c.output<T>().data() + i * columns;
      for (size_t j = 0; j < columns; ++j, b += width) {
        T sum = 0;
        for (size_t k = 0; k < width; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
        y[j] = metric == "euclidean" ? std::sqrt(sum) : sum;
      }
    });
  }

  size_t scratch(const RunContext& c) const {
    if (c.dtype(0) != DType::f32) return 0;
    return std::max<size_t>(kernels::gemm_packed_bytes(size_t(c.shape(1)[1]), size_t(c.shape(1)[0])), 64);
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    const size_t width = size_t(c.shape(0)[1]), columns = size_t(c.shape(1)[0]);
    auto* const packed = static_cast<float*>(c.scratch());
    kernels::gemm_pack_b(c.input<float>(1).data(), 1, width, width, columns, packed);
    // Parts of A take long enough to be claimed one by one, and are whole tiles of four rows.
    const size_t part = std::max<size_t>(4, kernels::kChunk / std::max<size_t>(columns * width, 1) / 4 * 4);
    const auto some = [&](size_t row, size_t end) {
      const size_t rows = end - row;
      float* const y = c.output<float>().data() + row * columns;
      kernels::squared_distances({.m = rows,
                                  .n = columns,
                                  .k = width,
                                  .a = c.input<float>(0).data() + row * width,
                                  .packed_b = packed,
                                  .c = y});
      const std::span<float> all(y, rows * columns);
      if (metric == "euclidean") kernels::unary({kernels::Unary::Kind::sqrt}, all, all, {});
    };
    kernels::for_chunks(c.parallel(), size_t(c.shape(0)[0]), some, part);
  }
};

}  // namespace

extern const OpDef op_c_dist;
constinit const OpDef op_c_dist = define<CDist>({
    .name = "CDist",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {"A: T", "B: T"},
    .outputs = {"C: T"},
    .types = types({DType::f32, DType::f64}),
});

}  // namespace retort::ops
