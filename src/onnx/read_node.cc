#include <algorithm>

#include "base/loading.h"
#include "onnx/read_graph.h"
#include "onnx/read_scratch.h"

namespace retort::onnx {
namespace {

/// "node 'conv1' (Conv)" or "node of output 'y' (Conv)", read from the message, for errors.
std::string describe_message(Message m) {
  std::string_view name, type, output;
  try {
    while (m.next()) {
      if (m.field() == tag::node::name) name = m.bytes();
      if (m.field() == tag::node::op_type) type = m.bytes();
      if (m.field() == tag::node::output && output.empty()) output = m.bytes();
    }
  } catch (const Error&) {  // uses what has been read so far
  }
  if (name.empty() && output.empty()) return cat("node ({})", type);
  return cat("node {}'{}' ({})", name.empty() ? "of output " : "", name.empty() ? output : name, type);
}

}  // namespace

void Scope::read_nodes(const std::vector<Message>& nodes) {
  for (const Message& m : nodes) {
    check_loading();
    in_context([&] { return describe_message(m); },
               [&] {
                 Node n;
                 read_node(m, n);
                 graph_.add_node(std::move(n));
               });
  }
  graph_.order();  // throws on a cycle
}

void Scope::read_node(Message m, Node& n) {
  std::vector<ReadAttribute> attributes, graphs;
  std::string_view name;
  while (m.next()) {
    switch (m.field()) {
      case tag::node::input:
        n.inputs.push_back(resolve(c_.text(m), "input"));
        break;
      case tag::node::output:
        n.outputs.push_back(m.bytes().empty() ? ValueId::none : names_.at(m.bytes()));
        break;
      case tag::node::name:
        name = c_.text(m);
        break;
      case tag::node::op_type:
        n.type = c_.text(m);
        break;
      case tag::node::domain:
        n.domain = canonical_domain(c_.text(m));
        break;
      case tag::node::overload:
        n.overload = c_.text(m);
        break;
      case tag::node::attribute: {
        c_.count_entry();
        ReadAttribute a = read_attribute(c_, m.child("AttributeProto"), references_);
        (a.graph ? graphs : attributes).push_back(std::move(a));
        break;
      }
    }
  }
  n.name = name;
  n.version = version_of(n.domain);
  require(!n.type.empty(), ErrorCode::invalid_graph, "it has no operator type");
  // Constants may share a name, as in ONNX Runtime, which turns them into initializers first.
  const bool is_constant = n.type == "Constant" && n.domain.empty();
  require(name.empty() || references_ || is_constant || node_names_.insert(name).second, ErrorCode::invalid_graph,
          "there are two nodes of that name");
  set_attributes(std::move(attributes), n);
  if (!graphs.empty()) read_bodies(graphs, n);
}

/// 0 for a domain that is not imported: the newest known version counts, as for ONNX Runtime. An import of a version
/// that does not exist is an error only where a node uses it, as there.
int Scope::version_of(std::string_view domain) const {
  const auto found = opsets_.find(std::string(domain));
  if (found == opsets_.end()) return 0;
  require(found->second >= 1, ErrorCode::invalid_graph,
          "version {} of operator set '{}', which the model imports, does not exist; import another", found->second,
          domain);
  return found->second;
}

void Scope::set_attributes(std::vector<ReadAttribute> all, Node& n) {
  // Sorted by name, so that adding to n.attributes never moves earlier ones: a node may have very many of them.
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (size_t i = 0; i < all.size(); ++i) {
    require(i == 0 || all[i - 1].name != all[i].name, ErrorCode::invalid_graph, "attribute '{}' appears twice",
            all[i].name);
    n.attributes.set(all[i].name, std::move(all[i].value));
  }
}

void Scope::read_bodies(const std::vector<ReadAttribute>& graphs, Node& n) {
  Captures captures;
  NameSet names;
  struct ReadBody {
    ReadBody(std::shared_ptr<Graph> made, Scope& outer, Captures& captures)
        : graph(std::move(made)), scope(outer, *graph, captures) {}
    std::shared_ptr<Graph> graph;
    Scope scope;
  };
  const ReadScratch bodies(std::make_shared<std::vector<ReadBody>>(), has_only_ours(c_.options));
  bodies->reserve(graphs.size());
  for (const ReadAttribute& a : graphs) {
    require(names.insert(a.name).second && !n.attributes.has(a.name), ErrorCode::invalid_graph,
            "attribute '{}' appears twice", a.name);
    ReadBody& body = bodies->emplace_back(std::make_shared<Graph>(c_.model.dims), *this, captures);
    in_context([&] { return cat("'{}'", a.name); }, [&] { body.scope.read_graph(*a.graph); });
  }
  for (size_t i = 0; i < graphs.size(); ++i) {
    (*bodies)[i].scope.add_capture_inputs();
    n.bodies.push_back({std::string(graphs[i].name), (*bodies)[i].graph});
  }
  n.captures = uint32_t(captures.outer().size());
  n.inputs.insert(n.inputs.end(), captures.outer().begin(), captures.outer().end());
}

}  // namespace retort::onnx
