// Normalisations that are written as several nodes, and the sum of two tensors before a normalisation, as one kernel.
#include <algorithm>

#include "cuda/core/known_data.h"
#include "rows.h"

namespace providers::cuda {
namespace {

// Inputs: x, what is added to it, scale, shift. Outputs: y, mean, inverse deviation, the sum.
struct FusedNorm : Op {
  int64_t axis = -1;
  float epsilon = 0;
  bool centred = true;
  Type result = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, statistic = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;

  void emit(Emitter& e) const override;

 private:
  void add(Emitter& e, RowNorm& n, const Dims& dims) const;
};

Dims broadcast(const Emitter& e, const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()), 1);
  for (const Dims* from : {&a, &b})
    for (size_t i = 0; i < from->size(); ++i) {
      int64_t& to = dims[dims.size() - from->size() + i];
      const int64_t size = (*from)[i];
      if (size != to && size != 1 && to != 1) e.fail(text("shapes ", shape_text(a), " and ", shape_text(b)));
      if (size != 1) to = size;
    }
  return dims;
}

// Where an operand's elements are for each element of the sum.
Walk steps(const Dims& dims, const Dims& of) {
  Walk walk;
  int64_t stride = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t size = i < of.size() ? of[of.size() - 1 - i] : 1;
    walk.size[i] = dims[dims.size() - 1 - i];
    walk.stride[i] = size == 1 ? 0 : stride;
    stride *= size;
  }
  walk.rank = int32_t(dims.size());
  return walk;
}

// The kernel adds whole rows; otherwise, the sum is computed before.
void FusedNorm::add(Emitter& e, RowNorm& n, const Dims& dims) const {
  if (n.skip.dims == dims && n.x.dims != dims) std::swap(n.x, n.skip);
  const size_t lost = dims.size() - n.skip.dims.size();
  size_t same = n.skip.dims.size();  // axes from here on are those of the sum, the ones before have one element
  while (same > 0 && n.skip.dims[same - 1] == dims[lost + same - 1]) --same;
  const bool whole = product(n.skip.dims, 0, same) == 1 && (n.length == 0 || int64_t(n.skip.count()) % n.length == 0) &&
                     n.skip.count() > 0;
  if (n.x.dims == dims && whole) {
    n.skip_rows = int64_t(n.skip.count()) / n.length;
    return;
  }
  if (dims.size() > size_t(Walk::kMost)) e.fail(text("rank ", dims.size(), " of a sum with broadcasting"));
  if (n.sum.buffer < 0) {
    n.sum = n.x;
    n.sum.dims = dims;
    n.sum = e.scratch(n.sum.bytes());
  }
  const int64_t count = product(dims, 0, dims.size());
  const Defines defines{{"STORED", stored_type(n.x.type)}, {"POWER", "2"}};
  e.launch(e.kernel("moments.cu", "add_broadcast", defines), flat_grid(size_t(count)),
           {n.x, n.skip, n.sum, Argument::of(steps(dims, n.x.dims)), Argument::of(steps(dims, n.skip.dims)), count});
  const Type type = n.x.type;
  n.x = n.sum;
  n.x.type = type;
  n.skip = n.sum = Operand{};
}

void FusedNorm::emit(Emitter& e) const {
  RowNorm n;
  n.x = e.in(0);
  if (e.has(1)) n.skip = e.in(1);
  const Dims dims = e.has(1) ? broadcast(e, n.x.dims, n.skip.dims) : n.x.dims;
  const size_t at = axis_of(e, axis, dims.size());
  n.rows = n.x_rows = product(dims, 0, at);
  n.length = product(dims, at, dims.size());
  n.epsilon = epsilon;
  n.centred = centred;
  n.statistic = statistic;
  if (e.has(2)) n.scale = e.in(2);
  if (e.has(3)) n.shift = e.in(3);
  const int64_t scales = int64_t(n.scale.count());
  if (e.has(2) && scales != n.length && scales != 1)
    e.fail(text("the scale has ", scales, " elements, expected ", n.length));
  if (e.has(3) && int64_t(n.shift.count()) != scales)
    e.fail(text("the bias has ", n.shift.count(), " elements, expected ", scales));
  if (scales != n.length) n.area = n.length;
  n.y = e.out(0, result, dims);
  Dims statistics = dims;
  std::fill(statistics.begin() + long(at), statistics.end(), 1);
  if (e.has_out(1)) n.mean = e.out(1, statistic, statistics);
  if (e.has_out(2)) n.inverse = e.out(2, statistic, statistics);
  if (e.has_out(3)) n.sum = e.out(3, n.x.type, dims);
  if (n.y.count() == 0) return;
  if (e.has(1)) add(e, n, dims);
  launch_norm(e, n);
}

// A normalisation that was found in the graph.
struct Found {
  const Value *x = nullptr, *scale = nullptr, *shift = nullptr;
  const Value *y = nullptr, *mean = nullptr, *inverse = nullptr;
  int64_t axis = -1;
  float epsilon = 0;
  bool centred = true;
  std::vector<const Node*> nodes;
};

bool is_type(const Node* node, const char* type) {
  return node && node->type == type && (node->domain.empty() || node->domain == "ai.onnx");
}

