// Convolutions as operators of a part: one class for Conv, ConvTranspose and what follows them.
#pragma once
#include "conv_kernels.h"

namespace providers::cuda {

/// Inputs of a ConvOp, in their order.
enum ConvInput : size_t {
  kConvX = 0,
  kConvW = 1,
  kConvBias = 2,
  kConvResidual = 3,   ///< added before the activation
  kConvDepthwise = 4,  ///< the filter for kernels of depthwise convolutions
  kConvPadded = 5      ///< the filter with its channels padded
};

class ConvOp : public Op {
 public:
  /// Reads the node's attributes and packs its filter; `in` has the node's inputs. The caller sets `out` and `who`.
  ConvOp(const Node& node, Builder& builder);
  void emit(Emitter& e) const override;

  ConvEpilogue epilogue;  ///< `bias` and `residual` follow from the inputs

 private:
  /// A plan of cuDNN, and what is done to its input first.
  struct Choice {
    std::shared_ptr<const ConvPlan> plan;
    Dims padded;        // dims of the input with zeros around; empty: as it is
    bool wide = false;  // its channels are padded, too
  };
  ConvSizes sizes(Emitter& e) const;
  Choice choose(Emitter& e, const ConvSizes& s, ConvProblem p) const;
  WindowAxes transposed_axes(const Dims& x, const Dims& sizes) const;
  void read_constants(const Node& node, Builder& builder);
  void pack_filter(const Node& node, Builder& builder);
  void compute(Emitter& e, const ConvSizes& s, const ConvEpilogue& epilogue, ConvOperands o) const;
  bool by_library(Emitter& e, const ConvSizes& s, const ConvEpilogue& epilogue, const ConvOperands& o) const;
  Operand filter(Emitter& e) const;

  Window window_;
  bool transposed_ = false, last_ = false, tf32_ = false, search_ = false;
  bool filter_last_ = false;  // the filter's channels are last already
  int64_t group_ = 1;
  Dims output_padding_, output_shape_;
};

/// The DequantizeLinear of constant codes that makes a filter or a bias, which a convolution does while it is made; null
/// for other values.
const Node* decoding(const Value* value);

/// "" or why a convolution cannot be run.
std::string refuses_convolution(const Node& node, const Claiming&);

}  // namespace providers::cuda
