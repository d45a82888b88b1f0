// A compiled group of nodes: operations on values, and their primitives for the shapes of a run.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "common/instances.h"
#include "common/plugin.h"
#include "settings.h"
#include "weights.h"

namespace onednn {

using providers::Dims;

/// An elementwise function, or the sum with a value (`add`), after another operation.
struct PostOp {
  dnnl::algorithm function = dnnl::algorithm::undef;
  float alpha = 0, beta = 0;
  int add = -1;  ///< the value to add; there is no function then
};

class Builder;
struct Program;
struct Quantization;

/// An operation of a part. It can build its steps for shapes that `Builder` knows.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual void build(Builder& b) const = 0;
  /// Whether build() applies `post`.
  virtual bool takes_post() const { return false; }
  /// Makes y * scale + shift per channel (axis 1) part of it; returns false if it cannot.
  virtual bool fold(Program&, const std::vector<float>& /*scale*/, const std::vector<float>& /*shift*/) {
    return false;
  }
  /// Makes the sum with a constant along the last axis part of it; returns false if it cannot.
  virtual bool fold_bias(const Program&, int /*value*/) { return false; }

  /// The same on 8-bit integers; null if there is no such form.
  virtual std::unique_ptr<Operation> quantized(Quantization) const;

  std::string who;      ///< for messages: "node 'name' (Type)"
  std::string type;     ///< of the node
  std::vector<int> in;  ///< values, -1: omitted
  int out = -1;
  std::vector<int> outs;  ///< for operators with several results, in place of `out`; -1: omitted
  std::vector<PostOp> post;
};

/// A value of a part.
struct Slot {
  std::string name;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  int input = -1;   ///< index among the part's inputs
  int output = -1;  ///< index among the part's outputs
  std::shared_ptr<Weights> constant;
  int uses = 0;  ///< number of reading operations
};

/// The computation of a part, after fusion.
struct Program {
  std::string name;
  std::vector<Slot> values;
  std::vector<std::unique_ptr<Operation>> operations;
  std::vector<int> inputs, outputs;
  Settings settings;

  void count_uses();
  /// The operation that computes a value, and the only one that reads it; null if there is none or several.
  Operation* maker(int value) const;
  Operation* only_reader(int value) const;
};

/// Merges operations that one primitive can do together.
void fuse(Program& program);

class Instance;

/// Runs a program. Instances for the last shapes are kept; each is used by one run at a time.
class CompiledPart : public providers::Part {
 public:
  explicit CompiledPart(Program program);
  ~CompiledPart() override;
  void run(OrtKernelContext* context) override;

 private:
  const Program program_;
  providers::Instances<Instance> instances_;
};

}  // namespace onednn
