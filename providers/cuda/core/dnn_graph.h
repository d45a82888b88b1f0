// Operation graphs of cuDNN: how they are built, and the engines that can run them.
#pragma once
#include <deque>
#include <optional>

#include "dnn.h"

namespace providers::cuda::dnn {

/// An operation graph with all descriptors that it refers to.
struct Graph {
  std::vector<Descriptor> parts;  ///< the operation graph is the last
  const Descriptor& graph() const { return parts.back(); }
};

/// A tensor of a graph. Its number is CUDNN_ATTR_TENSOR_UNIQUE_ID.
struct TensorFacts {
  int64_t id = 0;
  int type = kTypeFloat;
  std::vector<int64_t> dims, strides;
  bool within = false;    ///< virtual: it has no memory
  bool by_value = false;  ///< one number, which the host gives
};

/// What a pointwise operation does, and where its descriptors are.
struct PointwiseFacts {
  int mode = 0, precision = kTypeFloat;
  size_t x = 0;
  std::optional<size_t> b, t;  ///< the second operand; the condition of kSelect
  size_t y = 0;
  std::optional<int64_t> axis;  ///< of kIndex
};

/// Builds a graph, one descriptor after the other. They are known by their place in Graph::parts. Throws Error with
/// cuDNN's reason if one is refused.
class GraphMaker {
 public:
  explicit GraphMaker(Graph& made) : made_(made) {}
  size_t keep(Descriptor d);
  size_t tensor(const TensorFacts& t);
  void pointwise(const PointwiseFacts& p);
  /// An operation that is complete.
  void operation(Descriptor d) { operations_.push_back(keep(std::move(d))); }
  const Descriptor& part(size_t i) const { return made_.parts[i]; }
  void finish(Handle handle);

 private:
  Graph& made_;
  std::vector<size_t> operations_;
};

/// Engine configurations in the order of a heuristics mode; `reasons` gets a line if the mode gives none.
std::vector<Descriptor> configurations(const Graph& graph, int mode, std::string& reasons);

/// Number of an engine and its numerical notes.
struct EngineFacts {
  int64_t index = -1;
  std::vector<int> notes;
  bool compiled = false;  ///< NVRTC compiles its kernel when the plan is made, which takes seconds
  bool has(int note) const;
  std::string text() const;
};
EngineFacts facts_of(const Descriptor& configuration);

/// cudnnDataType_t of float32, float16 and bfloat16.
int data_type(Type type);

}  // namespace providers::cuda::dnn
