// Which operators the provider knows, and how nodes become operators of a part.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/graph.h"
#include "plan.h"

namespace providers::cuda {

/// What is known of values when nodes are claimed. Nodes are asked in the graph's order.
class Claiming {
 public:
  virtual ~Claiming() = default;
  /// Whether the host will know the value's elements when it plans: a constant, or computed from shapes and constants
  /// by operators of `plannable`. Also true for small integer tensors that no claimed node computes: such an input of
  /// a part is read by the host before the run.
  virtual bool known(const Value* value) const = 0;
};

class Builder;
class Expansion;

/// An operator type that the provider can run.
struct Kind {
  /// "" if the node can be run; otherwise why not, for the log: "axis is not the last".
  std::function<std::string(const Node&, const Claiming&)> refuses;
  std::function<std::unique_ptr<Op>(const Node&, Builder&)> make;
  /// Its output's shape depends on data: the node becomes a part of its own (core/alone.h).
  bool alone = false;
  /// "", or why a library that its kernels need besides NVRTC is missing; null if they need none.
  std::string (*missing)() = nullptr;
  /// Instead of `make`: adds the nodes that do the same (core/expansion.h).
  void (*expand)(Expansion&) = nullptr;
};
/// By domain ("" for ai.onnx) and type.
using Kinds = std::map<std::pair<std::string, std::string>, Kind>;
const Kinds& kinds();

/// While a part is compiled: numbers of values, and constants in other forms. Valid during the call.
class Builder {
 public:
  virtual ~Builder() = default;
  virtual Device& device() = 0;
  /// The number of a value of the graph; -1 for null. A constant whose number an operator has as an input is uploaded.
  virtual int number(const Value* value) = 0;
  /// A constant in another form, in device memory: made once per constant and `form` ("nhwc"), by a function of its
  /// elements.
  virtual int packed(const Value* constant, const std::string& form, Type type, const Dims& dims,
                     const std::function<std::vector<char>(const TensorView&)>& make) = 0;
  /// A constant that an operator makes of its attributes. `name`: for messages.
  virtual int made(const std::string& name, Type type, const Dims& dims, std::vector<char> bytes) = 0;
  /// Settings of the session: "use_tf32" and others, with their defaults filled in.
  virtual bool setting(const std::string& name) const = 0;
};

/// Several nodes that one operator runs. Found while a part is compiled, before `Kind::make` makes the rest.
class Fusing {
 public:
  virtual ~Fusing() = default;
  /// The nodes of the part, in the graph's order.
  virtual const std::vector<const Node*>& nodes() const = 0;
  virtual bool taken(const Node* node) const = 0;
  /// Nodes of the part that read the value.
  virtual std::vector<const Node*> readers(const Value* value) const = 0;
  /// The only reader of a value that is not an output of the part; null if it has several, or if that one is taken.
  virtual const Node* only_reader(const Value* value) const = 0;
  virtual bool is_output(const Value* value) const = 0;
  /// Whether the nodes can run as one: no path leaves them and comes back.
  virtual bool closed(const std::vector<const Node*>& nodes) const = 0;
  virtual Builder& builder() = 0;
  /// Takes the nodes. `op` has its inputs, outputs and name already. Values between the nodes that are not among its
  /// outputs vanish.
  virtual void unite(const std::vector<const Node*>& nodes, std::unique_ptr<Op> op) = 0;
};
/// The fusions, in the order in which they are tried on the whole part.
using Fusion = void (*)(Fusing&);
const std::vector<Fusion>& fusions();

/// Sets `in`, `out` and `who` of an operator that runs one node.
void bind(Op& op, const Node& node, Builder& builder);
/// `Kind::make` of an operator that needs nothing but the node's attributes.
template <typename T>
std::unique_ptr<Op> make_op(const Node& node, Builder& builder) {
  auto op = std::make_unique<T>(node);
  bind(*op, node, builder);
  return op;
}

// Each file of ops/ adds what it has.
void add_elementwise(Kinds& kinds);  // elementwise.cc
void add_shapes(Kinds& kinds);       // shapes.cc: Shape, Reshape, Squeeze, Unsqueeze, Flatten, Identity, Range…
void add_moves(Kinds& kinds);       // moves*.cc: Transpose, Concat, Slice, Split, Gather, Scatter, Pad, Tile, Expand…
void add_reductions(Kinds& kinds);  // reductions.cc: Reduce*, ArgMax, Softmax, CumSum, TopK…
void add_norms(Kinds& kinds);       // norms.cc: LayerNormalization and its kin
void add_products(Kinds& kinds);    // products*.cc: MatMul, Gemm, FusedMatMul, MatMulInteger…
void add_nbits(Kinds& kinds);       // nbits.cc: MatMulNBits, GatherBlockQuantized
void add_convolutions(Kinds& kinds);  // convolutions*.cc: Conv, ConvTranspose, pools, BatchNormalization
void add_attention(Kinds& kinds);     // attention*.cc
void add_resize(Kinds& kinds);        // resize.cc: Resize, Upsample, GridSample
void add_alone(Kinds& kinds);         // alone*.cc: NonMaxSuppression, NonZero…
void add_trees(Kinds& kinds);         // trees.cc: TreeEnsemble and its kin
void add_experts(Kinds& kinds);       // experts.cc: MoE, QMoE
void add_expanded(Kinds& kinds);      // expand*.cc: QLinear… and others that become several nodes

void fuse_attention(Fusing& f);
void fuse_norms(Fusing& f);
void fuse_products(Fusing& f);
void fuse_convolutions(Fusing& f);
void fuse_elementwise(Fusing& f);  // last

}  // namespace providers::cuda
