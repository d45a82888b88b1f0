#include "attentions.h"

#include <bit>
#include <limits>

#include "device.h"
#include "dnn_graph.h"

namespace providers::cuda {
namespace {

using dnn::Descriptor;

constexpr size_t kMostWorkspace = size_t(512) << 20;

/// Numbers of the tensors; those from kBetween on are virtual, or numbers that the host gives.
enum Tensor : int64_t { kQ = 1, kK, kV, kY, kRowCounts, kKeyCounts, kBetween = 10 };

/// A graph, and the numbers of the host that it uses.
struct AttentionGraph : dnn::Graph {
  std::deque<float> reals;  // elements stay where they are
  std::deque<int32_t> integers;
  std::vector<dnn::ByValue> values;
};

/// Builds the graph of a problem: the operations of an attention, in the order that cuDNN's engines recognise.
class AttentionMaker {
 public:
  AttentionMaker(const AttentionProblem& problem, AttentionGraph& made) : p_(problem), made_(made), to_(made) {}

  void make(dnn::Handle handle) {
    const int type = dnn::data_type(p_.type);
    const size_t q = tensor(kQ, type, {p_.batch, p_.heads, p_.rows, p_.size}, {p_.q[0], p_.q[1], p_.q[2], 1});
    // K is a matrix of the product's right side: its rows are the elements of a key.
    const size_t k = tensor(kK, type, {p_.batch, p_.kv_heads, p_.size, p_.keys}, {p_.k[0], p_.k[1], 1, p_.k[2]});
    const size_t v = tensor(kV, type, {p_.batch, p_.kv_heads, p_.keys, p_.v_size}, {p_.v[0], p_.v[1], p_.v[2], 1});
    const size_t y = tensor(kY, type, {p_.batch, p_.heads, p_.rows, p_.v_size}, {p_.y[0], p_.y[1], p_.y[2], 1});
    if (p_.lengths) {
      row_counts_ = tensor(kRowCounts, dnn::kTypeInt32, {p_.batch, 1, 1, 1}, {1, 1, 1, 1});
      key_counts_ = tensor(kKeyCounts, dnn::kTypeInt32, {p_.batch, 1, 1, 1}, {1, 1, 1, 1});
    }
    size_t s = scores();
    multiply(q, k, s, true);
    s = pointwise(dnn::kMul, s, number(p_.scale), scores());
    if (p_.lengths) s = hide_padding(s);
    if (p_.mask != DnnMask::none) s = hide_later(s);
    multiply(softmax(s, type), v, y, false);
    to_.finish(handle);
  }

 private:
  size_t tensor(int64_t id, int type, const Dims& dims, const Dims& strides) {
    return to_.tensor({id, type, dims, strides, false, false});
  }
  size_t between(const Dims& dims, int type) {
    Dims strides(dims.size(), 1);
    for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
    return to_.tensor({next_++, type, dims, strides, true, false});
  }
  size_t scores(int type = dnn::kTypeFloat) { return between({p_.batch, p_.heads, p_.rows, p_.keys}, type); }
  size_t of_rows() { return between({p_.batch, p_.heads, p_.rows, 1}, dnn::kTypeFloat); }

  size_t by_value(int type, const void* at) {
    made_.values.push_back({next_, at});
    return to_.tensor({next_++, type, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true});
  }
  size_t number(float v) { return by_value(dnn::kTypeFloat, &made_.reals.emplace_back(v)); }
  size_t integer(int64_t v) { return by_value(dnn::kTypeInt32, &made_.integers.emplace_back(int32_t(v))); }

  size_t pointwise(int mode, size_t x, std::optional<size_t> b, size_t y, int precision = dnn::kTypeFloat) {
    dnn::PointwiseFacts f;
    f.mode = mode;
    f.precision = precision;
    f.x = x;
    f.b = b;
    f.y = y;
    to_.pointwise(f);
    return y;
  }
  size_t index(size_t like, int64_t axis, int precision) {
    dnn::PointwiseFacts f;
    f.mode = dnn::kIndex;
    f.precision = precision;
    f.x = like;
    f.y = scores(dnn::kTypeInt32);
    f.axis = axis;
    to_.pointwise(f);
    return f.y;
  }
  size_t compare(int mode, size_t a, size_t b) { return pointwise(mode, a, b, scores(dnn::kTypeBool), dnn::kTypeBool); }
  /// `s` where `keep` is true, and minus infinity elsewhere.
  size_t select(size_t s, size_t keep) {
    dnn::PointwiseFacts f;
    f.mode = dnn::kSelect;
    f.x = s;
    f.b = number(-std::numeric_limits<float>::infinity());
    f.t = keep;
    f.y = scores();
    to_.pointwise(f);
    return f.y;
  }
  void multiply(size_t a, size_t b, size_t c, bool scores) {
    Descriptor d(dnn::kMatmul, "product");
    d.set_enum(dnn::kMatmulPrecision, dnn::kDataType, dnn::kTypeFloat);
    if (scores && p_.lengths) d.set_double(dnn::kMatmulPadding, 0);
    const size_t kept = to_.keep(std::move(d));
    Descriptor o(dnn::kMatmulOperation, scores ? "product of queries and keys" : "product of weights and values");
    o.set_descriptor(dnn::kMatmulA, to_.part(a));
    o.set_descriptor(dnn::kMatmulB, to_.part(b));
    o.set_descriptor(dnn::kMatmulC, to_.part(c));
    o.set_descriptor(dnn::kMatmulDescriptorOf, to_.part(kept));
    if (p_.lengths) {
      o.set_descriptor(dnn::kMatmulM, to_.part(row_counts_));
      o.set_descriptor(scores ? dnn::kMatmulN : dnn::kMatmulK, to_.part(key_counts_));
    }
    to_.operation(std::move(o));
  }

