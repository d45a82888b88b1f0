// Products of one value with several matrices of codes become one operator: the projections to queries, keys and values,
// for instance. A product of one row is then one launch.
#include <map>
#include <tuple>

#include "common/sizes.h"
#include "products.h"

namespace providers::cuda {
namespace {

constexpr size_t kMostSiblings = 8;
constexpr size_t kScales = 2, kZeros = 3, kBias = 5;  // inputs of MatMulNBits
constexpr size_t kInputs = 6;

// What siblings have in common: A, K, bits, the block, types of zero points, whether there is a bias.
using Key = std::tuple<const Value*, int64_t, int64_t, int64_t, int, bool>;

// Whether the input is a constant of `count` elements, or left out.
bool has(const Node& node, size_t i, int64_t count) {
  const Value* value = node.input(i);
  return !value || (value->constant && view_of(value->constant).bytes() == size_t(count) * size_of(value->type));
}

bool can_join(const Fusing& f, const Node& node) {
  if (node.domain != "com.microsoft" || node.type != "MatMulNBits" || f.taken(&node) || !node.out[0]) return false;
  const Value *a = node.input(0), *zeros = node.input(kZeros);
  const int64_t n = node.integer("N", 0), bits = node.integer("bits", 4), block = node.integer("block_size", 0);
  const int64_t blocks = ceil_div(node.integer("K", 0), block);
  const bool packed = zeros && zeros->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
  // The results of one row lie side by side, and kernels read them by 16 bytes.
  return a && !a->constant && node.input(1) && node.input(kScales) && n * int64_t(size_of(a->type)) % 16 == 0 &&
         has(node, 1, n * blocks * (block * bits / 8)) && has(node, kScales, n * blocks) &&
         has(node, kZeros, n * (packed ? ceil_div(blocks * bits, 8) : blocks)) && has(node, kBias, n);
}

Key key_of(const Node& node) {
  const Value* zeros = node.input(kZeros);
  return {node.input(0),
          node.integer("K", 0),
          node.integer("bits", 4),
          node.integer("block_size", 0),
          zeros ? int(zeros->type) : -1,
          node.input(kBias) != nullptr};
}

// Input `i` of all nodes, one after the other; -1 if they have none.
int joined(Builder& builder, const std::vector<const Node*>& nodes, size_t i) {
  const Value* first = nodes[0]->input(i);
  if (!first) return -1;
  std::string form = "one after the other";
  int64_t count = 0;
  for (const Node* node : nodes) {
    const TensorView view = view_of(node->input(i)->constant);
    form += "\n" + node->input(i)->name;
    count += int64_t(view.bytes() / size_of(first->type));
  }
  return builder.packed(first, form, first->type, {count}, [&](const TensorView&) {
    std::vector<char> all;
    for (const Node* node : nodes) {
      const TensorView view = view_of(node->input(i)->constant);
      const auto* bytes = static_cast<const char*>(view.data);
      all.insert(all.end(), bytes, bytes + view.bytes());
    }
    return all;
  });
}

void unite(Fusing& f, const std::vector<const Node*>& nodes) {
  if (!f.closed(nodes)) return;
  Builder& builder = f.builder();
  std::vector<int64_t> columns;
  for (const Node* node : nodes) columns.push_back(node->integer("N", 0));
  const auto& [a, k, bits, block, zeros, biased] = key_of(*nodes[0]);
  auto op = nbits_op(k, columns, bits, block, builder.setting("use_tf32"));
  op->who = nodes.front()->who() + text(" and ", nodes.size() - 1, " beside it");
  op->in = {builder.number(a)};
  for (size_t i = 1; i < kInputs; ++i) op->in.push_back(joined(builder, nodes, i));
  for (const Node* node : nodes) op->out.push_back(builder.number(node->out[0]));
  f.unite(nodes, std::move(op));
}

}  // namespace

void fuse_nbits(Fusing& f) {
  std::map<Key, std::vector<const Node*>> groups;
  std::vector<Key> order;
  for (const Node* node : f.nodes()) {
    if (!can_join(f, *node)) continue;
    auto& group = groups[key_of(*node)];
    if (group.empty()) order.push_back(key_of(*node));
    if (group.size() < kMostSiblings) group.push_back(node);
  }
  for (const Key& key : order)
    if (groups[key].size() > 1) unite(f, groups[key]);
}

}  // namespace providers::cuda
