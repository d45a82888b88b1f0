// MatMul, Gemm, and their variants of com.microsoft.
#include "products.h"
#include "elementwise_loops.h"

#include <algorithm>

namespace providers::cuda {
namespace {

// The struct of kernels/products.cu.
struct Spread {
  int64_t count;
  int64_t extents[8], strides_d[8], strides_c[8];
  int32_t rank;
  float beta, a, b;
};

void fill_strides(const Dims& dims, const Dims& whole, int64_t (&strides)[8]) {
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i + whole.size() - dims.size()] = dims[i] == 1 ? 0 : step;
    step *= dims[i];
  }
}

// Whether the addend is one number for each column.
bool is_bias(const Operand& c, const Dims& dims) {
  return !dims.empty() && !c.dims.empty() && c.dims.back() == dims.back() && int64_t(c.count()) == dims.back() &&
         c.dims.size() <= dims.size();
}

}  // namespace

void ProductOp::emit(Emitter& e) const {
  Dims a = e.look(0).dims, b = e.look(1).dims;
  if (a.empty() || b.empty()) e.fail("a scalar is not a matrix; both operands need one axis at least");
  if (plain_matrices && (a.size() != 2 || b.size() != 2)) e.fail("A and B must have two axes");
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  const Side left = side_of(a, transposed_a && !row, batch_first_a);
  const Side right = side_of(b, transposed_b && !column, batch_first_b);
  if (left.columns != right.rows)
    e.fail(text("A has ", left.columns, " columns, B has ", right.rows, " rows; both must be equal"));
  const auto batch = broadcast_dims(left.batch, right.batch);
  if (!batch) e.fail("the leading axes of A and B do not broadcast");
  Dims dims = *batch;
  if (!row) dims.push_back(left.rows);
  if (!column) dims.push_back(right.columns);
  auto set = product_set(left, right, *batch);
  if (!set) e.fail("the order of an operand's elements is not that of a matrix");
  set->product.tf32 = tf32;
  emit_spread(e, *set, dims);
}

// Adds the products, and what is added to them.
void ProductOp::emit_spread(Emitter& e, const ProductSet& set, const Dims& dims) const {
  const Operand a = e.in(0), b = e.in(1);
  const Type type = result == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED ? a.type : result;
  Ending ending{alpha, beta, {}, {}, activated, {}, {}, {}, wide};
  if (scale_a >= 0 && e.has(size_t(scale_a))) ending.scale_a = e.in(size_t(scale_a));
  if (scale_b >= 0 && e.has(size_t(scale_b))) ending.scale_b = e.in(size_t(scale_b));
  if (bias >= 0 && e.has(size_t(bias))) {
    ending.bias = e.in(size_t(bias));
    if (!is_bias(*ending.bias, dims) || dims.back() != set.product.n)
      e.fail(text("the bias has shape ", shape_text(ending.bias->dims), ", the product ", shape_text(dims)));
  }
  if (scale_d >= 0) ending.scale_d = e.in(size_t(scale_d));
  if (addend < 0 || !e.has(size_t(addend)) || beta == 0)
    return emit_products(e, set, a, b, e.out(0, type, dims), ending);
  const Operand c = e.in(size_t(addend));
  const auto whole = broadcast_dims(dims, c.dims);
  if (!whole || (plain_matrices && *whole != dims))
    e.fail(text("what is added has shape ", shape_text(c.dims), ", the product ", shape_text(dims)));
  const Operand d = e.out(0, type, *whole);
  if (d.count() == 0) return;
  if (*whole == dims && padded(c.dims, dims.size()) == dims) {
    ending.addend = c;
    return emit_products(e, set, a, b, d, ending);
  }
  if (*whole == dims && beta == 1 && !ending.bias && is_bias(c, dims) && dims.back() == set.product.n) {
    ending.bias = c;
    return emit_products(e, set, a, b, d, ending);
  }
  if (whole->size() > 8) e.fail(text("an addend of ", whole->size(), " axes, at most 8"));
  // The product is made alone, then both are broadcast.
  Operand product = d;
  if (*whole != dims) {
    int64_t count = 1;
    for (const int64_t extent : dims) count *= extent;
    product = e.scratch(size_t(count) * size_of(type));
    product.type = type;
    product.dims = dims;
  }
  ending.activated = {};
  emit_products(e, set, a, b, product, ending);
  Spread shape{};
  shape.count = int64_t(d.count());
  shape.rank = int32_t(whole->size());
  std::copy(whole->begin(), whole->end(), shape.extents);
  fill_strides(dims, *whole, shape.strides_d);
  fill_strides(c.dims, *whole, shape.strides_c);
  shape.beta = beta;
  shape.a = activated.a;
  shape.b = activated.b;
  const Kernel kernel =
      product_kernel(e, "products.cu", "finish_spread", {{"ELEMENT", kernel_type(d.type)}}, activated);
  e.launch(kernel, flat_grid(d.count()), {d, product, c, Argument::of(shape)});
}

