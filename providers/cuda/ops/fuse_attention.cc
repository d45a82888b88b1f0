// Finds attentions that exporters write as single nodes: MatMul(Q, K^T), a scale, masks, Softmax, MatMul(V), with the
// reshapes and transposes around them. They become one operator, which reads Q, K and V where they are.
#include <algorithm>
#include <cmath>
#include <set>

#include "attention.h"
#include "cuda/core/known_data.h"
#include "strided_view.h"

namespace providers::cuda {
namespace {

/// Q, K or V: an input of the operator, and what nodes make of it.
struct Source {
  int input = -1;  ///< of the operator
  std::vector<ViewStep> steps;
};

class FusedAttention : public Op {
 public:
  Source q, k, v;             ///< the views have 3 or 4 axes; that of K is transposed: [.., D, T]
  int bias = -1, flags = -1;  ///< inputs of the operator
  bool flag_hides = false;
  AttentionSettings settings;
  double scale = 1, hidden = 0;
  Dims perm;  ///< of the result; empty: none

  void emit(Emitter& e) const override {
    StridedView views[3] = {view(e, q), view(e, k), view(e, v)};
    const size_t rank = views[0].axes.size();
    if (views[1].axes.size() != rank || views[2].axes.size() != rank) e.fail("Q, K and V have several numbers of axes");
    std::swap(views[1].axes[rank - 1], views[1].axes[rank - 2]);  // [.., T, D]
    for (StridedView& x : views) {
      while (x.axes.size() < 4) x.axes.insert(x.axes.begin() + 1, ViewAxis{});
      if ((x.axes[3].stride != 1 && x.axes[3].extent > 1) || !is_plain(x, 3) || !is_plain(x, 2) || !is_plain(x, 0))
        x = contiguous(e, x);
    }
    AttentionCall c = call_of(e, views);
    add_masks(e, c, rank);
    const int64_t all[4] = {c.batch, c.heads, c.rows, c.v_size};
    Dims dims(all, all + 4);
    if (rank == 3) dims.erase(dims.begin() + 1);
    HeadStrides strides = split_heads(c.rows, c.heads, c.v_size);
    if (!perm.empty()) strides = permuted(dims);
    c.y = {e.out(0, c.q.data.type, dims), strides};
    attention(e, c);
  }

 private:
  static StridedView view(Emitter& e, const Source& s) {
    const StridedView made = apply(e, view_of_rows(e.in(size_t(s.input))), s.steps);
    if (made.axes.size() != 3 && made.axes.size() != 4)
      e.fail(text("Q, K and V are expected to have 3 or 4 axes, one has ", made.axes.size()));
    return made;
  }
  static bool is_plain(const StridedView& x, size_t axis) { return x.axes[axis].repeat == 1; }

  // The strides of the result with its axes in the order of `perm`; sets the dims of that order.
  HeadStrides permuted(Dims& dims) const {
    const Dims old = dims;
    int64_t stride = 1;
    std::vector<int64_t> strides(dims.size());
    for (size_t i = dims.size(); i-- > 0;) {
      dims[i] = old[size_t(perm[i])];
      strides[size_t(perm[i])] = stride;
      stride *= dims[i];
    }
    return dims.size() == 3 ? HeadStrides{strides[0], 0, strides[1]} : HeadStrides{strides[0], strides[1], strides[2]};
  }

  AttentionCall call_of(Emitter& e, StridedView (&views)[3]) const;

  void add_masks(Emitter& e, AttentionCall& c, size_t rank) const {
    const auto operand = [&](int input) {
      Operand o = e.in(size_t(input));
      // Scores of three axes have no heads.
      if (rank == 3 && o.rank() == 3) o.dims.insert(o.dims.begin() + 1, 1);
      return score_operand(e, o, {c.batch, c.heads, c.rows, c.keys});
    };
    if (bias >= 0) c.bias = operand(bias);
    if (flags >= 0) c.flags = operand(flags);
  }