// The value of a constant with one element; `otherwise` for others.
double constant_or(const Value* value, double otherwise) {
  if (!value || !value->constant) return otherwise;
  const TensorView view = view_of(value->constant);
  const auto known = view.count() == 1 ? load_known(view) : nullptr;
  if (!known) return otherwise;
  if (!known->reals.empty()) return known->reals[0];
  return known->integers.empty() ? otherwise : double(known->integers[0]);
}

class Search {
 public:
  explicit Search(Fusing& f) : f_(f) {}
  bool find(const Node* node, Found& found) const;
  void unite(const Found& found) const;

 private:
  const Node* maker(const Value* value, const char* type) const {
    const Node* const node = value ? value->maker : nullptr;
    return is_type(node, type) && !f_.taken(node) ? node : nullptr;
  }
  // The maker, if nobody but one node needs the value.
  const Node* sole_maker(const Value* value, const char* type) const {
    const Node* const node = maker(value, type);
    return node && f_.only_reader(value) ? node : nullptr;
  }
  bool over_last_axis(const Node* mean) const;
  bool find_root(const Value* root, Found& found, const Value*& squares) const;
  bool find_square(const Node* mean, const Value* of, Found& found) const;
  bool find_quotient(const Node* node, Found& found) const;
  bool find_centre(Found& found) const;
  void find_casts(Found& found) const;
  void find_scale(Found& found) const;
  bool is_row(const Value* v, const Found& found) const;
  bool is_inner(const Found& found) const;

  Fusing& f_;
};

bool Search::over_last_axis(const Node* mean) const {
  if (mean->integer("keepdims", 1) == 0) return false;
  Dims axes = mean->integers("axes");
  if (mean->input(1)) {
    if (!mean->input(1)->constant) return false;
    axes = view_of(mean->input(1)->constant).integers();
  }
  const Value* const x = mean->input(0);
  return axes.size() == 1 && (axes[0] == -1 || (x->has_rank && axes[0] == int64_t(x->rank()) - 1));
}

// root = Sqrt(Add(ReduceMean(squares), epsilon))
bool Search::find_root(const Value* root, Found& found, const Value*& squares) const {
  const Node* const sqrt = sole_maker(root, "Sqrt");
  const Node* const add = sqrt ? sole_maker(sqrt->input(0), "Add") : nullptr;
  if (!add) return false;
  const size_t mean_at = sole_maker(add->input(0), "ReduceMean") ? 0 : 1;
  const Node* const mean = sole_maker(add->input(mean_at), "ReduceMean");
  const double epsilon = constant_or(add->input(1 - mean_at), -1);
  if (!mean || epsilon < 0 || !over_last_axis(mean)) return false;
  found.epsilon = float(epsilon);
  squares = mean->input(0);
  found.nodes.insert(found.nodes.end(), {sqrt, add, mean});
  return true;
}

// squares = Pow(of, 2) or Mul(of, of)
bool Search::find_square(const Node* square, const Value* of, Found& found) const {
  if (!square || square->input(0) != of) return false;
  if (square->type == "Pow" ? constant_or(square->input(1), 0) != 2 : square->input(1) != of) return false;
  found.nodes.push_back(square);
  return true;
}

// Div(x, root), Mul(x, Reciprocal(root)) or Mul(x, Div(1, root))
bool Search::find_quotient(const Node* node, Found& found) const {
  const Value *squares = nullptr, *root = nullptr;
  if (is_type(node, "Div")) {
    root = node->input(1);
    found.x = node->input(0);
  }
  for (const size_t i : {0, 1}) {
    if (root || !is_type(node, "Mul")) break;
    const Node* inverse = sole_maker(node->input(i), "Reciprocal");
    if (inverse) root = inverse->input(0);
    if (!inverse && (inverse = sole_maker(node->input(i), "Div")) && constant_or(inverse->input(0), 0) == 1)
      root = inverse->input(1);
    if (!root) continue;
    found.nodes.push_back(inverse);
    found.x = node->input(1 - i);
  }
  if (!root || !find_root(root, found, squares)) return false;
  found.nodes.push_back(node);
  found.y = node->out[0];
  const Node* const pow = sole_maker(squares, "Pow");
  return find_square(pow ? pow : sole_maker(squares, "Mul"), found.x, found) && is_real(found.x->type);
}

// x = Sub(origin, ReduceMean(origin)), which only the nodes that were found read
bool Search::find_centre(Found& found) const {
  const Node* const sub = maker(found.x, "Sub");
  const Node* const mean = sub ? sole_maker(sub->input(1), "ReduceMean") : nullptr;
  if (!mean || mean->input(0) != sub->input(0) || !over_last_axis(mean) || f_.is_output(found.x)) return false;
  for (const Node* reader : f_.readers(found.x))
    if (std::find(found.nodes.begin(), found.nodes.end(), reader) == found.nodes.end()) return false;
  found.nodes.insert(found.nodes.end(), {sub, mean});
  found.x = sub->input(0);
  found.centred = true;
  return true;
}

