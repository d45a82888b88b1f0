#include "session/placement_report.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/text_file.h"
#include "ir/describe.h"
#include "ops/external.h"

namespace retort {
namespace {

constexpr size_t kNowhere = size_t(-1);

bool is_cpus(const Node& node) {
  const ExternalOp* op = external_op(node);
  return !op || op->provider() == kCpuProvider;
}

std::string counted(size_t n, std::string_view what) { return cat("{} {}{}", n, what, n == 1 ? "" : "s"); }

// The inputs that the provider saw, which are most often the reason: "it reads 'x' float32[n,3]".
std::string what_it_reads(const Graph& graph, const Node& node) {
  std::string all;
  for (const ValueId id : node.inputs) {
    if (id == ValueId::none) continue;
    const GraphValue& v = graph.value(id);
    const bool known = v.type.kind != ValueType::Kind::unknown;
    all += cat("{}'{}' {}", all.empty() ? "" : ", ", v.name, known ? type_text(graph, v.type) : "of unknown type");
  }
  return all.empty() ? "it reads nothing" : "it reads " + all;
}

// Why the provider does not run the node, as the provider reports it, if it does.
std::string why_not(const Provider& provider, const Graph& main, const Graph& left, NodeId id) {
  const std::string said = &left == &main ? provider.why_not(id) : "";
  if (!said.empty()) return "asked, did not claim it: " + said;
  return "asked, did not claim it" + (left.node(id).dead ? "" : "; " + what_it_reads(left, left.node(id)));
}

// Adds the labels of the nodes that are left, also of those in bodies.
void collect_left(const Graph& graph, std::set<std::string>& left) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    left.insert(node.origins.begin(), node.origins.end());
    left.insert(label(graph, node));
    for (const Body& b : node.bodies) collect_left(*b.graph, left);
  }
}

// "GPU 0 (vendor 0xbeef)"; several spaces are joined by "and".
std::string spaces_text(const std::vector<MemorySpace>& spaces) {
  std::string all;
  for (const MemorySpace& s : spaces) all += (all.empty() ? "" : " and ") + to_string(s);
  return all;
}

std::string size_text(const BorderCopy& copy) { return copy.bytes ? cat(", {} bytes", *copy.bytes) : ""; }

}  // namespace

PlacementReport::PlacementReport(const std::shared_ptr<const Graph>& graph) { add(graph, kNowhere); }

void PlacementReport::add(const std::shared_ptr<const Graph>& graph, size_t within) {
  for (const NodeId id : graph->order()) {
    const Node& n = graph->node(id);
    if (n.is("Constant")) continue;
    const size_t index = nodes_.size();
    nodes_.push_back(
        {.graph = graph, .within = within, .id = id, .name = label(*graph, n), .domain = n.domain, .type = n.type});
    for (const Body& b : n.bodies) add(b.graph, index);
  }
}

void PlacementReport::take_parts(std::span<const Assignment> parts, std::span<const std::shared_ptr<Provider>> asked,
                                 const Graph& left) {
  parts_.assign(parts.begin(), parts.end());
  for (const auto& provider : asked) providers_.push_back(provider->name());
  std::map<std::pair<const Graph*, NodeId>, const Assignment*> part_of;
  for (const Assignment& part : parts_) {
    for (const NodeId id : part.nodes) part_of[{part.graph, id}] = &part;
  }
  std::vector<const Assignment*> found(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Entry& entry = nodes_[i];
    const Assignment* outer = entry.within == kNowhere ? nullptr : found[entry.within];
    const auto own = part_of.find({entry.graph.get(), entry.id});
    // A part contains the bodies of its nodes, unless it is a single node.
    const Assignment* part = own != part_of.end() ? own->second : outer && !outer->single ? outer : nullptr;
    found[i] = part;
    if (part) {
      entry.provider = part->provider;
      entry.part = part->name;
    }
    const bool folded = !part && entry.graph->node(entry.id).dead;
    bool taken = false;
    for (const auto& provider : asked) {
      if (provider->name() == entry.provider)
        taken = true;
      else
        entry.others.push_back({provider->name(), taken    ? cat("not asked: {} had it before", entry.provider)
                                                  : folded ? "not asked: its value is known before any run"
                                                           : why_not(*provider, left, *entry.graph, entry.id)});
    }
  }
}

void PlacementReport::take_lowered(const Graph& graph) {
  std::set<std::string> left;
  collect_left(graph, left);
  for (Entry& entry : nodes_) entry.gone = entry.provider.empty() && !left.contains(entry.name);
  std::set<std::string> told;
  for (const Entry& entry : nodes_) {
    if (entry.gone || !entry.provider.empty()) continue;
    on_cpu_.push_back(cat("node '{}' ({})", entry.name, entry.type));
    told.insert(entry.name);
  }
  forbid_rest(graph, told);
}

// Adds the nodes that are left and that take_lowered() has not listed yet: those of a body that replaced its node.
void PlacementReport::forbid_rest(const Graph& graph, const std::set<std::string>& told) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (const Body& b : node.bodies) forbid_rest(*b.graph, told);
    const auto is_told = [&](const std::string& name) { return told.contains(name); };
    if (is_cpus(node) && !is_told(label(graph, node)) && std::ranges::none_of(node.origins, is_told))
      on_cpu_.push_back(describe(graph, node));
  }
}

