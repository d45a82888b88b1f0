// A group of nodes for XNNPACK: steps over values, whose images lie with channels last.
#pragma once
#include <cmath>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

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

struct Constant {
  Dims dims;
  std::vector<float> data;  ///< with room for reads beyond the end
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
  reshape
};

struct Step {
  Kind kind = Kind::clamp;
  std::string who;      ///< for messages: "node 'name' (Type)"
  std::vector<int> in;  ///< values, -1: left out
  int out = -1;
  Window window;
  float low = -INFINITY, high = INFINITY;  ///< of results; `low` is alpha for leaky_relu and elu
  Dims shape;                              ///< of reshape; 0: that of the input, -1: the rest
};

struct Slot {
  std::string name;
  int input = -1;
  std::shared_ptr<Constant> constant;
};

struct Program {
  std::string name;
  std::vector<Slot> values;
  std::vector<Step> steps;
  std::vector<int> inputs, outputs;

  int add_constant(Dims dims, std::vector<float> data);
};

/// The types of nodes that may be claimed, whether one may be, and the program of a group of such.
std::set<std::string> operator_names();
bool claims(const Node& node);
Program lower(const providers::Compilation& what);

/// Row by row to channels last, and back. Sizes are those of the row-by-row form.
void channels_last(const float* from, float* to, const Dims& dims);
void channels_first(const float* from, float* to, const Dims& dims);
int64_t count_of(const Dims& dims);

/// The runtime for one set of shapes, for one run at a time.
class Instance {
 public:
  Instance(const Program& program, const std::vector<Dims>& shapes, pthreadpool_t threads);
  void run(const std::vector<const float*>& in, const std::vector<float*>& out);
  const std::vector<Dims> shapes;
  std::vector<Dims> outputs;

 private:
  struct Port {
    Dims dims;
    std::vector<float> image;  ///< channels last, where there are four axes
  };
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
  std::mutex mutex_;
  std::list<std::unique_ptr<Instance>> idle_;  // the last used first
};

}  // namespace xnn
