// Compiles the nodes of a part: fusions first, then one operator for each node that is left, sorted so that values are
// made before they are read.
#include <algorithm>
#include <map>
#include <queue>

#include "expansion.h"
#include "known.h"
#include "known_data.h"
#include "program.h"
#include "transfer.h"

namespace providers::cuda {
namespace {

/// The values and constants of a part.
class Values : public Builder {
 public:
  Values(Program& program, Device& device, const Settings& settings)
      : program_(program), device_(device), stream_(copy_stream(device)), settings_(settings) {}
  ~Values() { driver().stream_synchronize(stream_); }  // copies may still read what is packed
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  Device& device() override { return device_; }
  int number(const Value* value) override {
    if (!value || value->name.empty()) return -1;
    const auto [at, is_new] = by_name_.try_emplace(value->name, int(program_.values.size()));
    if (is_new) {
      program_.values.emplace_back().name = value->name;
      if (value->constant) constants_[at->second] = value->constant;
    }
    return at->second;
  }
  int packed(const Value* constant, const std::string& form, Type type, const Dims& dims,
             const std::function<std::vector<char>(const TensorView&)>& make) override;
  int made(const std::string& name, Type type, const Dims& dims, std::vector<char> bytes) override;
  bool setting(const std::string& name) const override {
    const auto at = settings_.find(name);
    return at != settings_.end() && at->second;
  }
  int number_of(const std::string& name) {
    Value value;
    value.name = name;
    return number(&value);
  }
  /// Uploads the constants that operators read.
  void upload();

 private:
  int add_packed(const std::string& name, Type type, const Dims& dims);
  void add_constant(int number, const TensorView& tensor);

  Program& program_;
  Device& device_;
  const CUstream stream_;
  const Settings& settings_;
  std::map<std::string, int> by_name_;
  std::map<int, const OrtValue*> constants_;
  std::vector<std::vector<char>> packed_;  // kept until their copies are done
  size_t packed_bytes_ = 0;
};

constexpr size_t kMostPacked = size_t(256) << 20;  // bytes on the host

int Values::packed(const Value* constant, const std::string& form, Type type, const Dims& dims,
                   const std::function<std::vector<char>(const TensorView&)>& make) {
  if (!constant || !constant->constant)
    throw Error(text("value '", constant ? constant->name : "", "' is not a constant, so it has no form '", form, "'"));
  const auto [at, is_new] = by_name_.try_emplace(constant->name + "\n" + form, int(program_.values.size()));
  if (!is_new) return at->second;
  packed_.push_back(make(view_of(constant->constant)));
  return add_packed(constant->name + " as " + form, type, dims);
}

int Values::made(const std::string& name, Type type, const Dims& dims, std::vector<char> bytes) {
  packed_.push_back(std::move(bytes));
  return add_packed(name, type, dims);
}

// A value whose elements are the last of packed_.
int Values::add_packed(const std::string& name, Type type, const Dims& dims) {
  const int number = int(program_.values.size());
  program_.values.emplace_back().name = name;
  TensorView tensor;
  tensor.type = type;
  tensor.dims = dims;
  tensor.data = packed_.back().data();
  if (tensor.bytes() > packed_.back().size())
    throw Error(text("constant '", name, "' has ", packed_.back().size(), " bytes, not ", tensor.bytes()));
  add_constant(number, tensor);
  packed_bytes_ += packed_.back().size();
  if (packed_bytes_ > kMostPacked) {
    check(driver().stream_synchronize(stream_), "copying constants");
    packed_.clear();
    packed_bytes_ = 0;
  }
  return number;
}

void Values::add_constant(int number, const TensorView& tensor) {
  Constant made;
  made.operand.type = tensor.type;
  made.operand.dims = tensor.dims;
  made.operand.known = load_known(tensor);
  if (const size_t bytes = tensor.bytes()) {
    made.memory = Block(device_, bytes);
    check(driver().copy_to_device(made.memory.address(), tensor.data, bytes, stream_), "copying a constant");
  }
  program_.values[size_t(number)].constant = int(program_.constants.size());
  program_.constants.push_back(std::move(made));
}

void Values::upload() {
  std::set<int> read;
  for (const auto& op : program_.ops)
    for (const auto* list : {&op->in, &op->known_in}) read.insert(list->begin(), list->end());
  for (const auto& [number, value] : constants_)
    if (read.count(number)) add_constant(number, view_of(value));
  check(driver().stream_synchronize(stream_), "copying constants");
  packed_.clear();
}

/// Nodes that one operator runs.
struct Unit {
  std::vector<const Node*> nodes;
  std::unique_ptr<Op> op;
  size_t first = 0, last = 0;  ///< the positions in the graph of its first and its last node
};

class Compiler : public Fusing {
 public:
  Compiler(const Graph& graph, const std::vector<std::string>& outputs, Values& values)
      : outputs_(outputs.begin(), outputs.end()), values_(values) {
    for (const Node& node : graph.nodes()) {
      const auto kind = kinds().find({node.domain, node.type});
      if (kind == kinds().end() || !kind->second.expand) {
        add(node);
        continue;
      }
      kind->second.expand(expansions_.emplace_back(node));
      if (expansions_.back().nodes().empty()) add(node);
      for (const Node& part : expansions_.back().nodes()) {
        add(part);
        for (const Value* v : part.out)  // the graph is this part's own
          if (v) const_cast<Value*>(v)->maker = &part;
      }
    }
  }