// The kernel reads float16 and bfloat16 and computes in float32, so that casts around it vanish.
void Search::find_casts(Found& found) const {
  const Node* const before = maker(found.x, "Cast");
  const bool alone = before && !f_.is_output(found.x) && is_real(before->input(0)->type);
  const auto readers = f_.readers(found.x);
  if (alone && std::all_of(readers.begin(), readers.end(), [&](const Node* n) {
        return std::find(found.nodes.begin(), found.nodes.end(), n) != found.nodes.end();
      })) {
    found.nodes.push_back(before);
    found.x = before->input(0);
  }
  const Node* const after = f_.only_reader(found.y);
  if (!is_type(after, "Cast") || !is_real(after->out[0]->type)) return;
  found.nodes.push_back(after);
  found.y = after->out[0];
}

// Scale or shift: an element for each of the last axis, or one.
bool Search::is_row(const Value* v, const Found& found) const {
  if (!v || !v->has_rank || v->type != found.y->type || !found.x->has_rank) return false;
  const int64_t length = found.x->rank() ? found.x->dims.back() : 1;
  if (v->rank() > found.x->rank()) return false;
  for (size_t i = 0; i + 1 < v->rank(); ++i)
    if (v->dims[i] != 1) return false;
  return v->rank() > 0 && v->dims.back() > 0 && (v->dims.back() == length || (length < 0 && v->dims.back() > 1));
}

// y = y * scale + shift
void Search::find_scale(Found& found) const {
  const Node* const mul = f_.only_reader(found.y);
  if (!is_type(mul, "Mul") || mul->input(0) == mul->input(1)) return;
  const Value* const scale = mul->input(mul->input(0) == found.y ? 1 : 0);
  if (!is_row(scale, found)) return;
  found.scale = scale;
  found.nodes.push_back(mul);
  found.y = mul->out[0];
  const Node* const add = f_.only_reader(found.y);
  if (!is_type(add, "Add") || add->input(0) == add->input(1)) return;
  const Value* const shift = add->input(add->input(0) == found.y ? 1 : 0);
  if (!is_row(shift, found)) return;
  found.shift = shift;
  found.nodes.push_back(add);
  found.y = add->out[0];
}

// Whether the nodes can run as one when x comes from elsewhere.
bool Search::is_inner(const Found& found) const {
  for (const Node* n : found.nodes)
    if (f_.taken(n)) return false;
  return f_.closed(found.nodes);
}

bool Search::find(const Node* node, Found& found) const {
  if (f_.taken(node)) return false;
  if (is_type(node, "LayerNormalization") || is_type(node, "RMSNormalization") ||
      is_type(node, "SimplifiedLayerNormalization")) {
    found.x = node->input(0);
    found.scale = node->input(1);
    found.shift = node->input(2);
    found.centred = node->type == "LayerNormalization";
    found.y = node->out[0];
    if (found.centred && node->out.size() > 1) found.mean = node->out[1];
    const size_t inverse = found.centred ? 2 : 1;
    if (node->out.size() > inverse) found.inverse = node->out[inverse];
    found.axis = node->integer("axis", -1);
    found.epsilon = node->number("epsilon", 1e-5f);
    found.nodes = {node};
    return true;
  }
  if (!is_type(node, "Div") && !is_type(node, "Mul")) return false;
  found.centred = false;
  if (!find_quotient(node, found)) return false;
  find_centre(found);
  find_casts(found);
  find_scale(found);
  return is_inner(found);
}

// With the sum before it, if there is one of two tensors that are computed.
void Search::unite(const Found& found) const {
  const Node* add = maker(found.x, "Add");
  if (add && (add->input(0)->constant || add->input(1)->constant || !is_real(found.x->type))) add = nullptr;
  std::vector<const Node*> nodes = found.nodes;
  if (add) nodes.push_back(add);
  if (add && !f_.closed(nodes)) {
    add = nullptr;
    nodes = found.nodes;
  }
  if (!add && nodes.size() == 1) return;  // a node that has its operator
  auto op = std::make_unique<FusedNorm>();
  Builder& b = f_.builder();
  const auto readers = f_.readers(found.x);
  const bool needed = add && (f_.is_output(found.x) || std::any_of(readers.begin(), readers.end(), [&](const Node* n) {
                                return std::find(nodes.begin(), nodes.end(), n) == nodes.end();
                              }));
  op->in = {b.number(add ? add->input(0) : found.x), b.number(add ? add->input(1) : nullptr), b.number(found.scale),
            b.number(found.shift)};
  op->out = {b.number(found.y), b.number(found.mean), b.number(found.inverse), b.number(needed ? found.x : nullptr)};
  op->who = found.nodes.back()->who();
  op->axis = found.axis;
  op->epsilon = found.epsilon;
  op->centred = found.centred;
  op->result = found.y->type;
  for (const Value* v : {found.mean, found.inverse})
    if (v) op->statistic = v->type;
  f_.unite(nodes, std::move(op));
}

}  // namespace

void fuse_norms(Fusing& f) {
  const Search search(f);
  for (const Node* node : f.nodes()) {
    Found found;
    if (search.find(node, found)) search.unite(found);
  }
}

}  // namespace providers::cuda
