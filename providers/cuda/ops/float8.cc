#include "float8.h"

#include <algorithm>
#include <cstring>

#include "elementwise.h"
#include "products.h"

namespace providers::cuda {
namespace {

// Sums of float8 products have fewer bits than float32 on a GPU, about those of TF32's.
constexpr int kFirstArchitecture = 89;  // Ada
constexpr int64_t kWhole = 16;          // bytes of a row, of codes and of results

bool has_one(const Value* scale) {
  return scale && scale->fixed() && (scale->rank() == 0 || (scale->rank() == 1 && scale->dims[0] == 1));
}
bool is_scale_type(Type type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ||
         type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;
}
// number_of_scale can make float32 of it.
bool is_scale(const Value* scale) {
  return scale && is_scale_type(scale->type) && (scale->constant || scale->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
}

// Types and shapes that cuBLASLt multiplies.
bool fits(const Float8Factors& f, bool by_rows) {
  const bool both_e5m2 = f.a->type == f.b->type && f.a->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2;
  if (both_e5m2 || !f.a->has_rank || f.a->rank() < 2 || !f.b->fixed() || f.b->rank() != 2) return false;
  if (!f.b->constant && !by_rows) return false;  // a constant is exchanged once
  const int64_t n = f.b->dims[by_rows ? 0 : 1], k = f.b->dims[by_rows ? 1 : 0];
  return n > 0 && k > 0 && k % kWhole == 0 && n * int64_t(size_of(f.type)) % kWhole == 0;
}

bool scales_fit(const Float8Factors& f, const Node& dequantize_b, bool by_rows) {
  if (f.scale_a && (!is_scale(f.scale_a) || !has_one(f.scale_a))) return false;
  if (!f.scale_b || (is_scale(f.scale_b) && has_one(f.scale_b))) return true;
  const int64_t columns = by_rows ? 0 : 1, axis = dequantize_b.integer("axis", 1);
  return is_scale(f.scale_b) && f.scale_b->fixed() && f.scale_b->dims == Dims{f.b->dims[size_t(columns)]} &&
         (axis < 0 ? axis + 2 : axis) == columns && f.scale_a && f.scale_a->constant;
}

bool exchanges(const Node& transpose) {
  const Dims order = transpose.integers("perm", {1, 0});
  return order == Dims{1, 0};
}

std::vector<char> in_float32(const TensorView& view) {
  std::vector<float> numbers(view.count());
  const auto* const bits = static_cast<const uint16_t*>(view.data);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (view.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)
      numbers[i] = static_cast<const float*>(view.data)[i];
    else if (view.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16)
      numbers[i] = half_to_float(bits[i]);
    else {
      const uint32_t wide = uint32_t(bits[i]) << 16;
      std::memcpy(&numbers[i], &wide, 4);
    }
  }
  const auto* const bytes = reinterpret_cast<const char*>(numbers.data());
  return {bytes, bytes + numbers.size() * 4};
}

// Numbers of a matrix's codes, in the type of `like`.
Operand numbers_of(Emitter& e, const Operand& codes, int64_t columns, const std::optional<Operand>& scale, Type type) {
  Operand made = e.scratch(codes.count() * size_of(type));
  made.type = type;
  made.dims = codes.dims;
  const Kernel kernel =
      e.kernel("floats8.cu", "floats8_numbers", {{"CODE", kernel_type(codes.type)}, {"NUMBER", kernel_type(type)}});
  const int64_t each = scale && scale->count() > 1 ? columns : 0;
  e.launch(kernel, flat_grid(codes.count()), {codes, scale.value_or(Operand()), made, int64_t(codes.count()), each});
  return made;
}

// cuBLASLt has one kind of scale for both factors: where B has one for each column, A needs one for each row.
bool spread_scale(Emitter& e, const Product& p, Ending& ending) {
  if (!ending.scale_b || ending.scale_b->count() == 1) return true;
  const Operand& scale = *ending.scale_a;
  if (!scale.known || scale.known->reals.size() != 1) return false;
  const std::vector<float> rows(size_t(p.m), float(scale.known->reals[0]));
  Operand all = e.table(rows.data(), rows.size() * 4);
  all.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  all.dims = {p.m};
  ending.scale_a = all;
  return true;
}

}  // namespace

bool undoes(const Value* x, const Node& before, const Node& after) {
  const Value *const flat = before.out[0], *const y = after.out[0];
  if (after.type != "Reshape" || !after.domain.empty() || !x->has_rank || !flat->has_rank || !y->has_rank) return false;
  const size_t rank = x->rank();
  if (rank < 3 || y->rank() != rank || flat->rank() != 2 || x->dims.back() < 1 || y->dims.back() < 1) return false;
  // The product of the leading axes is the same before and after, so one of them may be unknown.
  const bool same = std::equal(x->dims.begin(), x->dims.end() - 1, y->dims.begin());
  return same && flat->dims[1] == x->dims.back() && std::count(x->dims.begin(), x->dims.end(), -1) <= 1;
}

int number_of_inverse(Builder& builder, const Value* scale) {
  return builder.packed(scale, "inverse in float32", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, scale->dims,
                        [](const TensorView& view) {
                          std::vector<char> made = in_float32(view);
                          auto* const numbers = reinterpret_cast<float*>(made.data());
                          for (size_t i = 0; i < view.count(); ++i) numbers[i] = 1 / numbers[i];
                          return made;
                        });
}

bool makes_codes(const Node& quantize, Type from) {
  const Value *const scale = quantize.input(1), *const codes = quantize.out[0];
  return quantize.domain.empty() && quantize.type == "QuantizeLinear" && codes &&
         codes->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN && size_of(from) == 2 && has_one(scale) &&
         scale->constant && is_scale_type(scale->type) && quantize.integer("saturate", 1) != 0 &&
         quantize.integer("block_size", 0) == 0;
}

int number_of_scale(Builder& builder, const Value* scale) {
  if (!scale) return -1;
  if (!scale->constant || scale->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return builder.number(scale);
  return builder.packed(scale, "float32", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, scale->dims, in_float32);
}

void emit_float8(Emitter& e, const ProductSet& set, const Operand& a, const Operand& b, const Operand& d,
                 const Ending& ending) {
  ProductSet typed = set;
  Product& p = typed.product;
  p.type = a.type;
  if (b.type != a.type) p.type_b = b.type;
  p.out = d.type;
  const bool to_codes = is_float8(d.type);
  if (to_codes) p.wide = ending.wide;
  Ending scaled = ending;
  const bool whole = p.k % kWhole == 0 && p.n * int64_t(size_of(p.out)) % kWhole == 0;
  if (whole && p.transposed_b && !p.transposed_a && spread_scale(e, p, scaled) &&
      emit_library(e, typed, a, b, d, scaled))
    return;
  // The numbers that the codes stand for, as the model has them.
  const Type type = to_codes ? ending.wide : d.type;
  scaled = ending;
  scaled.scale_a = scaled.scale_b = scaled.scale_d = std::nullopt;
  const Operand left = numbers_of(e, a, 0, ending.scale_a, type);
  const Operand right = numbers_of(e, b, p.k, ending.scale_b, type);
  if (!to_codes) return emit_products(e, set, left, right, d, scaled);
  Operand sums = e.scratch(d.count() * size_of(type));
  sums.type = type;
  sums.dims = d.dims;
  emit_products(e, set, left, right, sums, scaled);
  const Defines defines{{"CODE", kernel_type(d.type)}, {"NUMBER", kernel_type(type)}};
  e.launch(e.kernel("floats8.cu", "floats8_codes", defines), flat_grid(d.count()),
           {sums, *ending.scale_d, d, int64_t(d.count())});
}

Float8Products::Float8Products(Fusing& f) : f_(f), here_(f.nodes().begin(), f.nodes().end()) {
  if (f.builder().device().architecture() < kFirstArchitecture) return;
  const bool rounds = f.builder().setting("use_tf32");
  for (const Node* node : f.nodes()) {
    if (f.taken(node)) continue;
    const auto factors = this->factors(*node);
    if (!factors || (factors->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && !rounds)) continue;
    found_[node] = *factors;
  }
  drop_shared();
  divide_makers();
}

std::optional<Float8Factors> Float8Products::of(const Node* product) const {
  const auto at = found_.find(product);
  return at == found_.end() ? std::nullopt : std::optional(at->second);
}

const Node* Float8Products::maker_here(const Value* value, const char* type) const {
  const Node* const maker = value ? value->maker : nullptr;
  return maker && maker->domain.empty() && maker->type == type && here_.count(maker) && !f_.taken(maker) ? maker
                                                                                                         : nullptr;
}

// What makes numbers of float8 codes: DequantizeLinear, or Cast without a scale.
const Node* Float8Products::codes_before(const Value* value) const {
  const Node* maker = maker_here(value, "DequantizeLinear");
  if (!maker) maker = maker_here(value, "Cast");
  const bool is_here = maker && is_float8(maker->input(0)->type) && maker->integer("block_size", 0) == 0;
  return is_here ? maker : nullptr;
}

std::optional<Float8Factors> Float8Products::factors(const Node& product) const {
  if (!product.domain.empty() || (product.type != "MatMul" && product.type != "Gemm") || !product.out[0])
    return std::nullopt;
  const Node* const transpose = maker_here(product.input(1), "Transpose");
  const Node* const a = codes_before(product.input(0));
  const Node* const b = codes_before(transpose ? transpose->input(0) : product.input(1));
  if (!a || !b || (transpose && !exchanges(*transpose)) || product.integer("transA", 0) != 0) return std::nullopt;
  const auto scale = [](const Node* n) { return n->type == "Cast" ? nullptr : n->input(1); };
  Float8Factors made{a->input(0), b->input(0), scale(a), scale(b), a->out[0]->type, transpose != nullptr};
  made.makers = {a};
  look_through(made, product);
  const size_t of_a = made.makers.size();
  made.makers.push_back(b);
  if (transpose) made.makers.push_back(transpose);
  made.hidden = made.b->constant ? of_a : made.makers.size();
  const bool by_rows = (product.integer("transB", 0) != 0) != made.exchanged_b;  // B is stored as n x k
  return fits(made, by_rows) && scales_fit(made, *b, by_rows) ? std::optional(made) : std::nullopt;
}

// ONNX Runtime makes codes again after it has made a matrix of the numbers: the same codes.
void Float8Products::look_through(Float8Factors& factors, const Node& product) const {
  const Node* const again = maker_here(factors.a, "QuantizeLinear");
  const Node* const before = again ? maker_here(again->input(0), "Reshape") : nullptr;
  const Node* const first = before ? codes_before(before->input(0)) : nullptr;
  const Node* const after = f_.only_reader(product.out[0]);
  if (!first || !after || product.type != "Gemm" || !undoes(first->input(0), *before, *after)) return;
  if (first->type == "Cast" || first->input(1) != factors.scale_a || again->input(1) != factors.scale_a) return;
  if (first->input(0)->type != factors.a->type || again->integer("block_size", 0) != 0) return;
  factors.a = first->input(0);
  factors.after = after;
  factors.makers.insert(factors.makers.end(), {again, before, first});
}

// Whether all that reads the result are such products, or vanishes with them.
bool Float8Products::vanishes(const Node* maker) const {
  if (f_.is_output(maker->out[0])) return false;
  const auto has = [](const Float8Factors& f, const Node* node) {
    return std::find(f.makers.begin(), f.makers.end(), node) != f.makers.end();
  };
  const auto readers = f_.readers(maker->out[0]);
  return std::all_of(readers.begin(), readers.end(), [&](const Node* reader) {
    const auto product = found_.find(reader);
    if (product != found_.end()) return has(product->second, maker);
    bool used = false;
    for (const auto& [node, f] : found_) {
      if (!has(f, reader)) continue;
      if (!has(f, maker)) return false;
      used = true;
    }
    return used && vanishes(reader);
  });
}

// Other fusions see who reads the codes only if no other node reads the numbers that are made of them.
void Float8Products::drop_shared() {
  const auto stays = [&](const auto& found) {
    const auto& makers = found.second.makers;
    return std::any_of(makers.begin(), makers.begin() + int64_t(found.second.hidden),
                       [&](const Node* maker) { return !vanishes(maker); });
  };
  while (std::erase_if(found_, stays) > 0) {
  }
}

// What vanishes does so with the first product that reads it; constants may have other readers.
void Float8Products::divide_makers() {
  std::set<const Node*> gone;
  std::vector<std::pair<Float8Factors*, std::vector<const Node*>>> divided;
  for (const Node* product : f_.nodes()) {
    const auto at = found_.find(product);
    if (at == found_.end()) continue;
    divided.push_back({&at->second, {}});
    for (const Node* maker : at->second.makers)
      if (vanishes(maker) && gone.insert(maker).second) divided.back().second.push_back(maker);
  }
  for (auto& [factors, makers] : divided) factors->makers = makers;
}

}  // namespace providers::cuda
