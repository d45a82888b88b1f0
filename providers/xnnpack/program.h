// A group of nodes for XNNPACK: steps on values; images have channels last.
#pragma once
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/instances.h"
#include "common/plugin.h"
#include "xnnpack.h"

namespace xnn {

using providers::Dims;
using providers::Node;

/// Windows of convolutions and pools: height, width.
struct Window {
  Dims kernel, strides, dilations, pads;  ///< pads: top, left, bottom, right
  std::string auto_pad = "NOTSET";
  int64_t groups = 1;
};

/// A tensor of one of three types, with padding for reads beyond the end.
struct Constant {
  Dims dims;
  std::vector<float> data;
  std::vector<int8_t> stored;
  std::vector<int32_t> sums;
  std::vector<float> scales;  ///< of weights and of sums, one per result; empty for others
};

enum class Kind {
  convolution,
  depthwise,
  max_pool,
  average_pool,
  global_average,
  product,
  softmax,
  clamp,
  sigmoid,
  hard_swish,
  leaky_relu,
  elu,
  add,
  subtract,
  multiply,
  divide,
  maximum,
  minimum,
  reshape,  ///< converts an image of one element per channel to a row, or back
  convert   ///< between float32 and 8-bit integers
};

struct Step {
  Kind kind = Kind::clamp;
  std::string who;      ///< for messages: "node 'name' (Type)"
  std::vector<int> in;  ///< values, -1: omitted
  int out = -1;
  Window window;
  float low = -INFINITY, high = INFINITY;  ///< of results; `low` is alpha for leaky_relu and elu
};

struct Slot {
  std::string name;
  int input = -1;
  std::shared_ptr<Constant> constant;
  float scale = 0;      ///< of int8; 0: float32
  int32_t zero = 0;     ///< of int8
  bool biased = false;  ///< uint8 outside of the part; inside, int8, which is less by 128
};

struct Program {
  std::string name;
  std::vector<Slot> values;
  std::vector<Step> steps;
  std::vector<int> inputs, outputs;
  size_t on_integers = 0, in_float32 = 0;  ///< numbers of operators, for the log

  int add_constant(Constant constant);
  int add_constant(Dims dims, std::vector<float> data) {
    return add_constant(Constant{std::move(dims), std::move(data), {}, {}, {}});
  }
};

/// Makes the program of a group of claimed nodes.
Program lower(const providers::Compilation& what);

/// Converts row-major to channels last, and back, for float and int8_t. Sizes are those of the row-major form.
template <typename T>
void channels_last(const T* from, T* to, const Dims& dims);
template <typename T>
void channels_first(const T* from, T* to, const Dims& dims);
int64_t count_of(const Dims& dims);

/// The runtime for one set of shapes, for one run at a time.
class Instance {
 public:
  Instance(const Program& program, const std::vector<Dims>& shapes, pthreadpool_t threads);
  void run(const std::vector<const void*>& in, const std::vector<void*>& out);
  const std::vector<Dims> shapes;
  std::vector<Dims> outputs;

 private:
  struct Port {
    Dims dims;
    bool bytes = false, biased = false;
    std::vector<char> memory;  ///< channels last if there are four axes
    void take(const void* from);
    void give(void* to);
  };
  static Port port(const Slot& slot, const Dims& dims);
  std::unique_ptr<xnn_runtime, xnn_status (*)(xnn_runtime_t)> runtime_{nullptr, xnn_delete_runtime};
  std::vector<Port> in_, out_;
  std::vector<bool> given_;  // inputs that the part reads
};

class CompiledPart : public providers::Part {
 public:
  CompiledPart(Program program, pthreadpool_t threads) : program_(std::move(program)), threads_(threads) {}
  void run(OrtKernelContext* context) override;

 private:
  const Program program_;
  const pthreadpool_t threads_;
  providers::Instances<Instance> instances_;
};

}  // namespace xnn
