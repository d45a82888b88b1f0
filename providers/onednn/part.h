// A compiled group of nodes: operations over values, and what they become for the shapes of a run.
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

/// An element-wise function, or the sum with a value (`add`), behind another operation.
struct PostOp {
  dnnl::algorithm function = dnnl::algorithm::undef;
  float alpha = 0, beta = 0;
  int add = -1;  ///< value that is added; then there is no function
};

class Builder;
struct Program;
struct Quantization;

/// An operation of a part. It says how it is built for shapes, which `Builder` knows.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual void build(Builder& b) const = 0;
  /// Whether `post` is carried out by build.
  virtual bool takes_post() const { return false; }
  /// y * scale + shift for each channel (axis 1) becomes part of it; false where it cannot.
  virtual bool fold(Program&, const std::vector<float>& /*scale*/, const std::vector<float>& /*shift*/) {
    return false;
  }
  /// Sum with a constant along the last axis becomes part of it; false where it cannot.
  virtual bool fold_bias(const Program&, int /*value*/) { return false; }

  /// The same on 8-bit integers; null where it has no such form.
  virtual std::unique_ptr<Operation> quantized(Quantization) const;

  std::string who;      ///< for messages: "node 'name' (Type)"
  std::string type;     ///< of the node
  std::vector<int> in;  ///< values, -1: left out
  int out = -1;
  std::vector<int> outs;  ///< of operators with several results, in place of `out`; -1: left out
  std::vector<PostOp> post;
};

/// A value of a part.
struct Slot {
  std::string name;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  int input = -1;   ///< of the part
  int output = -1;  ///< of the part
  std::shared_ptr<Weights> constant;
  int uses = 0;  ///< by operations
};

/// What a part computes, after fusion.
struct Program {
  std::string name;
  std::vector<Slot> values;
  std::vector<std::unique_ptr<Operation>> operations;
  std::vector<int> inputs, outputs;
  Settings settings;

  void count_uses();
  /// The operation that makes a value, and the only one that reads it; null where there is none or another.
  Operation* maker(int value) const;
  Operation* only_reader(int value) const;
};

/// Puts operations together where one primitive does for several.
void fuse(Program& program);

class Instance;

/// Runs a program. Instances for the last shapes are kept; each serves one run at a time.
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