  // Heads whose axis of batches, or of heads, may be 1 for all.
  static Heads heads_of(const StridedView& x, int64_t batch) {
    const auto stride = [](const ViewAxis& a) { return a.extent == 1 ? 0 : a.stride; };
    return {x.data, {x.axes[0].extent == 1 && batch != 1 ? 0 : x.axes[0].stride, stride(x.axes[1]), x.axes[2].stride}};
  }
};

AttentionCall FusedAttention::call_of(Emitter& e, StridedView (&views)[3]) const {
  StridedView &a = views[0], &b = views[1], &d = views[2];
  AttentionCall c;
  c.batch = std::max({a.axes[0].extent, b.axes[0].extent, d.axes[0].extent});
  if (a.axes[0].extent * b.axes[0].extent * d.axes[0].extent == 0) c.batch = 0;
  c.heads = std::max({a.axes[1].extent, b.axes[1].extent, d.axes[1].extent});
  if (a.axes[1].repeat != 1) a = contiguous(e, a);
  // Heads of K and V that a group shares: those that are repeated, or one for all.
  const auto group = [&](const ViewAxis& heads) { return heads.extent == 1 ? c.heads : heads.repeat; };
  if (group(b.axes[1]) != group(d.axes[1])) {
    if (b.axes[1].repeat != 1) b = contiguous(e, b);
    if (d.axes[1].repeat != 1) d = contiguous(e, d);
  }
  const int64_t shared = group(b.axes[1]) == group(d.axes[1]) ? std::max<int64_t>(group(b.axes[1]), 1) : 1;
  c.kv_heads = c.heads / shared;
  c.rows = a.axes[2].extent;
  c.keys = b.axes[2].extent;
  c.size = a.axes[3].extent;
  c.v_size = d.axes[3].extent;
  for (const StridedView* x : {&a, &b, &d}) {
    const bool fits = (x->axes[0].extent == 1 || x->axes[0].extent == c.batch) &&
                      (x->axes[1].extent == 1 || x->axes[1].extent == c.heads);
    if (!fits || b.axes[3].extent != c.size || d.axes[2].extent != c.keys)
      e.fail(text("Q has shape ", shape_text(a.dims()), ", K ", shape_text(b.dims()), " and V ", shape_text(d.dims()),
                  ", which do not match"));
  }
  if (a.data.type != b.data.type || a.data.type != d.data.type) e.fail("Q, K and V have several types");
  c.q = heads_of(a, c.batch);
  c.k = heads_of(b, c.batch);
  c.v = heads_of(d, c.batch);
  c.scale = scale;
  c.flag_hides = flag_hides;
  c.hidden = hidden;
  c.blind = std::numeric_limits<double>::quiet_NaN();
  c.settings = settings;
  return c;
}

/// The number in a constant of one element.
std::optional<double> scalar(const Value* value) {
  if (!value || !value->constant) return std::nullopt;
  const TensorView t = providers::view_of(value->constant);
  if (t.count() != 1) return std::nullopt;
  const auto known = load_known(t);
  if (!known) return std::nullopt;
  if (!known->reals.empty()) return known->reals[0];
  return known->integers.empty() ? std::nullopt : std::optional<double>(double(known->integers[0]));
}

bool is_onnx(const Node& node, const char* type) {
  return node.type == type && (node.domain.empty() || node.domain == "ai.onnx");
}

/// The attention around one Softmax.
class Match {
 public:
  Match(Fusing& f, const Node* softmax) : f_(f), softmax_(softmax), op_(std::make_unique<FusedAttention>()) {
    part_.insert(f.nodes().begin(), f.nodes().end());
  }
  /// Replaces the nodes if there is one.
  void replace() {
    if (!takes_last_axis() || !find_scores() || !find_result() || !fits()) return;
    find_sources();
    const std::vector<const Node*> nodes(nodes_.begin(), nodes_.end());
    if (!f_.closed(nodes)) return;
    Builder& builder = f_.builder();
    for (const Value* v : inputs_) op_->in.push_back(builder.number(v));
    op_->out = {builder.number(result_)};
    op_->who = softmax_->who() + " as attention";
    op_->settings = AttentionSettings(builder);
    f_.unite(nodes, std::move(op_));
  }

 private:
  // The number of an input of the operator.
  int input(const Value* value) {
    const auto at = size_t(std::find(inputs_.begin(), inputs_.end(), value) - inputs_.begin());
    if (at == inputs_.size()) inputs_.push_back(value);
    return int(at);
  }
  // The node that makes a value with one reader; null otherwise.
  const Node* maker(const Value* v) const {
    const Node* made = v ? v->maker : nullptr;
    return made && part_.count(made) && !f_.taken(made) && made->out.size() == 1 && f_.only_reader(v) ? made : nullptr;
  }
  bool takes_last_axis() const {
    const Value* v = softmax_->input(0);
    if (!v || !v->has_rank || (v->rank() != 3 && v->rank() != 4)) return false;
    const int64_t axis = softmax_->integer("axis", softmax_->since < 13 ? 1 : -1);
    return axis == -1 || axis == int64_t(v->rank()) - 1;
  }
  static bool is_float_cast(const Node& n) { return is_onnx(n, "Cast") && is_attention_type(n.input(0)); }

