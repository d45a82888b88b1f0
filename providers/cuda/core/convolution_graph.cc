#include "convolution_graph.h"

#include <algorithm>

namespace providers::cuda {
namespace {

using dnn::Descriptor;

/// Strides of a packed tensor: {batch, channels, spatial...}.
Dims packed_strides(const Dims& dims, bool channels_last) {
  Dims strides(dims.size());
  int64_t step = 1;
  if (channels_last) {
    strides[1] = 1;
    step = dims[1];
  }
  for (size_t i = dims.size(); i-- > 0;)
    if (i != 1 || !channels_last) {
      strides[i] = step;
      step *= dims[i];
    }
  return strides;
}

/// Builds the graph of a problem.
class ConvGraphMaker {
 public:
  ConvGraphMaker(const ConvProblem& problem, dnn::Graph& made) : p_(problem), to_(made) {}

  void make(dnn::Handle handle) {
    const bool bare = p_.epilogue.empty();
    const size_t x = tensor(kX, p_.x), w = tensor(kW, p_.w);
    const size_t y = bare ? tensor(kY, p_.y) : between();
    convolution(x, w, y);
    if (!bare) add_epilogue(y);
    to_.finish(handle);
  }

 private:
  size_t tensor(int64_t id, const Dims& dims) {
    const bool within = id >= kBetween;
    return to_.tensor({id, within ? dnn::kTypeFloat : dnn::data_type(p_.type), dims,
                       packed_strides(dims, p_.channels_last), within, false});
  }
  size_t between() { return tensor(next_++, p_.y); }

  void convolution(size_t x, size_t w, size_t y) {
    Descriptor c(dnn::kConvolution, "convolution");
    c.set_enum(dnn::kConvolutionPrecision, dnn::kDataType, dnn::kTypeFloat);
    c.set_enum(dnn::kConvolutionModeOf, dnn::kConvolutionMode, dnn::kCrossCorrelation);
    c.set_number(dnn::kConvolutionAxes, int64_t(p_.strides.size()));
    c.set_numbers(dnn::kConvolutionBegins, p_.begins);
    c.set_numbers(dnn::kConvolutionEnds, p_.ends);
    c.set_numbers(dnn::kConvolutionDilations, p_.dilations);
    c.set_numbers(dnn::kConvolutionStrides, p_.strides);
    const size_t kept = to_.keep(std::move(c));
    const bool back = p_.transposed;
    Descriptor o(back ? dnn::kBackwardDataOperation : dnn::kForwardOperation,
                 back ? "backward data operation" : "forward operation");
    o.set_descriptor(back ? dnn::kBackwardConvolution : dnn::kForwardConvolution, to_.part(kept));
    o.set_descriptor(back ? dnn::kBackwardDy : dnn::kForwardX, to_.part(x));
    o.set_descriptor(back ? dnn::kBackwardW : dnn::kForwardW, to_.part(w));
    o.set_descriptor(back ? dnn::kBackwardDx : dnn::kForwardY, to_.part(y));
    o.set_float(back ? dnn::kBackwardAlpha : dnn::kForwardAlpha, 1);
    o.set_float(back ? dnn::kBackwardBeta : dnn::kForwardBeta, 0);
    to_.operation(std::move(o));
  }

  /// The order (residual, bias, activation) is that of cuDNN's engines that are compiled in advance.
  void add_epilogue(size_t at) {
    const ConvEpilogue& e = p_.epilogue;
    const bool active = e.activation != ConvActivation::none;
    if (e.residual) {
      const size_t to = e.bias || active ? between() : tensor(kY, p_.y);
      const size_t residual = tensor(kResidual, p_.y);
      pointwise(dnn::kAdd, at, &residual, to);
      at = to;
    }
    if (e.bias) {
      Dims dims(p_.y.size(), 1);
      dims[1] = p_.y[1];
      const size_t to = active ? between() : tensor(kY, p_.y);
      const size_t bias = tensor(kBias, dims);
      pointwise(dnn::kAdd, at, &bias, to);
      at = to;
    }
    if (active) pointwise(dnn::kRelu, at, nullptr, tensor(kY, p_.y));
  }

  void pointwise(int mode, size_t a, const size_t* b, size_t to) {
    dnn::PointwiseFacts p;
    p.mode = mode;
    p.x = a;
    if (b) p.b = *b;
    p.y = to;
    to_.pointwise(p);
  }

  const ConvProblem& p_;
  dnn::GraphMaker to_;
  int64_t next_ = kBetween;
};

}  // namespace

std::shared_ptr<const dnn::Graph> make_graph(const ConvProblem& problem, dnn::Handle handle) {
  auto made = std::make_shared<dnn::Graph>();
  ConvGraphMaker(problem, *made).make(handle);
  return made;
}

bool in_graph(const ConvEpilogue& epilogue) {
  return epilogue.bias && (epilogue.activation == ConvActivation::none || epilogue.activation == ConvActivation::relu);
}

}  // namespace providers::cuda
