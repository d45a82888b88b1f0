// Derivatives of MatMul and Gemm.
#include "lift/gradient/backward.h"

namespace retort::gradient {
namespace {

/// The matrices with their last two axes exchanged.
Term flipped(Backward& b, Term t) {
  const size_t rank = b.rank(t);
  std::vector<int64_t> perm(rank);
  for (size_t d = 0; d < rank; ++d) perm[d] = int64_t(d);
  std::swap(perm[rank - 2], perm[rank - 1]);
  return b.transposed(t, perm);
}

// A vector counts as a row on the left and as a column on the right; the product then lacks that axis.
void matmul(Backward& b) {
  const bool row = b.rank(b.x(0)) == 1, column = b.rank(b.x(1)) == 1;
  const Term left = row ? b.call("Unsqueeze", {b.x(0), b.ints({0})}) : b.x(0);
  const Term right = column ? b.call("Unsqueeze", {b.x(1), b.ints({1})}) : b.x(1);
  Term dy = b.dy();
  if (column) dy = b.call("Unsqueeze", {dy, b.ints({-1})});
  if (row) dy = b.call("Unsqueeze", {dy, b.ints({-2})});
  const auto give = [&](size_t i, Term part, Term like, bool vector) {
    const Term sum = b.summed_to(part, like);
    b.give(i, vector ? b.reshaped(sum, b.shape(b.x(i))) : sum);
  };
  if (b.wants(0)) give(0, b.call("MatMul", {dy, flipped(b, right)}), left, row);
  if (b.wants(1)) give(1, b.call("MatMul", {flipped(b, left), dy}), right, column);
}

void gemm(Backward& b) {
  const int64_t trans_a = b.attribute("transA", int64_t(0)) != 0, trans_b = b.attribute("transB", int64_t(0)) != 0;
  const float alpha = b.attribute("alpha", 1.0f), beta = b.attribute("beta", 1.0f);
  const auto product = [&](Term l, Term r, int64_t left, int64_t right) {
    return b.call("Gemm", {l, r}, {{"alpha", alpha}, {"transA", left}, {"transB", right}});
  };
  const Term dy = b.dy(), left = b.x(0), right = b.x(1);
  if (b.wants(0)) b.give(0, trans_a ? product(right, dy, trans_b, 1) : product(dy, right, 0, 1 - trans_b));
  if (b.wants(1)) b.give(1, trans_b ? product(dy, left, 1, trans_a) : product(left, dy, 1 - trans_a, 0));
  if (b.wants(2)) b.give(2, b.summed_to(beta == 1 ? dy : dy * double(beta), b.x(2)));
}

constexpr GradientRule kMatrixProductRules[] = {{"Gemm", gemm}, {"MatMul", matmul}};

}  // namespace

constinit const GradientRules kProductGradients{kMatrixProductRules};

}  // namespace retort::gradient
