// Scan: opset 8 ran over a batch, axis 0 of every input. An input gave the length of each row, and outputs were padded
// with zeros. Such a node becomes a Scan over the batch whose body is the Scan over one row.
#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

/// The body for one row: [length], states, scan inputs, captures → states, scan outputs.
class Row {
 public:
  Row(Rewriter& r, size_t scanned) : r_(r), node_(r.node()), scanned_(scanned) {
    graph_ = std::make_shared<Graph>(r.graph().shared_dims());
    graph_->captures = node_.captures;
  }

  std::shared_ptr<Graph> make() {
    const size_t own = node_.inputs.size() - node_.captures;
    const ValueId length = r_.has(0) ? add("Unsqueeze", {formal(0), ints(0)}) : ValueId::none;
    ValueId steps = ValueId::none;
    Node scan;
    scan.type = "Scan";
    scan.name = node_.name;
    for (size_t i = 1; i < node_.inputs.size(); ++i) {
      ValueId in = formal(i);
      if (length != ValueId::none && i >= own - scanned_ && i < own) {
        steps = add("Shape", {in}, {{"end", int64_t(1)}});
        in = add("Slice", {in, ints(0), length, ints(0)});
      }
      scan.inputs.push_back(in);
    }
    scan.captures = node_.captures;
    scan.attributes = {{"num_scan_inputs", int64_t(scanned_)}};
    if (const Attribute* d = node_.attributes.find("directions")) scan.attributes.set("scan_input_directions", *d);
    const size_t states = own - 1 - scanned_, outputs = node_.bodies[0].graph->outputs.size();
    scan.bodies = std::move(node_.bodies);
    for (size_t i = 0; i < outputs; ++i) scan.outputs.push_back(graph_->add_value(graph_->unique_name("Scan")));
    graph_->outputs = scan.outputs;
    graph_->add_node(std::move(scan));
    if (length == ValueId::none) return graph_;
    const ValueId pads = add("Concat", {ints(0), add("Sub", {steps, length})}, {{"axis", int64_t(0)}});
    for (size_t i = states; i < outputs; ++i)
      graph_->outputs[i] = add("Pad", {graph_->outputs[i], pads, ValueId::none, ints(0)});
    return graph_;
  }

 private:
  // Input i of the node as an input of the body: a capture as it is, anything else as one row.
  ValueId formal(size_t i) {
    ValueType type = node_.input(i) == ValueId::none ? ValueType() : r_.graph().value(node_.input(i)).type;
    if (type.is_tensor() && type.ranked && i < node_.inputs.size() - node_.captures) {
      require(type.rank() > 0, ErrorCode::invalid_graph, "input {} has no batch axis", i);
      type.shape = Shape(std::span<const int64_t>(type.shape).subspan(1));
    }
    graph_->inputs.push_back(graph_->add_value(graph_->unique_name("row"), std::move(type)));
    return graph_->inputs.back();
  }
  ValueId add(std::string type, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const NodeId id =
        graph_->add({.type = std::move(type), .inputs = std::move(inputs), .attributes = std::move(attributes)});
    return graph_->node(id).outputs[0];
  }
  ValueId ints(int64_t v) { return graph_->add_constant(graph_->unique_name("i"), Tensor::of<int64_t>({1}, {v})); }

  Rewriter& r_;
  Node& node_;
  const size_t scanned_;
  std::shared_ptr<Graph> graph_;
};

void apply_scan(Rewriter& r) {
  Node& node = r.node();
  const int64_t* scanned = node.attributes.get<int64_t>("num_scan_inputs");
  require(scanned, ErrorCode::invalid_graph, "attribute 'num_scan_inputs' is required and missing");
  const size_t own = node.inputs.size() - node.captures;
  require(node.bodies.size() == 1, ErrorCode::invalid_graph, "Scan has {} bodies", node.bodies.size());
  if (*scanned < 1 || size_t(*scanned) + 1 > own)
    fail(ErrorCode::invalid_graph, "num_scan_inputs is {}, but there are {} inputs", *scanned, own);
  const bool has_lengths = r.has(0);
  node.bodies = {{"body", Row(r, size_t(*scanned)).make()}};
  node.attributes = {{"num_scan_inputs", int64_t(own - (has_lengths ? 0 : 1))}};
  if (has_lengths) return;
  for (size_t i = 1; i < node.inputs.size(); ++i) r.set_input(i - 1, node.inputs[i]);
  r.resize_inputs(node.inputs.size() - 1);
}
constexpr LiftRule kScanRules[] = {{"Scan", 9, apply_scan}};

}  // namespace

extern const LiftRules lift_scan;
constinit const LiftRules lift_scan{kScanRules};

}  // namespace retort
