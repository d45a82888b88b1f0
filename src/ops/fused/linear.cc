// retort.Linear: act(A · (W ∘ S) + B + R) for A [..., K] and a constant W, [K, N] or with trans_b [N, K]; S, [N] and
// constant, multiplies the columns of W. Of W and S only the packed weights are kept.
#include "ops/fused/common/activation.h"
#include "ops/nn/common/matrix.h"

namespace retort::ops {
namespace {

struct Linear : ActivationAttributes {
  bool trans_b = false;
  static constexpr auto attributes =
      std::tuple_cat(activation_attributes, std::tuple{attr("trans_b", &Linear::trans_b)});
  enum Input : size_t { kA, kW, kBias, kResidual, kFactors };

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kA));
    const Shape &a = c.shape(kA), &w = c.shape(kW);
    if (!(w.rank() == 2 && a.rank() > 0))
      fail(ErrorCode::invalid_argument, "shapes {} and {}", c.dims().text(a), c.dims().text(w));
    const Dim k = w[trans_b ? 1 : 0];
    if (!(!is_known(a.back()) || a.back() == k))
      fail(ErrorCode::invalid_argument, "shapes {} and {} cannot be multiplied", c.dims().text(a), c.dims().text(w));
    Shape y = a;
    y[a.rank() - 1] = w[trans_b ? 0 : 1];
    c.set(0, c.dtype(kA), y);
  }
  Cost cost(const CostContext& c) const {
    Cost cost = product_cost(c, c.extent(kA, -1));
    if (c.has(kBias)) cost.operations = c.out_count();
    return cost;
  }

  std::unique_ptr<State> prepare(PrepareContext& c) const {
    const Tensor* w = c.unaligned_constant(kW);
    require(w && w->dtype() == DType::f32, ErrorCode::invalid_graph, "retort.Linear needs constant float weights");
    const size_t k = size_t(w->shape()[trans_b ? 1 : 0]), n = size_t(w->shape()[trans_b ? 0 : 1]);
    const Tensor* factors = c.constant(kFactors);
    require(!c.has(kFactors) || (factors && factors->dtype() == DType::f32 && factors->count() == n),
            ErrorCode::invalid_graph, "retort.Linear needs {} constant float factors of its columns", n);
    c.release(kW);
    c.release(kFactors);
    return pack_matrices(c, *w, 1, k, n, trans_b ? Strides{1, k} : Strides{n, 1},
                         factors ? factors->data<float>() : nullptr);
  }

  bool reads_rows(const RunContext& c, size_t i) const {
    return i == kA || (i == kResidual && c.has(i) && c.shape(i).back() == c.out_shape().back());
  }
  bool writes_rows(const RunContext&) const { return true; }

  kernels::GemmArgs arguments(const RunContext& c) const {
    kernels::GemmArgs g;
    g.k = size_t(c.shape(kA).back());
    g.n = size_t(c.out_shape().back());
    g.m = size_t(extent_product(c.shape(kA), 0, c.shape(kA).rank() - 1));
    g.a = static_cast<const float*>(c.data(kA));
    g.a_stride = c.row_step(kA);
    g.c = static_cast<float*>(c.out_data());
    g.c_stride = c.out_row_step();
    g.epilogue.bias = c.optional<float>(kBias);
    g.epilogue.residual = c.optional<float>(kResidual);
    g.epilogue.residual_stride = reads_rows(c, kResidual) ? c.row_step(kResidual) : g.n;
    g.epilogue.activation = value();
    if (const auto* packed = c.state<PackedMatrices>()) g.packed_b = packed->matrix(0);
    const bool fits = (!c.has(kBias) || c.count(kBias) == g.n) && (!c.has(kFactors) || c.count(kFactors) == g.n) &&
                      (!c.has(kResidual) || c.count(kResidual) == c.out_count());
    require(fits, ErrorCode::invalid_argument, "the bias, factors or residual do not match {}", c.out_shape());
    return g;
  }
  size_t scratch(const RunContext& c) const {
    const kernels::GemmArgs g = arguments(c);
    const auto* packed = c.state<PackedMatrices>();
    return packed ? product_scratch(g.m, g.n, g.k, *packed, c.parallel().workers()) : 0;
  }
  void fast(RunContext& c, std::type_identity<float>) const {
    multiply_packed(arguments(c), *c.state<PackedMatrices>(), c.parallel(), c.scratch());
  }
  template <std::same_as<float> T>
  void reference(RunContext& c) const {
    const kernels::GemmArgs g = arguments(c);
    const auto w = c.input<T>(kW);
    std::vector<T> scaled;
    if (c.has(kFactors)) {
      scaled.assign(w.begin(), w.end());
      for (size_t i = 0; i < scaled.size(); ++i) scaled[i] *= c.input<T>(kFactors)[trans_b ? i / g.k : i % g.n];
    }
    kernels::gemm_reference(g.m, g.n, g.k, g.a, g.a_stride, scaled.empty() ? w.data() : scaled.data(),
                            trans_b ? 1 : g.n, trans_b ? g.k : 1, g.c, g.c_stride, g.epilogue);
  }
};

}  // namespace

extern const OpDef op_linear;
constinit const OpDef op_linear = define<Linear>({
    .name = "Linear",
    .domain = "retort",
    .inputs = {"A: T", "W: T", "B: T?", "R: T?", "S: T?"},
    .outputs = {"Y: T"},
    .types = types({DType::f32}),
    .traits = kInternal,
    .in_place = {{{0, 3}}},
});

}  // namespace retort::ops