  bool leads_to_product(const Value* v, int depth) const;
  const Value* score_side(const Node& node) const;
  bool take_scale(const Node& node, const Value*& rest, double& scale) const;
  bool take_masks(const Node& node, const Value*& v);
  bool find_scores();
  bool find_result();
  bool fits() const;
  void find_sources();
  const Value* follow(const Value* v, Source& source, double* scale);
  void join_split(const Value* (&values)[3]);

  Fusing& f_;
  const Node* const softmax_;
  const Node *product_ = nullptr, *second_ = nullptr;
  const Value* result_ = nullptr;
  std::unique_ptr<FusedAttention> op_;
  std::set<const Node*> nodes_, part_;
  std::vector<const Value*> inputs_;
};

// Whether a chain of scales and masks begins at a MatMul.
bool Match::leads_to_product(const Value* v, int depth) const {
  const Node* n = maker(v);
  if (!n || depth == 0) return false;
  if (is_onnx(*n, "MatMul")) return true;
  if (is_float_cast(*n)) return leads_to_product(n->in[0], depth - 1);
  const bool joins = is_onnx(*n, "Mul") || is_onnx(*n, "Div") || is_onnx(*n, "Add") || is_onnx(*n, "Where");
  return joins &&
         std::any_of(n->in.begin(), n->in.end(), [&](const Value* in) { return leads_to_product(in, depth - 1); });
}

const Value* Match::score_side(const Node& node) const {
  for (const Value* v : node.in)
    if (leads_to_product(v, 6)) return v;
  return nullptr;
}

// A product with, or a quotient by, a number.
bool Match::take_scale(const Node& node, const Value*& rest, double& scale) const {
  const bool divides = is_onnx(node, "Div");
  if ((!divides && !is_onnx(node, "Mul")) || node.in.size() != 2) return false;
  for (const size_t i : {1, 0}) {
    const auto number = scalar(node.in[i]);
    if (!number || (divides && i == 0) || (divides && *number == 0)) continue;
    // A constant with more axes than the tensor would add axes to it.
    if (!node.in[1 - i]->has_rank || node.in[i]->rank() > node.in[1 - i]->rank()) continue;
    scale *= divides ? 1 / *number : *number;
    rest = node.in[1 - i];
    return true;
  }
  return false;
}

// Add and Where; the sum is the last step, the choice the one before.
bool Match::take_masks(const Node& node, const Value*& v) {
  const size_t rank = softmax_->in[0]->rank();
  const auto can_broadcast = [&](const Value* mask) { return mask && mask->has_rank && mask->rank() <= rank; };
  if (is_onnx(node, "Add") && op_->bias < 0 && op_->flags < 0) {
    const Value* scores = score_side(node);
    const Value* mask = node.in[scores == node.in[0] ? 1 : 0];
    if (!scores || !can_broadcast(mask) || !is_attention_type(mask)) return false;
    op_->bias = input(mask);
    v = scores;
    return true;
  }
  if (!is_onnx(node, "Where") || op_->flags >= 0) return false;
  op_->flag_hides = scalar(node.in[1]).has_value();
  const auto hidden = scalar(node.in[op_->flag_hides ? 1 : 2]);
  const Value* scores = node.in[op_->flag_hides ? 2 : 1];
  if (!hidden || !can_broadcast(node.in[0]) || !leads_to_product(scores, 6)) return false;
  op_->hidden = *hidden;
  op_->flags = input(node.in[0]);
  v = scores;
  return true;
}

// From the Softmax back to the first MatMul.
bool Match::find_scores() {
  const Value* v = softmax_->in[0];
  nodes_.insert(softmax_);
  bool scaled = false;
  while (const Node* n = maker(v)) {
    nodes_.insert(n);
    if (is_onnx(*n, "MatMul")) {
      product_ = n;
      return true;
    }
    if (is_float_cast(*n)) {
      v = n->in[0];
    } else if (take_scale(*n, v, op_->scale)) {
      scaled = true;
    } else if (scaled || !take_masks(*n, v)) {
      return false;
    }
  }
  return false;
}

// From the Softmax to the second MatMul, and to the Transpose behind it.
bool Match::find_result() {
  const Value* v = softmax_->out[0];
  const Node* n = f_.only_reader(v);
  while (n && is_float_cast(*n)) {
    nodes_.insert(n);
    v = n->out[0];
    n = f_.only_reader(v);
  }
  if (!n || !is_onnx(*n, "MatMul") || n->in[0] != v || n == product_) return false;
  second_ = n;
  nodes_.insert(n);
  result_ = n->out[0];
  const Node* after = f_.only_reader(result_);
  if (!after || !is_onnx(*after, "Transpose")) return true;
  const Dims perm = after->integers("perm");
  if (perm.size() != softmax_->in[0]->rank() || perm.back() != int64_t(perm.size()) - 1) return true;
  op_->perm = perm;
  nodes_.insert(after);
  result_ = after->out[0];
  return true;
}

bool Match::fits() const {
  const size_t rank = softmax_->in[0]->rank();
  const Value *q = product_->in[0], *k = product_->in[1], *v = second_->in[1];
  for (const Value* x : {q, k, v})
    if (!x->has_rank || x->rank() != rank || !is_attention_type(x) || x->type != q->type) return false;
  // Larger heads are faster as separate products.
  constexpr int64_t kLarge = 256;
  const int64_t sizes[] = {q->dims[rank - 1], k->dims[rank - 2], v->dims[rank - 1]};
  return result_->type == q->type &&
         std::all_of(std::begin(sizes), std::end(sizes), [](int64_t d) { return d <= kLarge; });
}

// Takes the nodes that only move the elements, and the scales if there may be some; returns what they begin with.
const Value* Match::follow(const Value* v, Source& source, double* scale) {
  while (const Node* n = maker(v)) {
    if (scale && take_scale(*n, v, *scale)) {
      nodes_.insert(n);
      continue;
    }
    const auto step = view_step(*n, [&](const Value* x) { return input(x); });
    if (!step) break;
    source.steps.insert(source.steps.begin(), *step);
    nodes_.insert(n);
    v = n->in[0];
  }
  return v;
}

// Q, K and V that one Split has made of a tensor.
void Match::join_split(const Value* (&values)[3]) {
  const Node* split = values[0]->maker;
  if (!split || !is_onnx(*split, "Split") || split->out.size() != 3 || !part_.count(split) || f_.taken(split)) return;
  const Value* whole = split->in[0];
  const int64_t axis = split->integer("axis", 0);
  if (!whole->has_rank || (axis != -1 && axis != int64_t(whole->rank()) - 1)) return;
  const Dims sizes = split->integers("split");
  Dims given = sizes;
  if (split->input(1) && !split->input(1)->constant) return;
  if (split->input(1)) given = providers::view_of(split->input(1)->constant).integers();
  if (!given.empty() && (given.size() != 3 || given[0] != given[1] || given[0] != given[2])) return;
  int64_t part[3] = {-1, -1, -1};
  for (size_t i = 0; i < 3; ++i) {
    const auto at = std::find(split->out.begin(), split->out.end(), values[i]);
    if (at == split->out.end() || !f_.only_reader(values[i])) return;
    part[i] = at - split->out.begin();
  }
  nodes_.insert(split);
  Source* const sources[] = {&op_->q, &op_->k, &op_->v};
  for (size_t i = 0; i < 3; ++i) {
    ViewStep step;
    step.kind = ViewStep::Kind::split;
    step.part = part[i];
    step.parts = 3;
    sources[i]->steps.insert(sources[i]->steps.begin(), step);
    values[i] = whole;
  }
}

void Match::find_sources() {
  const Value* values[3] = {follow(product_->in[0], op_->q, &op_->scale), follow(product_->in[1], op_->k, &op_->scale),
                            follow(second_->in[1], op_->v, nullptr)};
  join_split(values);
  op_->q.input = input(values[0]);
  op_->k.input = input(values[1]);
  op_->v.input = input(values[2]);
}

}  // namespace

void fuse_attention(Fusing& f) {
  for (const Node* node : f.nodes())
    if (is_onnx(*node, "Softmax") && !f.taken(node)) Match(f, node).replace();
}

}  // namespace providers::cuda