  const std::vector<const Node*>& nodes() const override { return nodes_; }
  bool taken(const Node* node) const override { return taken_.count(node) > 0; }
  std::vector<const Node*> readers(const Value* value) const override {
    const auto at = readers_.find(value);
    return at == readers_.end() ? std::vector<const Node*>{} : at->second;
  }
  const Node* only_reader(const Value* value) const override {
    const auto all = readers(value);
    return all.size() == 1 && !is_output(value) && !taken(all[0]) ? all[0] : nullptr;
  }
  bool is_output(const Value* value) const override { return outputs_.count(value->name) > 0; }
  bool closed(const std::vector<const Node*>& nodes) const override;
  Builder& builder() override { return values_; }
  void unite(const std::vector<const Node*>& nodes, std::unique_ptr<Op> op) override {
    size_t first = SIZE_MAX, last = 0;
    for (const Node* n : nodes) {
      taken_.insert(n);
      unit_of_[n] = units_.size();
      first = std::min(first, position_.at(n));
      last = std::max(last, position_.at(n));
    }
    units_.push_back({nodes, std::move(op), first, last});
  }

  void make_rest();
  std::vector<Unit> sorted();

 private:
  size_t horizon(const std::vector<const Node*>& nodes) const;
  void add(const Node& node) {
    position_[&node] = nodes_.size();
    nodes_.push_back(&node);
    for (const auto* list : {&node.in, &node.implicit})
      for (const Value* v : *list)
        if (v) readers_[v].push_back(&node);
  }

