// The assignment as a minimum cut. Every image operator is a node, on the source's side if it works on channels-last
// images; convolutions are tied to the source, by what they gain if they may stay channels-first, and nodes with only
// one layout to the sink. A value whose producer and consumers end on different sides costs its size once, for the
// Transpose:
//
//   first → last:  consumer ─∞→ a ─size→ producer      last → first:  producer ─size→ b ─∞→ consumer
//
// A Transpose of the model from one layout to the other is free if the value next to it has the other layout.
#include "passes/layout/assign.h"

#include "passes/layout/min_cut.h"

namespace retort {
namespace {

constexpr double kUnknownExtent = 16;  // stands for a symbol: only the ratio of costs matters

bool has_perm(const Node& n, const std::vector<int64_t>& perm) {
  return n.is("Transpose") && ints_attribute(n, "perm") == perm;
}

class Assignment {
 public:
  Assignment(const Graph& g, bool bf16_products) : g_(g), bf16_products_(bf16_products) {}

  std::map<NodeId, ImageOp> solve() {
    bool any = false;
    for (NodeId id : g_.order()) {
      auto op = image_op(g_, g_.node(id));
      if (!op) continue;
      any |= op->wants_last || (op->is_pool && is_turned(g_.node(id).inputs[0]));
      node_of_[id] = cut_.add_node();
      ops_.emplace(id, std::move(*op));
    }
    if (!any) return {};
    for (const auto& [id, op] : ops_) {
      if (op.wants_last) cut_.add_edge(MinCut::kSource, node_of_[id], gain_of(g_.node(id), op));
    }
    for (size_t i = 0; i < g_.value_count(); ++i) connect(ValueId(i));
    const std::vector<bool> last = cut_.solve();
    std::erase_if(ops_, [&](const auto& entry) { return !last[node_of_[entry.first]]; });
    return std::move(ops_);
  }

 private:
  // A pool of a channels-last image is reason enough for layouts: without convolutions, others would change nothing.
  bool is_turned(ValueId v) const {
    const Node* n = g_.producer(v);
    return n && turns_to_first(*n);
  }
  bool is_image_input(const Use& u) const {
    const auto op = ops_.find(u.node);
    if (op == ops_.end()) return false;
    const auto& slots = op->second.inputs;
    return std::find(slots.begin(), slots.end(), size_t(u.slot)) != slots.end();
  }

  // A Transpose of three axes swaps in both directions; it belongs to the side where an image operator is.
  bool turns_to_first(const Node& n) const {
    const Shape* s = shape_of(g_, n.inputs[0]);
    if (!s || !has_perm(n, perm_to_first(s->rank()))) return false;
    if (s->rank() != 3) return true;
    const Node* producer = g_.producer(n.inputs[0]);
    return !producer || !ops_.contains(producer->id);
  }
  bool turns_to_last(const Node& n) const {
    const Shape* s = shape_of(g_, n.inputs[0]);
    return s && has_perm(n, perm_to_last(s->rank())) && !turns_to_first(n);
  }

  uint32_t producer_side(ValueId v) const {
    const Node* n = g_.producer(v);
    if (!n) return MinCut::kSink;
    if (turns_to_first(*n)) return MinCut::kSource;
    const auto node = node_of_.find(n->id);
    return node == node_of_.end() ? MinCut::kSink : node->second;
  }

  static double extent(Dim d) { return is_known(d) ? double(d) : kUnknownExtent; }
  static double element_count_of(const Shape& s) {
    double count = 1;
    for (const Dim d : s) count *= extent(d);
    return count;
  }
  double size_of(const Shape& s) const {
    const double count = element_count_of(s), outside = extent(s[0]), channels = extent(s[1]);
    // With one channel or one pixel, a Reshape does it without moving elements.
    return channels == 1 || count == outside * channels ? 0 : count;
  }

  // What the channels-last form of a node saves that also runs channels-first. A lone one between values that are
  // channels-first does not take that form.
  double gain_of(const Node& n, const ImageOp& op) const {
    if (!op.runs_first) return n.is("Conv") && op.rank < 5 ? gain_of_convolution(n) : MinCut::kInfinite;
    double size = 0;
    for (const size_t slot : op.inputs) size += element_count_of(*shape_of(g_, n.inputs[slot]));
    return (size + element_count_of(*shape_of(g_, n.outputs[0]))) / 2;
  }

  // A convolution of many pixels with few weights for each, between values that are channels-first: its product then
  // packs the image as it is, which takes as long as moving 1.5 times the inputs of a pixel and some more (Zen 4, 1x1
  // from 64 channels to 256, 56x56: 0.83 of the time of moves and product; 3x3 from 3 to 64, 224x224: 0.65). Fewer
  // pixels are not divided among threads, and a node behind it may want its layout, or be an activation that it would
  // include. Only the channels-last form has products in bfloat16.
  double gain_of_convolution(const Node& n) const {
    constexpr double kManyPixels = 2048, kPerInput = 1.5, kPerPixel = 16;
    const Shape &w = g_.constant(n.inputs[1])->shape(), &y = *shape_of(g_, n.outputs[0]);
    const auto& uses = g_.value(n.outputs[0]).uses;
    const bool feeds_image_op =
        std::any_of(uses.begin(), uses.end(), [&](const Use& u) { return ops_.contains(u.node); });
    double pixels = 1;
    for (size_t d = 2; d < y.rank(); ++d) pixels *= is_known(y[d]) ? double(y[d]) : 0;
    for (const int64_t stride : ints_attribute(n, "strides")) {
      if (stride != 1) return MinCut::kInfinite;  // columns of an image with gaps are gathered one by one
    }
    if (bf16_products_ || feeds_image_op || pixels < kManyPixels || n.attributes.get_or<int64_t>("group", 1) != 1)
      return MinCut::kInfinite;
    const double inputs = element_count_of(w) / extent(w[0]);
    return (kPerInput * inputs + kPerPixel) * pixels * extent(y[0]);
  }

  void connect(ValueId v) {
    const Shape* s = shape_of(g_, v);
    if (!s || s->rank() < 3 || s->rank() > 5 || g_.constant(v)) return;
    const double size = size_of(*s);
    if (size == 0) return;
    const uint32_t producer = producer_side(v), to_last = cut_.add_node(), to_first = cut_.add_node();
    cut_.add_edge(to_last, producer, size);
    cut_.add_edge(producer, to_first, size);
    const auto consume = [&](uint32_t consumer, bool reads_first = false) {
      if (!reads_first) cut_.add_edge(consumer, to_last, MinCut::kInfinite);
      cut_.add_edge(to_first, consumer, MinCut::kInfinite);
    };
    for (const Use& u : g_.value(v).uses) {
      const Node& n = g_.node(u.node);
      if (is_image_input(u)) {
        consume(node_of_.at(u.node), ops_.at(u.node).reads_first);
      } else {
        consume(turns_to_last(n) ? MinCut::kSource : MinCut::kSink);
      }
    }
    if (g_.is_output(v)) consume(MinCut::kSink);
  }

  const Graph& g_;
  const bool bf16_products_;
  MinCut cut_;
  std::map<NodeId, ImageOp> ops_;
  std::map<NodeId, uint32_t> node_of_;
};

}  // namespace

std::map<NodeId, ImageOp> assign_layouts(const Graph& graph, bool bf16_products) {
  return Assignment(graph, bf16_products).solve();
}

}  // namespace retort
