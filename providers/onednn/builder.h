// Builds the primitives of a program for given shapes of its inputs.
#pragma once
#include <functional>
#include <optional>
#include <unordered_map>

#include "part.h"

namespace onednn {

/// A tensor while a program is built: its shape, its layout and its block of memory.
struct Tensor {
  Dims dims;  ///< as in the model; `desc` may have others of the same order
  Desc desc;
  int block = -1;
  DataType type() const { return desc.data_type(); }
  size_t rank() const { return dims.size(); }
};

/// A block of memory that steps use. Blocks whose lifetimes do not overlap share memory.
struct Block {
  size_t bytes = 0, offset = 0;
  int input = -1, output = -1;  ///< index among the part's inputs or outputs, whose memory is the caller's
  Bytes constant;
  int first = -1, last = -1;  ///< range of steps that use it
  int readers = 0;            ///< uses of all its values by operations that are still to be built
};

/// A block that a step uses.
struct Argument {
  int block;
  dnnl::memory memory;
};

struct Step {
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;
  std::vector<Argument> memories;
  /// Replaces a primitive: works on pointers to the memories, in order.
  std::function<void(const std::vector<char*>&)> work;
};

/// The steps for one set of shapes, with memory for one run at a time.
class Instance {
 public:
  std::vector<Dims> shapes;  ///< of the inputs
  std::vector<Dims> outputs;
  std::vector<Block> blocks;
  std::vector<Step> steps;
  std::vector<std::pair<int, Argument>> outward;  ///< memories of inputs (>= 0) and outputs (-1 - index)

  /// Assigns offsets to blocks and allocates the memory of the steps.
  void finish();
  void run(const std::vector<void*>& in, const std::vector<void*>& out);

 private:
  void place();
  Bytes memory_;
  dnnl::stream stream_{engine()};
};

using Arguments = std::vector<std::pair<int, Tensor>>;

class Builder {
 public:
  Builder(const Program& program, const std::vector<Dims>& shapes);
  std::unique_ptr<Instance> build();

  // For operations.
  const Settings& settings() const { return program_.settings; }
  const Tensor& value(int id) const;
  Weights* constant(int id) const { return id < 0 ? nullptr : program_.values[size_t(id)].constant.get(); }
  /// A constant in a layout; see Weights::in.
  Tensor weights(int id, const Desc& form, const Desc& view);
  Tensor weights(Weights& constant, const Desc& form, const Desc& view);
  /// Records the result of an operation.
  void made(const Operation& op, Tensor tensor);
  void made(int value, Tensor tensor);
  /// For results without elements, which the library does not support: records the result and returns true.
  bool empty(const Operation& op, const Dims& dims, DataType type = DataType::f32);
  Tensor fresh(const Dims& dims, const Desc& desc);
  /// The same tensor in another layout, reordered if necessary.
  Tensor in(const Tensor& t, const Desc& desc);
  Tensor plain_of(const Tensor& t);
  Tensor plain_of(const Tensor& t, DataType type);
  /// The same memory, row-major, with other dimensions.
  Tensor reshaped(const Tensor& t, const Dims& dims);
  /// Whether nothing reads its memory later, so that it may be overwritten. `uses`: how often the operation itself
  /// reads it.
  bool dies(const Tensor& t, int uses = 1) const;

  void step(const dnnl::primitive& primitive, const Arguments& arguments, const Desc& scratch);
  template <typename PrimitiveDesc>
  void step_of(const PrimitiveDesc& pd, const Arguments& arguments) {
    step(dnnl::primitive(pd.get()), arguments, pd.scratchpad_desc());
  }
  void work(std::vector<Tensor> tensors, std::function<void(const std::vector<char*>&)> f);
  Tensor eltwise(const Tensor& t, const PostOp& f, bool over);
  /// a + b, a * b and so on, with numpy's broadcasting.
  Tensor binary(dnnl::algorithm f, const Tensor& a, const Tensor& b, bool over_a);

 private:
  Argument use(const Tensor& t, int step);
  Tensor expanded(const Tensor& t, const Dims& dims);
  void build_one(const Operation& op);
  void deliver();
  void deliver(int output, Tensor t);

  const Program& program_;
  std::unique_ptr<Instance> instance_;
  std::vector<std::optional<Tensor>> tensors_;  // by value
};

/// Attributes of all primitives: their scratch memory is planned together with the rest.
dnnl::primitive_attr attributes();
/// The broadcast shape; throws providers::Error if the two do not fit.
Dims broadcast(const Dims& a, const Dims& b);
int64_t count_of(const Dims& dims);
/// Order of the axes: batch, the axes from the third on, channels; at least three axes.
Desc last_channels(const Dims& dims, DataType type);
bool channels_last(const Desc& desc);

}  // namespace onednn
