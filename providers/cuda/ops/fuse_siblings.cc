// Products of one value with several constant matrices of one shape become one batch: the projections to queries, keys
// and values, for instance. Each of them alone is too small to keep all multiprocessors busy.
#include <algorithm>
#include <map>
#include <tuple>

#include "products.h"

namespace providers::cuda {
namespace {

// Larger matrices keep the device busy alone.
constexpr size_t kMostBytes = size_t(16) << 20;
constexpr size_t kMostSiblings = 8;

struct Sibling {
  const Node* product = nullptr;
  const Node* add = nullptr;  // of the bias; null: none
  const Value* bias = nullptr;
  const Value* result() const { return (add ? add : product)->out[0]; }
};

// A · W[i] + bias[i] for all i; the inputs are A, all W and all biases, the outputs are the results.
struct SiblingsOp : public Op {
  bool tf32 = false, biased = false;
  bool exchanged = false;  // the matrices are stored as n x k

  void emit(Emitter& e) const override {
    const Operand a = e.in(0), w = e.in(1);
    const auto count = int64_t(out.size());
    const int64_t k = w.dims[exchanged ? 2 : 1], n = w.dims[exchanged ? 1 : 2];
    if (a.dims.empty() || a.dims.back() != k)
      e.fail(text("A has shape ", shape_text(a.dims), ", expected ", k, " as its last extent"));
    Dims dims = a.dims;
    dims.back() = n;
    int64_t rows = 1;
    for (size_t i = 0; i + 1 < dims.size(); ++i) rows *= dims[i];
    if (rows == 0) {
      for (size_t i = 0; i < out.size(); ++i) e.out(i, a.type, dims);
      return;
    }
    Operand d = e.scratch(size_t(count * rows * n) * size_of(a.type));
    d.type = a.type;
    d.dims = {count, rows, n};
    auto set = product_set(side_of({1, rows, k}, false, false), side_of(w.dims, exchanged, false), {count});
    set->product.tf32 = tf32;
    set->product.stride_bias = n;
    Ending ending;
    if (biased) ending.bias = e.in(2);
    emit_products(e, *set, a, w, d, ending);
    for (size_t i = 0; i < out.size(); ++i) {
      Operand mine = d;
      mine.offset += i * size_t(rows * n) * size_of(a.type);
      mine.dims = dims;
      e.alias(i, mine, dims);
    }
  }
};

bool is_real(const Value* value) {
  return value &&
         (value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ||
          value->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16);
}

bool can_join(const Fusing& f, const Node& node) {
  const Value *a = node.input(0), *w = node.input(1);
  return node.domain.empty() && node.type == "MatMul" && !f.taken(&node) && is_real(a) && !a->constant && a->has_rank &&
         a->rank() >= 2 && w && w->constant && w->rank() == 2 && w->fixed() && w->dims[0] > 0 && w->dims[1] > 0 &&
         w->dims[1] * int64_t(size_of(w->type)) % 16 == 0 &&
         size_t(w->dims[0] * w->dims[1]) * size_of(w->type) <= kMostBytes && node.out[0];
}

Sibling sibling_of(const Fusing& f, const Node& node) {
  Sibling s{&node, nullptr, nullptr};
  const Node* reader = f.only_reader(node.out[0]);
  if (!reader || !reader->domain.empty() || reader->type != "Add" || !reader->out[0]) return s;
  const Value* other = reader->input(reader->input(0) == node.out[0] ? 1 : 0);
  if (!other || !other->constant || other->rank() != 1 || other->dims[0] != node.input(1)->dims[1] ||
      other->type != node.input(1)->type)
    return s;
  s.add = reader;
  s.bias = other;
  return s;
}

// The constants one after the other, matrices with both axes exchanged if that is asked for.
int joined(Builder& builder, const std::vector<const Value*>& constants, bool exchanged) {
  std::string form = exchanged ? "siblings exchanged" : "siblings";
  for (const Value* c : constants) form += "\n" + c->name;
  Dims dims = constants[0]->dims;
  if (exchanged) std::swap(dims[0], dims[1]);
  dims.insert(dims.begin(), int64_t(constants.size()));
  return builder.packed(constants[0], form, constants[0]->type, dims, [&](const TensorView&) {
    std::vector<char> all;
    for (const Value* c : constants) {
      const TensorView view = view_of(c->constant);
      if (exchanged) {
        const std::vector<char> matrix = exchanged_matrix(view);
        all.insert(all.end(), matrix.begin(), matrix.end());
        continue;
      }
      const auto* bytes = static_cast<const char*>(view.data);
      all.insert(all.end(), bytes, bytes + view.bytes());
    }
    return all;
  });
}

void unite(Fusing& f, const std::vector<Sibling>& all) {
  std::vector<const Node*> nodes;
  std::vector<const Value*> weights, biases;
  auto op = std::make_unique<SiblingsOp>();
  Builder& builder = f.builder();
  for (const Sibling& s : all) {
    nodes.push_back(s.product);
    if (s.add) nodes.push_back(s.add);
    weights.push_back(s.product->input(1));
    if (s.bias) biases.push_back(s.bias);
  }
  if (!f.closed(nodes)) return;
  op->who = nodes.front()->who() + text(" and ", all.size() - 1, " beside it");
  op->tf32 = builder.setting("use_tf32");
  op->biased = !biases.empty();
  // Products of few rows read whole rows of n x k faster.
  op->exchanged =
      may_be_few(all[0].product->input(0)) && weights[0]->dims[0] * int64_t(size_of(weights[0]->type)) % 16 == 0;
  op->in = {builder.number(all[0].product->input(0)), joined(builder, weights, op->exchanged)};
  if (op->biased) op->in.push_back(joined(builder, biases, false));
  for (const Sibling& s : all) op->out.push_back(builder.number(s.result()));
  f.unite(nodes, std::move(op));
}

}  // namespace

void fuse_siblings(Fusing& f) {
  using Key = std::tuple<const Value*, Dims, int, bool>;
  std::map<Key, std::vector<Sibling>> groups;
  std::vector<Key> order;
  for (const Node* node : f.nodes()) {
    if (!can_join(f, *node)) continue;
    const Sibling s = sibling_of(f, *node);
    const Value* w = node->input(1);
    const Key key{node->input(0), w->dims, int(w->type), s.bias != nullptr};
    auto& group = groups[key];
    if (group.empty()) order.push_back(key);
    if (group.size() < kMostSiblings) group.push_back(s);
  }
  for (const Key& key : order)
    if (groups[key].size() > 1) unite(f, groups[key]);
}

}  // namespace providers::cuda