std::string refuses_product_type(const Value* value) {
  switch (value ? value->type : ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
      return "";
    default:
      return text("no product of ", value ? name_of(value->type) : "nothing");
  }
}

std::optional<Activated> activation_of(const std::string& name, float alpha, float beta, float gamma) {
  if (name.empty()) return Activated{};
  if (name == "Relu") return Activated{Act::relu};
  if (name == "Tanh") return Activated{Act::tanh};
  if (name == "Sigmoid") return Activated{Act::sigmoid};
  if (name == "LeakyRelu") return Activated{Act::leaky_relu, alpha};
  if (name == "Elu") return Activated{Act::elu, alpha};
  if (name == "HardSigmoid") return Activated{Act::hard_sigmoid, alpha, beta};
  if (name == "Selu") return Activated{Act::selu, alpha, gamma};
  if (name == "Softplus") return Activated{Act::softplus};
  if (name == "Softsign") return Activated{Act::softsign};
  if (name == "ThresholdedRelu") return Activated{Act::thresholded_relu, alpha};
  if (name == "Celu") return Activated{Act::celu, alpha};
  if (name == "ScaledTanh") return Activated{Act::scaled_tanh, alpha, beta};
  return std::nullopt;
}

namespace {

// Squares of elements, so that reading and writing both use whole lines of the cache.
template <typename T>
void exchange(const char* from, char* to, int64_t rows, int64_t columns) {
  constexpr int64_t kSquare = 32;
  const auto* x = reinterpret_cast<const T*>(from);
  auto* y = reinterpret_cast<T*>(to);
  for (int64_t r0 = 0; r0 < rows; r0 += kSquare)
    for (int64_t c0 = 0; c0 < columns; c0 += kSquare)
      for (int64_t c = c0; c < std::min(columns, c0 + kSquare); ++c)
        for (int64_t r = r0; r < std::min(rows, r0 + kSquare); ++r) y[c * rows + r] = x[r * columns + c];
}

}  // namespace

bool may_be_few(const Value* a) {
  if (!a || !a->has_rank) return true;
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < a->dims.size(); ++i) {
    if (a->dims[i] < 0) return true;
    rows *= a->dims[i];
  }
  return rows <= kFewRows;
}

std::vector<char> exchanged_matrix(const TensorView& view) {
  const int64_t rows = view.dims[0], columns = view.dims[1];
  std::vector<char> made(view.bytes());
  const auto* from = static_cast<const char*>(view.data);
  if (size_of(view.type) == 1)
    exchange<uint8_t>(from, made.data(), rows, columns);
  else if (size_of(view.type) == 2)
    exchange<uint16_t>(from, made.data(), rows, columns);
  else if (size_of(view.type) == 4)
    exchange<uint32_t>(from, made.data(), rows, columns);
  else
    exchange<uint64_t>(from, made.data(), rows, columns);
  return made;
}