void PlacementReport::take_spaces(const Graph& graph, const GraphSpaces& spaces) {
  copies_ = spaces.copies;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const GraphSpaces::Input* in = i < spaces.inputs.size() ? &spaces.inputs[i] : nullptr;
    const MemorySpace space = in ? in->space : MemorySpace();
    if (in && in->origin != i)
      inputs_[in->origin].spaces.push_back(space);
    else
      inputs_.push_back({graph.inputs[i] == ValueId::none ? "" : graph.value(graph.inputs[i]).name, {space}});
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const MemorySpace space = i < spaces.outputs.size() ? spaces.outputs[i] : MemorySpace();
    outputs_.push_back({graph.value(graph.outputs[i]).name, {space}});
  }
}

std::string PlacementReport::runs_on(const Entry& entry) {
  if (entry.gone) return "gone after optimisation";
  return entry.provider.empty() ? kCpuProvider : entry.provider;
}

std::string PlacementReport::summary() const {
  std::string text = counted(nodes_.size(), "node") + ":";
  std::string all;
  const auto add = [&](size_t n, const std::string& where) {
    if (n) all += cat("{} {} {}", all.empty() ? "" : ",", n, where);
  };
  for (const std::string& name : providers_) {
    const auto of = [&](const auto& x) { return x.provider == name; };
    const size_t parts = size_t(std::ranges::count_if(parts_, of));
    add(size_t(std::ranges::count_if(nodes_, of)), cat("on {} in {}", name, counted(parts, "part")));
  }
  const auto gone = size_t(std::ranges::count_if(nodes_, [](const Entry& e) { return e.gone; }));
  const auto claimed = size_t(std::ranges::count_if(nodes_, [](const Entry& e) { return !e.provider.empty(); }));
  add(nodes_.size() - gone - claimed, "on the CPU");
  add(gone, "gone after optimisation");
  text += all.empty() ? " nothing to run" : all;
  const std::string copies = copies_.size() == 1 ? "1 copy" : cat("{} copies", copies_.size());
  if (!providers_.empty()) text += cat("; {} at the borders", copies);
  return text;
}

std::vector<std::string> PlacementReport::lines() const {
  std::vector<std::string> all;
  for (const Entry& entry : nodes_) {
    std::string line = cat("node '{}' ({}): {}", entry.name, entry.type, runs_on(entry));
    if (!entry.part.empty()) line += cat(", part '{}'", entry.part);
    for (const Refusal& other : entry.others) line += cat("; {}: {}", other.provider, other.why);
    all.push_back(std::move(line));
  }
  for (const BorderCopy& copy : copies_)
    all.push_back(cat("'{}' is copied from {} to {} for {} in every run{}", copy.tensor, to_string(copy.from),
                      to_string(copy.to), copy.reader, size_text(copy)));
  for (const auto& [what, ports] : {std::pair("input", &inputs_), std::pair("output", &outputs_)}) {
    for (const Port& port : *ports)
      all.push_back(cat("{} '{}': {} {}", what, port.name,
                        port.spaces.size() > 1 || *what == 'i' ? "read in" : "made in", spaces_text(port.spaces)));
  }
  return all;
}

std::string PlacementReport::json() const {
  using View = std::string_view;
  JsonWriter json;
  json.open('{').field("summary", View(summary())).key("providers").open('[');
  for (const std::string& name : providers_) json.value(View(name));
  json.close(']').key("nodes").open('[');
  for (const Entry& entry : nodes_) {
    json.open('{').field("name", View(entry.name)).field("op", View(entry.type)).field("domain", View(entry.domain));
    json.field("provider", entry.provider.empty() ? View(kCpuProvider) : View(entry.provider));
    if (!entry.part.empty()) json.field("part", View(entry.part));
    if (entry.gone) json.field("gone", true);
    json.key("others").open('[');
    for (const Refusal& other : entry.others)
      json.open('{').field("provider", View(other.provider)).field("why", View(other.why)).close('}');
    json.close(']').close('}');
  }
  json.close(']').key("parts").open('[');
  for (const Assignment& part : parts_) {
    json.open('{').field("name", View(part.name)).field("provider", View(part.provider));
    json.field("nodes", part.nodes.size()).close('}');
  }
  json.close(']').key("copies").open('[');
  for (const BorderCopy& copy : copies_) {
    json.open('{').field("tensor", View(copy.tensor)).field("from", View(to_string(copy.from)));
    json.field("to", View(to_string(copy.to))).field("reader", View(copy.reader));
    if (copy.bytes) json.field("bytes", *copy.bytes);
    json.close('}');
  }
  json.close(']');
  for (const auto& [what, ports] : {std::pair("inputs", &inputs_), std::pair("outputs", &outputs_)}) {
    json.key(what).open('[');
    for (const Port& port : *ports) {
      json.open('{').field("name", View(port.name)).key("memory").open('[');
      for (const MemorySpace& space : port.spaces) json.value(View(to_string(space)));
      json.close(']').close('}');
    }
    json.close(']');
  }
  return json.close('}').take();
}

void PlacementReport::write(const std::string& path) const {
  TextFile file(path, "the report of session.placement");
  file.put(json() + "\n");
  file.finish();
}

void PlacementReport::forbid_cpu() const {
  constexpr size_t kNamed = 8;
  if (on_cpu_.empty()) return;
  std::string named;
  for (size_t i = 0; i < std::min(on_cpu_.size(), kNamed); ++i) named += (i ? ", " : "") + on_cpu_[i];
  if (on_cpu_.size() > kNamed) named += cat(" and {} more", on_cpu_.size() - kNamed);
  fail(ErrorCode::fail,
       "no provider takes {}, and session.disable_cpu_ep_fallback forbids the CPU; session.placement=1 logs why",
       named);
}

}  // namespace retort
