// The plug-in: claims nodes that the library runs, and compiles groups of them.
#include "common/partition.h"
#include "operators.h"

namespace onednn {
namespace {

using providers::Compilation;
using providers::Error;
using providers::Graph;
using providers::text;

// Converts a group of nodes to a program, with values by name.
class Lowering {
 public:
  Lowering(const Compilation& what, const Settings& settings) : what_(what) {
    program_.name = what.name;
    program_.settings = settings;
  }

  Program program() {
    for (const std::string& name : what_.inputs)
      program_.inputs.push_back(-1), input_ids_[name] = program_.inputs.size() - 1;
    for (const Node& node : what_.graph.nodes()) add(node);
    for (const std::string& name : what_.outputs) {
      const auto at = ids_.find(name);
      if (at == ids_.end()) throw Error(text(what_.name, ": output '", name, "' is made by none of its nodes"));
      program_.values[size_t(at->second)].output = int(program_.outputs.size());
      program_.outputs.push_back(at->second);
    }
    fuse(program_);
    return std::move(program_);
  }

 private:
  int id_of(const Value* v) {
    if (!v) return -1;
    const auto known = ids_.find(v->name);
    if (known != ids_.end()) return known->second;
    Slot slot;
    slot.name = v->name;
    slot.type = v->type;
    const int id = int(program_.values.size());
    if (v->constant) {
      slot.constant = std::make_shared<Weights>(providers::view_of(v->constant));
    } else if (const auto at = input_ids_.find(v->name); at != input_ids_.end()) {
      slot.input = int(at->second);
      program_.inputs[at->second] = id;
    }
    program_.values.push_back(std::move(slot));
    return ids_[v->name] = id;
  }

  void add(const Node& node) {
    const Rule* rule = rule_for(node);
    if (!rule)
      throw Error(text(what_.name, ": ", node.who(), " was not claimed, but is to be compiled; its inputs are ",
                       node.inputs_text()));
    std::unique_ptr<Operation> op = rule->make(node);
    op->who = node.who();
    op->type = node.type;
    for (const Value* v : node.in) {
      op->in.push_back(id_of(v));
      if (rule->first) break;
    }
    if (rule->many)
      for (const Value* v : node.out) op->outs.push_back(id_of(v));
    else
      op->out = id_of(node.out[0]);
    program_.operations.push_back(std::move(op));
  }

  const Compilation& what_;
  Program program_;
  std::map<std::string, int> ids_;
  std::map<std::string, size_t> input_ids_;
};

class OneDnn : public providers::Provider {
 public:
  explicit OneDnn(Settings settings) : settings_(std::move(settings)) {}

  std::vector<std::vector<const Node*>> claim(const Graph& graph) override {
    auto groups = providers::groups_of(
        graph, [&](const Node& n) { return !settings_.disabled.count(n.type) && rule_for(n) != nullptr; });
    // Groups that only change views of memory compute nothing.
    std::erase_if(groups, [](const auto& group) {
      return std::all_of(group.begin(), group.end(), [](const Node* n) { return rule_for(*n)->moves; });
    });
    return groups;
  }

  std::unique_ptr<providers::Part> compile(const Compilation& what) override {
    const Threads threads(settings_.threads);
    return std::make_unique<CompiledPart>(Lowering(what, settings_).program());
  }

 private:
  const Settings settings_;
};

const providers::Description kDescription = {
    kName, "Retort", "0.1.0", [](const providers::Options& options) -> std::unique_ptr<providers::Provider> {
      return std::make_unique<OneDnn>(read_settings(options));
    }};

}  // namespace
}  // namespace onednn

RETORT_PROVIDER(onednn::kDescription)
