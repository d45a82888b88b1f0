#include "operators.h"

#include <algorithm>
#include <set>

namespace onednn {
namespace {

const Rules& rules() {
  static const Rules all = [] {
    Rules r;
    add_convolutions(r);
    add_products(r);
    add_pools(r);
    add_norms(r);
    add_functions(r);
    add_binaries(r);
    add_moves(r);
    add_pieces(r);
    add_resizes(r);
    add_quantized(r);
    return r;
  }();
  return all;
}

}  // namespace

const Rule* rule_for(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  for (const Rule& rule : rules()) {
    if (node.type != rule.type || node.since < rule.since) continue;
    if (node.in.empty() || !node.in[0] || node.out.empty() || !node.out[0]) return nullptr;
    const bool one = std::all_of(node.out.begin() + 1, node.out.end(), [](const Value* v) { return !v; });
    return (one || rule.many) && rule.claims(node) ? &rule : nullptr;
  }
  return nullptr;
}

std::set<std::string> operator_names() {
  std::set<std::string> names;
  for (const Rule& rule : rules()) names.insert(rule.type);
  return names;
}

bool floats(const Node& node, size_t least, size_t most) {
  for (const auto* list : {&node.in, &node.out}) {
    for (const Value* v : *list)
      if (v && (v->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || !v->has_rank)) return false;
  }
  return node.in[0]->rank() >= least && node.in[0]->rank() <= most;
}

bool is_constant(const Node& node, size_t i) { return node.input(i) && node.input(i)->constant; }

std::vector<int64_t> constant_integers(const Node& node, size_t i) {
  return providers::view_of(node.in.at(i)->constant).integers();
}

float constant_number(const Node& node, size_t i, float otherwise) {
  if (!node.input(i)) return otherwise;
  const providers::TensorView v = providers::view_of(node.in[i]->constant);
  return v.count() ? *static_cast<const float*>(v.data) : otherwise;
}

Posts::Posts(const Builder& b, const Operation& op, const Dims& dims) : op_(op) {
  std::set<dnnl::algorithm> seen;
  for (const PostOp& p : op.post) {
    if (p.add < 0) {
      // oneDNN 2.6 uses the first function's parameters also for a second function of the same kind.
      if (!seen.insert(p.function).second) break;
      ops_.append_eltwise(1, p.function, p.alpha, p.beta);
    } else {
      if (addend_ >= 0 || b.value(p.add).dims != dims) break;
      addend_ = p.add;
      ops_.append_sum();
    }
    ++taken_;
  }
}

Tensor Posts::target(Builder& b, const Dims& dims, const Desc& desc) const {
  if (addend_ < 0) return b.fresh(dims, desc);
  const Tensor& t = b.value(addend_);
  const auto uses = int(std::count(op_.in.begin(), op_.in.end(), addend_));
  Tensor to = t;
  to.dims = dims;
  if (t.desc.dims() != desc.dims()) to = b.reshaped(t, desc.dims());
  const bool own = to.block == t.block;
  if (to.desc != desc) return b.in(to, desc);
  if (!own || b.dies(t, uses)) return to;
  Tensor copy = b.fresh(dims, desc);
  const dnnl::reorder::primitive_desc pd(engine(), to.desc, engine(), desc, attributes());
  b.step_of(pd, {{DNNL_ARG_FROM, to}, {DNNL_ARG_TO, copy}});
  return copy;
}

Tensor Posts::steps(Builder& b, const Operation& op, Tensor t, size_t first) {
  for (size_t i = first; i < op.post.size(); ++i) {
    const PostOp& p = op.post[i];
    t = p.add < 0 ? b.eltwise(t, p, true) : b.binary(dnnl::algorithm::binary_add, t, b.value(p.add), false);
  }
  return t;
}

}  // namespace onednn
