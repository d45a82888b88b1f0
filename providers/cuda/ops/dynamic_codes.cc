// DynamicQuantizeLinear, and what models have around MatMulInteger when they are quantised dynamically: a conversion,
// the scales of both operands, and a bias.
#include <algorithm>

#include "products.h"

namespace providers::cuda {
namespace {

constexpr size_t kFew = 16384;  // up to as many numbers, one block is faster than two launches

struct DynamicCodes : Op {
  void emit(Emitter& e) const override {
    const Operand x = e.in(0);
    const Operand y = e.has_out(0) ? e.out(0, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, x.dims) : Operand();
    const Operand scale = e.has_out(1) ? e.out(1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, {}) : Operand();
    const Operand zero = e.has_out(2) ? e.out(2, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, {}) : Operand();
    emit_dynamic_codes(e, x, y, scale, zero);
  }
};

std::string refuses(const Node& node, const Claiming&) {
  const Value* x = node.input(0);
  if (!x || x->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return text("x of type ", name_of(x ? x->type : Type()));
  return "";
}

std::unique_ptr<Op> make(const Node&, Builder&) { return std::make_unique<DynamicCodes>(); }

bool is(const Node* node, const char* type) { return node && node->domain.empty() && node->type == type; }

// A scale for all columns of a matrix, or one for each.
bool is_scale(const Value* value, int64_t columns) {
  return value && value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && value->fixed() &&
         (value->rank() == 0 || (value->rank() == 1 && (value->dims[0] == 1 || value->dims[0] == columns)));
}

// The nodes after a MatMulInteger; nothing if they are others.
class Tail {
 public:
  Tail(Fusing& fusing, const Node& product) : fusing_(fusing), nodes_{&product} {
    const Value* b = product.input(1);
    columns_ = b && b->fixed() && b->rank() == 2 ? b->dims[1] : 0;
  }

  bool grow() {
    const Node* cast = next(nodes_.front()->out[0]);
    if (columns_ < 1 || !is(cast, "Cast") || !cast->out[0] || cast->out[0]->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)
      return false;
    const Node* scaling = next(cast->out[0]);
    if (!is(scaling, "Mul")) return false;
    const Value* factor = other(*scaling, cast->out[0]);
    const Node* scales = factor ? factor->maker : nullptr;
    if (!is(scales, "Mul") || !is_here(scales) || fusing_.only_reader(factor) != scaling) return false;
    scaled.a_scale = scales->input(0);
    scaled.b_scale = scales->input(1);
    if (!is_scale(scaled.a_scale, 1) || (scaled.b_scale && !is_scale(scaled.b_scale, columns_)))
      std::swap(scaled.a_scale, scaled.b_scale);
    if (!is_scale(scaled.a_scale, 1) || !is_scale(scaled.b_scale, columns_)) return false;
    nodes_.insert(nodes_.end(), {cast, scales, scaling});
    scaled.out = scaling->out[0];
    if (!fusing_.closed(nodes_)) return false;
    take_bias();
    return true;
  }

  void unite() { fusing_.unite(nodes_, scaled_codes_op(*nodes_.front(), fusing_.builder(), scaled)); }

 private:
  bool is_here(const Node* node) const {
    const auto& all = fusing_.nodes();
    return std::find(all.begin(), all.end(), node) != all.end() && !fusing_.taken(node);
  }
  const Node* next(const Value* value) const {
    const Node* node = value ? fusing_.only_reader(value) : nullptr;
    return node && !fusing_.taken(node) ? node : nullptr;
  }
  static const Value* other(const Node& node, const Value* value) {
    return node.input(0) == value ? node.input(1) : node.input(0);
  }
  void take_bias() {
    const Node* add = next(scaled.out);
    if (!is(add, "Add")) return;
    const Value* bias = other(*add, scaled.out);
    if (!bias || bias->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || !bias->fixed() || bias->rank() != 1) return;
    std::vector<const Node*> all = nodes_;
    all.push_back(add);
    if (bias->dims[0] != columns_ || !fusing_.closed(all)) return;
    nodes_ = all;
    scaled.bias = bias;
    scaled.out = add->out[0];
  }

  Fusing& fusing_;
  std::vector<const Node*> nodes_;
  ScaledCodes scaled;
  int64_t columns_ = 0;
};

}  // namespace

void emit_dynamic_codes(Emitter& e, const Operand& x, const Operand& codes, const Operand& scale, const Operand& zero) {
  const size_t count = x.count();
  const auto n = int64_t(count);
  const Defines defines{{"DYNAMIC", "1"}};
  if (count <= kFew) {
    const auto threads = unsigned(std::clamp<size_t>((count + 127) / 128 * 32, 32, 1024));
    return e.launch(e.kernel("codes.cu", "codes_quantize_few", defines), {{1}, {threads}}, {x, codes, scale, zero, n});
  }
  const int64_t blocks = std::clamp<int64_t>((n + 4095) / 4096, 1, 4 * e.device().multiprocessors());
  const Operand parts = e.scratch(size_t(blocks) * 8);
  const Grid grid{{unsigned(blocks)}, {256}};
  e.launch(e.kernel("codes.cu", "codes_range", defines), grid, {x, parts, n});
  e.launch(e.kernel("codes.cu", "codes_quantize", defines), grid, {x, parts, int32_t(blocks), codes, scale, zero, n});
}

void fuse_codes(Fusing& f) {
  for (const Node* node : f.nodes()) {
    if (f.taken(node) || !is(node, "MatMulInteger")) continue;
    Tail tail(f, *node);
    if (tail.grow()) tail.unite();
  }
}

void add_dynamic_codes(Kinds& kinds) { kinds[{"", "DynamicQuantizeLinear"}] = {refuses, make}; }

}  // namespace providers::cuda