int number_of_weights(Builder& builder, const Value* a, const Value* b, bool& transposed) {
  if (!b || !b->constant || b->rank() != 2 || !b->fixed() || b->dims[1] <= 8) return builder.number(b);
  const size_t size = size_of(b->type);
  if (size != 2 && size != 4 && size != 8) return builder.number(b);
  const bool rows_are_whole = b->dims[1] * int64_t(size) % 16 == 0,
             columns_are_whole = b->dims[0] * int64_t(size) % 16 == 0;
  const bool few = !transposed && may_be_few(a) && (b->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || size == 2);
  if (!columns_are_whole || (rows_are_whole && !few)) return builder.number(b);
  transposed = !transposed;
  return builder.packed(b, "exchanged", b->type, {b->dims[1], b->dims[0]}, exchanged_matrix);
}

namespace {

std::unique_ptr<ProductOp> product_op(const Node& node, Builder& builder) {
  auto op = std::make_unique<ProductOp>();
  op->who = node.who();
  op->transposed_a = node.integer("transA", 0) != 0;
  op->transposed_b = node.integer("transB", 0) != 0;
  for (size_t i = 0; i < node.in.size(); ++i)
    op->in.push_back(i == 1 ? number_of_weights(builder, node.in[0], node.in[1], op->transposed_b)
                            : builder.number(node.in[i]));
  for (const Value* v : node.out) op->out.push_back(builder.number(v));
  op->tf32 = builder.setting("use_tf32");
  return op;
}

std::string refuses_matmul(const Node& node, const Claiming&) { return refuses_product_type(node.input(0)); }

std::unique_ptr<Op> make_matmul(const Node& node, Builder& builder) { return product_op(node, builder); }

std::unique_ptr<Op> make_fused_matmul(const Node& node, Builder& builder) {
  auto op = product_op(node, builder);
  op->alpha = node.number("alpha", 1);
  op->batch_first_a = node.integer("transBatchA", 0) != 0;
  op->batch_first_b = node.integer("transBatchB", 0) != 0;
  return op;
}

bool is_integer(const Value* value) {
  return value && value->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT &&
         value->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 &&
         value->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 && value->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
}
bool is_whole(float value) { return value == float(int32_t(value)); }

std::optional<Activated> activation_of_node(const Node& node) {
  return activation_of(node.string("activation", ""), node.number("activation_alpha", 0),
                       node.number("activation_beta", 0), node.number("activation_gamma", 0));
}

std::string refuses_gemm(const Node& node, const Claiming&) {
  const std::string why = refuses_product_type(node.input(0));
  if (!why.empty()) return why;
  if (is_integer(node.input(0)) && (!is_whole(node.number("alpha", 1)) || !is_whole(node.number("beta", 1))))
    return "a product of integers with a fraction as a factor";
  if (node.type != "FusedGemm") return "";
  if (is_integer(node.input(0))) return "an activation of integers";
  return activation_of_node(node) ? "" : text("activation '", node.string("activation", ""), "' is not known");
}

std::unique_ptr<Op> make_gemm(const Node& node, Builder& builder) {
  auto op = product_op(node, builder);
  op->alpha = node.number("alpha", 1);
  op->beta = node.number("beta", 1);
  op->addend = 2;
  op->plain_matrices = true;
  if (node.type == "FusedGemm") op->activated = *activation_of_node(node);
  return op;
}

std::string refuses_gelu(const Node& node, const Claiming&) {
  return is_integer(node.input(0)) ? "an activation of integers" : refuses_product_type(node.input(0));
}
std::unique_ptr<Op> make_gemm_fast_gelu(const Node& node, Builder& builder) {
  auto op = product_op(node, builder);
  op->bias = 2;
  op->activated = {Act::gelu_tanh};
  return op;
}

}  // namespace

void add_products(Kinds& kinds) {
  kinds[{"", "MatMul"}] = {refuses_matmul, make_matmul};
  kinds[{"", "Gemm"}] = {refuses_gemm, make_gemm};
  kinds[{"com.microsoft", "FusedMatMul"}] = {refuses_matmul, make_fused_matmul};
  kinds[{"com.microsoft", "FusedGemm"}] = {refuses_gemm, make_gemm};
  kinds[{"com.microsoft", "GemmFastGelu"}] = {refuses_gelu, make_gemm_fast_gelu};
  add_code_products(kinds);
  add_dynamic_codes(kinds);
  add_einsum(kinds);
}

}  // namespace providers::cuda
