// Convolutions by cuDNN: execution plans by problem, chosen by cuDNN's heuristics and by trying the first ones.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dnn_plan.h"
#include "recent.h"

namespace providers::cuda {

/// A function of one number that follows a convolution; alpha and beta are its constants. kernels/conv.cu has the same
/// numbers.
enum class ConvActivation {
  none = 0,
  relu = 1,
  clip = 2,        ///< to alpha … beta
  leaky_relu = 3,  ///< slope alpha
  sigmoid = 4,
  tanh = 5,
  swish = 6,         ///< v * sigmoid(alpha * v)
  hard_sigmoid = 7,  ///< alpha * v + beta, within 0 … 1
  hard_swish = 8     ///< v * hard_sigmoid(v)
};

/// What follows a convolution: activation(convolution + residual + bias).
struct ConvEpilogue {
  bool bias = false;      ///< one number per channel
  bool residual = false;  ///< a tensor like the output
  ConvActivation activation = ConvActivation::none;
  float alpha = 0, beta = 0;
  bool empty() const { return !bias && !residual && activation == ConvActivation::none; }
};

/// A convolution for cuDNN. Tensors have a batch, channels and 2 or 3 spatial axes; the filter is {outputs, channels of
/// a group, spatial...}. Pads are not negative.
struct ConvProblem {
  /// The gradient of a convolution by its data: `x` is what the convolution would make and `y` what it would read.
  bool transposed = false;
  Type type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  bool channels_last = false;  ///< all tensors and the filter
  bool tf32 = false;           ///< float32 products may be rounded to 10 bits
  Dims x, w, y, strides, dilations, begins, ends;
  ConvEpilogue epilogue;

  std::string key() const;
};

struct ConvPointers {
  Address x = 0, w = 0, y = 0, bias = 0, residual = 0, workspace = 0;
};

/// One way to run a problem. Thread-safe.
class ConvPlan {
 public:
  ConvPlan(dnn::Handles& owner, const ConvProblem& problem, std::shared_ptr<const void> graph,
           dnn::Descriptor configuration, dnn::Handle handle);
  size_t workspace() const { return plan_.workspace(); }
  /// Whether it does the problem's epilogue; otherwise it writes the bare convolution.
  bool fused() const { return fused_; }
  float microseconds() const { return microseconds_; }   ///< of a run; negative: not measured
  const std::string& engine() const { return engine_; }  ///< number and notes, for logs
  /// Submits to the stream. Neither waits nor allocates device memory.
  void run(CUstream stream, const ConvPointers& at) const;

 private:
  friend class Convolutions;
  dnn::Plan plan_;
  bool fused_ = false, bias_ = false, residual_ = false;
  float microseconds_ = -1;
  std::string engine_;
};

/// cuDNN's convolutions on one device. Thread-safe.
class Convolutions {
 public:
  Convolutions(Device& device, dnn::Handles& handles);

  /// The plan for a problem, kept in the process; null if no engine of cuDNN supports it. `search`: tries the first
  /// plans on the device and keeps the fastest; otherwise the first that is supported.
  std::shared_ptr<const ConvPlan> plan(const ConvProblem& problem, bool search);
  /// Why engines were refused for the problem, for messages.
  std::string refusals(const ConvProblem& problem);

  /// Up to `most` plans for exactly this problem, in the order of the heuristics, each measured if `measure`.
  /// `reasons` gets a line for each configuration that was refused.
  std::vector<std::shared_ptr<ConvPlan>> candidates(const ConvProblem& problem, size_t most, bool measure,
                                                    std::string& reasons);

 private:
  std::shared_ptr<const ConvPlan> choose(const ConvProblem& problem, bool search);

  Device& device_;
  dnn::Handles& handles_;
  std::mutex planning_;  // one thread plans at a time, so that measurements do not disturb each other
  Recent<ConvPlan> plans_{2000};
};

}  // namespace providers::cuda
