// What a part of a model is compiled to, and how operators get onto a stream.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "device.h"
#include "operators.h"
#include "stream.h"

namespace loopback {

/// A constant that the part keeps: floats.
struct Constant {
  std::vector<int64_t> shape;
  std::vector<float> data;
};

/// Values are numbers: first the inputs of the part, then its constants, then the result of each step.
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

/// The program of a part. With `own_constants`, constants go into it, and are not among the inputs.
Program compile(const Host& host, const OrtGraph* graph, const OrtNode* fused, bool own_constants);

/// For EPContext nodes. `read` throws for what `written` did not write.
std::string written(const Program& program);
Program read(const std::string& text);

/// The result of an operation on values of a device, without its data. Waits for the stream only where data decides.
Tensor result_of(Device& device, Stream* stream, const Operation& op, const std::vector<Tensor>& in);
/// Orders it. `keep` lives until it is done, the operation has to be part of it.
void launch(Device& device, Stream* stream, const Operation& op, std::vector<Tensor> in, Tensor out,
            std::vector<std::shared_ptr<const void>> keep);

/// A compiled part, as the host runs it.
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
