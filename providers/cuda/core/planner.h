// Makes a plan: walks the operators of a program with the shapes of one run.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "program.h"

namespace providers::cuda {

/// A part's input that the host must read before it can plan.
struct NeedsInput {
  std::set<int> inputs;
};

/// What submits one step to the stream of a run.
using Step = std::function<void(const Run&)>;

/// A plan that is finished. It serves one run at a time; its memory belongs to it.
class Plan {
 public:
  /// Type and dims of the part's outputs.
  const std::vector<Operand>& outputs() const { return outputs_; }
  /// Submits all steps. `inputs`, `outputs`: addresses of the part's values.
  void submit(Device& device, CUstream stream, const std::vector<Address>& inputs, const std::vector<Address>& outputs);
  std::vector<Dims> shapes;  ///< what the plan was made for (Instances)

 private:
  friend class PlanState;
  std::vector<Operand> outputs_;
  std::vector<Step> steps_;
  std::vector<std::pair<int, size_t>> input_buffers_, output_buffers_;  ///< buffer, which input or output
  std::vector<Address> base_;                                           ///< by buffer
  Block memory_, tables_;
};

/// The state of planning; Emitter is its face for operators.
class PlanState {
 public:
  PlanState(const Program& program, Device& device, CUstream stream);
  /// `inputs`: type, dims and perhaps `known` of the part's inputs. Throws NeedsInput if the host must know an input's
  /// elements, Error if a node cannot be run with these shapes.
  std::unique_ptr<Plan> make(const std::vector<Operand>& inputs);

 private:
  friend class Emitter;
  enum class Place { input, output, constant, table, memory };
  struct Buffer {
    Place place;
    size_t index = 0;  ///< of the input, output or constant; of a table: its begin
    size_t bytes = 0;
    int first = -1, last = -1;  ///< steps that use it
    size_t offset = 0;          ///< in the plan's memory
  };

  int add_buffer(Place place, size_t index, size_t bytes);
  Operand& value(const Op& op, const std::vector<int>& numbers, size_t i, const char* what);
  /// The value in device memory.
  Operand& on_device(int number);
  Operand as_layout(int number, Layout layout);
  void set_output(int number, const Operand& made);
  void plan_op(const Op& op);
  bool evaluate_on_host(const Op& op);
  void add_step(const std::vector<Operand>& uses, Step step);
  void add_copy(const Operand& from, const Operand& to);
  void convert(const Operand& from, const Operand& to);
  Operand table(const void* bytes, size_t size);
  void copy_to_outputs();
  size_t place_buffers();
  std::unique_ptr<Plan> finish();

  const Program& program_;
  Device& device_;
  const CUstream stream_;
  std::vector<Operand> values_;                       ///< by number
  std::map<std::pair<int, Layout>, Operand> others_;  ///< values in another layout
  std::vector<Buffer> buffers_;
  std::vector<char> tables_;
  std::vector<Step> steps_;
  std::vector<Operand> outputs_;
};

/// A layout in which the bytes are the same as in `layout`: `rows` where both orders agree.
Layout plain_layout(const Dims& dims, Layout layout);

}  // namespace providers::cuda