  std::set<std::string> outputs_;
  Values& values_;
  std::deque<Expansion> expansions_;
  std::vector<const Node*> nodes_;
  std::map<const Node*, size_t> position_;
  std::map<const Value*, std::vector<const Node*>> readers_;
  std::set<const Node*> taken_;
  std::vector<Unit> units_;
  std::map<const Node*, size_t> unit_of_;
};

// Up to where a path may go that leads back to these nodes: the last of them, or of a unit that begins before.
size_t Compiler::horizon(const std::vector<const Node*>& nodes) const {
  size_t last = 0;
  for (const Node* n : nodes) last = std::max(last, position_.at(n));
  for (size_t before = SIZE_MAX; before != last;) {
    before = last;
    for (const Unit& unit : units_)
      if (unit.first <= last) last = std::max(last, unit.last);
  }
  return last;
}

// Follows what reads the nodes' results through other nodes; units that are united already are followed as a whole.
bool Compiler::closed(const std::vector<const Node*>& nodes) const {
  const std::set<const Node*> inside(nodes.begin(), nodes.end());
  const size_t last = horizon(nodes);
  std::set<const Node*> seen;
  std::vector<const Node*> open;
  const auto follow = [&](const Node* node, bool may_return) {
    for (const Value* v : node->out)
      for (const Node* reader : v ? readers(v) : std::vector<const Node*>{}) {
        if (!may_return && inside.count(reader)) continue;
        if (position_.at(reader) <= last && seen.insert(reader).second) open.push_back(reader);
      }
  };
  for (const Node* n : nodes) follow(n, false);
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    if (inside.count(node)) return false;
    const auto unit = unit_of_.find(node);
    if (unit == unit_of_.end()) {
      follow(node, true);
      continue;
    }
    for (const Node* n : units_[unit->second].nodes) follow(n, true);
  }
  return true;
}

void Compiler::make_rest() {
  for (const Node* node : nodes_) {
    if (taken(node)) continue;
    const auto kind = kinds().find({node->domain == "ai.onnx" ? "" : node->domain, node->type});
    if (kind == kinds().end()) throw Error(node->who() + " was claimed, but the provider cannot run this type");
    auto op = kind->second.make(*node, values_);
    if (op->who.empty()) bind(*op, *node, values_);
    if (node->handle) op->known = make_known(*node);  // attributes of other nodes are not the host's
    if (op->known)
      for (const Value* v : node->in) op->known_in.push_back(values_.number(v));
    unite({node}, std::move(op));
  }
}

std::vector<Unit> Compiler::sorted() {
  std::map<const Node*, size_t> unit_of;
  for (size_t u = 0; u < units_.size(); ++u)
    for (const Node* n : units_[u].nodes) unit_of[n] = u;
  std::vector<std::set<size_t>> after(units_.size());
  std::vector<size_t> waits(units_.size(), 0), place(units_.size(), 0);
  for (const auto& [node, u] : unit_of) {
    place[u] = std::max(place[u], position_[node]);
    for (const Value* v : node->out)
      for (const Node* reader : v ? readers(v) : std::vector<const Node*>{})
        if (unit_of[reader] != u && after[u].insert(unit_of[reader]).second) ++waits[unit_of[reader]];
  }
  using Entry = std::pair<size_t, size_t>;  // place in the graph, unit
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (size_t u = 0; u < units_.size(); ++u)
    if (waits[u] == 0) ready.push({place[u], u});
  std::vector<Unit> result;
  while (!ready.empty()) {
    const size_t u = ready.top().second;
    ready.pop();
    for (const size_t next : after[u])
      if (--waits[next] == 0) ready.push({place[next], next});
    result.push_back(std::move(units_[u]));
  }
  if (result.size() != units_.size()) throw Error("a fusion of nodes reads its own results through other nodes");
  return result;
}

// From which inputs of the part the host can compute each value.
void find_sources(Program& program) {
  for (ProgramValue& v : program.values)
    if (v.input >= 0) v.sources.insert(v.input);
  for (const auto& op : program.ops) {
    if (!op->known) continue;
    std::set<int> sources;
    bool all = true;
    for (const int i : op->known_in) {
      if (i < 0 || program.values[size_t(i)].constant >= 0) continue;
      const auto& more = program.values[size_t(i)].sources;
      sources.insert(more.begin(), more.end());
      all = all && !more.empty();
    }
    if (!all) continue;
    for (const int o : op->out)
      if (o >= 0) program.values[size_t(o)].sources.insert(sources.begin(), sources.end());
  }
}

}  // namespace

std::unique_ptr<Program> compile_program(const Graph& graph, const std::vector<std::string>& inputs,
                                         const std::vector<std::string>& outputs, Device& device,
                                         const Settings& settings) {
  auto program = std::make_unique<Program>();
  Values values(*program, device, settings);
  program->inputs = inputs.size();
  program->outputs = outputs.size();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const int v = values.number_of(inputs[i]); v >= 0) program->values[size_t(v)].input = int(i);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (const int v = values.number_of(outputs[i]); v >= 0) program->values[size_t(v)].output = int(i);
  Compiler compiler(graph, outputs, values);
  for (const Fusion fuse : fusions()) fuse(compiler);
  compiler.make_rest();
  for (Unit& unit : compiler.sorted()) program->ops.push_back(std::move(unit.op));
  values.upload();
  find_sources(*program);
  return program;
}

}  // namespace providers::cuda
