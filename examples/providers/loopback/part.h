// Compiled parts of a model, and the submission of operators to a stream.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "device.h"
#include "operators.h"
#include "stream.h"

namespace loopback {

/// A constant of floats that the part keeps.
struct Constant {
  std::vector<int64_t> shape;
  std::vector<float> data;
};

/// Values are numbers: the inputs of the part, then its constants, then the result of each step.
struct Program {
  struct Step {
    Operation operation;
    std::vector<size_t> in;
  };
  size_t inputs = 0;
  std::vector<Constant> constants;
  std::vector<Step> steps;
  std::vector<size_t> outputs;
  size_t first_result() const { return inputs + constants.size(); }
};

/// Compiles a part. With `own_constants`, constants become part of the program and are not among the inputs.
Program compile(const Host& host, const OrtGraph* graph, const OrtNode* fused, bool own_constants);

/// Text for EPContext nodes. `read` throws for texts that `written` did not produce.
std::string written(const Program& program);
Program read(const std::string& text);

/// The result tensor of an operation on values of a device, without its data. Waits for the stream only if the shape
/// depends on data.
Tensor result_of(Device& device, Stream* stream, const Operation& op, const std::vector<Tensor>& in);
/// Submits an operation. `keep` lives until it is done, and must own the operation.
void launch(Device& device, Stream* stream, const Operation& op, std::vector<Tensor> in, Tensor out,
            std::vector<std::shared_ptr<const void>> keep);

/// A compiled part, with the functions that the host calls.
class Part : public OrtNodeComputeInfo {
 public:
  Part(const Host& host, int device, Program program);

 private:
  void run(OrtKernelContext* context) const;

  const Host host_;
  Device& device_;
  const int number_;
  const std::shared_ptr<const Program> program_;
  std::vector<Tensor> constants_;
  std::vector<std::shared_ptr<const void>> keep_;
};

}  // namespace loopback