  size_t hide_padding(size_t s) {
    const size_t row = index(s, 2, dnn::kTypeInt32), key = index(s, 3, dnn::kTypeInt32);
    const size_t rows = compare(dnn::kLess, row, row_counts_), keys = compare(dnn::kLess, key, key_counts_);
    return select(s, compare(dnn::kAnd, rows, keys));
  }

  size_t hide_later(size_t s) {
    size_t row = index(s, 2, dnn::kTypeFloat);
    const size_t key = index(s, 3, dnn::kTypeFloat);
    if (p_.mask == DnnMask::bottom) {
      const size_t keys = p_.lengths ? key_counts_ : integer(p_.keys),
                   rows = p_.lengths ? row_counts_ : integer(p_.rows);
      row = pointwise(dnn::kAdd, row, keys, scores(dnn::kTypeInt32), dnn::kTypeInt32);
      row = pointwise(dnn::kSub, row, rows, scores(dnn::kTypeInt32), dnn::kTypeInt32);
    }
    return select(s, compare(dnn::kGreaterEqual, row, key));
  }

  size_t reduce(int mode, size_t x) {
    Descriptor d(dnn::kReduction, "reduction");
    d.set_enum(dnn::kReductionOperatorOf, dnn::kReductionOperator, mode);
    d.set_enum(dnn::kReductionPrecision, dnn::kDataType, dnn::kTypeFloat);
    const size_t kept = to_.keep(std::move(d)), y = of_rows();
    Descriptor o(dnn::kReductionOperation, "reduction of scores");
    o.set_descriptor(dnn::kReductionDescriptorOf, to_.part(kept));
    o.set_descriptor(dnn::kReductionX, to_.part(x));
    o.set_descriptor(dnn::kReductionY, to_.part(y));
    to_.operation(std::move(o));
    return y;
  }

  size_t softmax(size_t s, int type) {
    const size_t top = reduce(dnn::kReduceMax, s);
    const size_t below = pointwise(dnn::kSub, s, top, scores());
    const size_t e = pointwise(dnn::kExp, below, std::nullopt, scores());
    const size_t sum = reduce(dnn::kReduceAdd, e);
    // The logarithm of the sum is not used, but the engines recognise no attention without it.
    pointwise(dnn::kAdd, top, pointwise(dnn::kLog, sum, std::nullopt, of_rows()), of_rows());
    return pointwise(dnn::kDiv, e, sum, scores(type));
  }

  const AttentionProblem& p_;
  AttentionGraph& made_;
  dnn::GraphMaker to_;
  size_t row_counts_ = 0, key_counts_ = 0;
  int64_t next_ = kBetween;
};

std::vector<int64_t> tensors_of(const AttentionProblem& p) {
  std::vector<int64_t> ids{kQ, kK, kV, kY};
  if (p.lengths) ids.insert(ids.end(), {kRowCounts, kKeyCounts});
  return ids;
}

}  // namespace

std::string AttentionProblem::key() const {
  std::string made = text(int(type), ':', int(mask), lengths, ':', std::bit_cast<uint32_t>(scale));
  for (const int64_t d : {batch, heads, kv_heads, rows, keys, size, v_size}) made += "," + std::to_string(d);
  for (const auto* strides : {&q, &k, &v, &y})
    for (const int64_t d : *strides) made += "," + std::to_string(d);
  return made;
}

AttentionPlan::AttentionPlan(dnn::Handles& handles, const AttentionProblem& problem, std::shared_ptr<const void> graph,
                             dnn::Descriptor configuration, dnn::Handle handle, std::vector<dnn::ByValue> values)
    : plan_(handles, handle, std::move(graph), std::move(configuration), tensors_of(problem), std::move(values)),
      lengths_(problem.lengths) {}

void AttentionPlan::run(CUstream stream, const AttentionPointers& at) const {
  std::vector<Address> places{at.q, at.k, at.v, at.y};
  if (lengths_) places.insert(places.end(), {at.row_counts, at.key_counts});
  plan_.run(stream, places, at.workspace, engine_);
}

Attentions::Attentions(Device& device, dnn::Handles& handles) : device_(device), handles_(handles) { dnn::table(); }

std::shared_ptr<const AttentionPlan> Attentions::make(const AttentionProblem& problem) {
  device_.enter();
  const dnn::Loan loan(handles_, nullptr);
  const auto graph = std::make_shared<AttentionGraph>();
  std::string refusals;  // not told: the provider has kernels of its own
  try {
    AttentionMaker(problem, *graph).make(loan.handle());
  } catch (const Error&) {  // the graph is refused
    return nullptr;
  }
  for (const int mode : {dnn::kHeuristicsA, dnn::kHeuristicsFallback})
    for (auto& configuration : dnn::configurations(*graph, mode, refusals)) {
      try {
        const auto facts = dnn::facts_of(configuration);
        auto plan = std::make_shared<AttentionPlan>(handles_, problem, graph, std::move(configuration), loan.handle(),
                                                    graph->values);
        plan->engine_ = facts.text();
        if (plan->workspace() <= kMostWorkspace) return plan;
      } catch (const Error&) {  // the next configuration may do
      }
    }
  return nullptr;
}

std::shared_ptr<const AttentionPlan> Attentions::plan(const AttentionProblem& problem) {
  const std::lock_guard lock(planning_);
  return plans_.get(problem.key(), [&] { return make(problem); });
}

}  // namespace providers::cuda
