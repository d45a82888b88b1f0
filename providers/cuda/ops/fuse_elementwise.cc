// Joins connected elementwise nodes to expressions that one operator runs.
#include <algorithm>
#include <map>
#include <set>

#include "cuda/core/known.h"
#include "elementwise.h"

namespace providers::cuda {
namespace {

constexpr size_t kMostNodes = 24;
constexpr size_t kMostInputs = 12;  // tensors; constants of one element do not count
constexpr size_t kMostOutputs = 6;
constexpr int64_t kMostRead = 64;  // elements of an input of the part that the host may read before it plans

using Group = std::set<const Node*>;

class ElementwiseFusion {
 public:
  explicit ElementwiseFusion(Fusing& f) : f_(f) {
    for (size_t i = 0; i < f.nodes().size(); ++i) position_[f.nodes()[i]] = i;
    for (const Node* node : f.nodes()) note(*node);
  }
  void run() {
    for (const Node* node : f_.nodes()) {
      if (!joins(node)) continue;
      Group group{node};
      grow(group);
      if (group.size() > 1) unite(group);
    }
  }

 private:
  bool inside(const Node* node) const { return node && position_.count(node) > 0; }
  bool known(const Value* v) const;
  void note(const Node& node);
  bool joins(const Node* node) const { return joinable_.count(node) && !f_.taken(node); }
  std::vector<const Node*> neighbours(const Group& group) const;
  bool fits(const Group& group, const Node* node) const;
  bool reads_placed(const Node* reader, const Value* v) const;
  bool stays_closed(const Group& group, const Node* node) const;
  void grow(Group& group);
  std::vector<const Node*> ordered(const Group& group) const;
  std::vector<const Value*> outputs(const Group& group) const;
  size_t inputs(const Group& group) const;
  void unite(const Group& group);

  Fusing& f_;
  std::map<const Node*, size_t> position_;
  std::set<const Node*> joinable_;
  std::set<const Value*> known_;  // what the host evaluates while it plans: nodes for that stay alone
};

bool ElementwiseFusion::known(const Value* v) const {
  if (!v || v->constant || known_.count(v)) return true;
  if (inside(v->maker)) return false;
  if (!v->has_rank || v->rank() > 1 || (v->rank() == 1 && v->dims[0] > kMostRead)) return false;
  return !is_real_type(v->type) || v->rank() == 0 || v->dims[0] >= 0;
}

void ElementwiseFusion::note(const Node& node) {
  const bool all = std::all_of(node.in.begin(), node.in.end(), [&](const Value* v) { return known(v); });
  if (plannable(node) && (all || follows_from_shape(node)))
    known_.insert(node.out.begin(), node.out.end());
  else if (elementwise_refuses(node).empty())
    joinable_.insert(&node);
}

// Nodes that read a result of the group, or make an input of it, in the graph's order.
std::vector<const Node*> ElementwiseFusion::neighbours(const Group& group) const {
  std::set<std::pair<size_t, const Node*>> found;
  const auto see = [&](const Node* node) {
    if (inside(node) && !group.count(node) && joins(node)) found.insert({position_.at(node), node});
  };
  for (const Node* member : group) {
    for (const Value* v : member->in) see(v ? v->maker : nullptr);
    for (const Node* reader : f_.readers(member->out[0])) see(reader);
  }
  std::vector<const Node*> nodes;
  for (const auto& [position, node] : found) nodes.push_back(node);
  return nodes;
}

bool ElementwiseFusion::reads_placed(const Node* reader, const Value* v) const {
  for (size_t i = 0; i < reader->in.size(); ++i)
    if (reader->in[i] == v && is_placed(*reader, i)) return true;
  return false;
}

// Quick for nodes whose other inputs are older than the group: nothing can lie between.
bool ElementwiseFusion::stays_closed(const Group& group, const Node* node) const {
  size_t first = position_.at(*group.begin()), last = first;
  for (const Node* member : group) {
    first = std::min(first, position_.at(member));
    last = std::max(last, position_.at(member));
  }
  const bool older = std::all_of(node->in.begin(), node->in.end(), [&](const Value* v) {
    if (!v || !inside(v->maker) || group.count(v->maker)) return true;
    return !f_.taken(v->maker) && position_.at(v->maker) < first;
  });
  if (older && position_.at(node) > last) return true;
  std::vector<const Node*> all(group.begin(), group.end());
  all.push_back(node);
  return f_.closed(all);
}

std::vector<const Node*> ElementwiseFusion::ordered(const Group& group) const {
  std::vector<const Node*> nodes(group.begin(), group.end());
  std::sort(nodes.begin(), nodes.end(), [&](auto* a, auto* b) { return position_.at(a) < position_.at(b); });
  return nodes;
}

std::vector<const Value*> ElementwiseFusion::outputs(const Group& group) const {
  std::vector<const Value*> list;
  for (const Node* member : ordered(group)) {
    const auto readers = f_.readers(member->out[0]);
    const bool outside = std::any_of(readers.begin(), readers.end(), [&](const Node* r) { return !group.count(r); });
    if (outside || f_.is_output(member->out[0])) list.push_back(member->out[0]);
  }
  return list;
}

size_t ElementwiseFusion::inputs(const Group& group) const {
  std::set<const Value*> tensors;
  for (const Node* member : group) {
    for (const Value* v : member->in) {
      const bool scalar = v && v->constant && v->fixed() &&
                          std::all_of(v->dims.begin(), v->dims.end(), [](int64_t d) { return d == 1; });
      if (v && !scalar && !group.count(v->maker)) tensors.insert(v);
    }
  }
  return tensors.size();
}

bool ElementwiseFusion::fits(const Group& group, const Node* node) const {
  for (const Value* v : node->in)
    if (v && group.count(v->maker) && reads_placed(node, v)) return false;
  for (const Node* member : group)
    if (reads_placed(member, node->out[0])) return false;
  Group more = group;
  more.insert(node);
  return inputs(more) <= kMostInputs && outputs(more).size() <= kMostOutputs && stays_closed(group, node);
}

void ElementwiseFusion::grow(Group& group) {
  std::set<const Node*> refused;
  for (bool grown = true; grown && group.size() < kMostNodes;) {
    grown = false;
    for (const Node* node : neighbours(group)) {
      if (refused.count(node)) continue;
      if (fits(group, node)) {
        group.insert(node);
        grown = true;
        break;
      }
      refused.insert(node);
    }
  }
}

void ElementwiseFusion::unite(const Group& group) {
  const auto nodes = ordered(group);
  const auto results = outputs(group);
  if (results.empty()) return;
  Weaver weaver;
  for (const Node* node : nodes) weaver.add(*node);
  const std::string who = text(nodes[0]->who(), " and ", nodes.size() - 1, " elementwise nodes after it");
  f_.unite(nodes, weaver.finish(results, who, f_.builder()));
}

}  // namespace

void fuse_elementwise(Fusing& f) { ElementwiseFusion(f).run(); }

}  // namespace providers::cuda
