#include "run/step_event.h"

#include <sched.h>

#include "base/error.h"
#include "base/json.h"

namespace retort {
namespace {

/// The type's name in profiles.
std::string_view profile_type(DType type) {
  switch (type) {
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    default:
      return dtype_name(type);
  }
}

/// What is known of tensors that a step reads or writes.
struct Tensors {
  std::string shapes;  ///< [{"float":[1,3]}]
  size_t bytes = 0, constant_bytes = 0;

  void add(const Slot& slot, bool constant) {
    const Tensor* boxed = slot.boxed.tensor();
    const ValueType& type = slot.type;
    if (!boxed && (!type.is_tensor() || !type.is_static())) return;
    const DType dtype = boxed ? boxed->dtype() : type.dtype;
    const Shape& shape = boxed ? boxed->shape() : type.shape;
    shapes += cat("{}{{{}:{}}}", shapes.empty() ? "" : ",", JsonWriter::quoted(profile_type(dtype)), to_string(shape));
    if (dtype != DType::string) (constant ? constant_bytes : bytes) += dtype_bytes(dtype, element_count(shape));
  }
};

}  // namespace

void end_step_event(Profiler& profiler, const Profiler::Span& span, Profiler::Clock::time_point end,
                    const SlotTable& table, uint32_t index, const StepMemory& memory) {
  const Step& step = table.plan().steps[index];
  Tensors in, out;
  const auto inputs = table.inputs_of(index);
  for (size_t i = 0; i < inputs.size() - step.captures; ++i) {
    if (inputs[i]) in.add(*inputs[i], table.plan().values[step.inputs[i]].home == Home::constant);
  }
  for (const Slot* slot : table.outputs_of(index)) {
    if (slot) out.add(*slot, false);
  }
  const std::string where =
      cat(R"({{"main_thread":{{"thread_id":"{}","core":{}}}}})", Profiler::this_thread(), sched_getcpu());
  const std::string delta = cat("{}", int64_t(memory.in_use) - int64_t(memory.before));
  profiler.end(span, end, step.label + "_kernel_time", "Node",
               {{"op_name", step.operators},
                {"provider", step.provider},
                {"node_index", cat("{}", step.index)},
                {"input_type_shape", cat("[{}]", in.shapes), true},
                {"output_type_shape", cat("[{}]", out.shapes), true},
                {"activation_size", cat("{}", in.bytes)},
                {"parameter_size", cat("{}", in.constant_bytes)},
                {"output_size", cat("{}", out.bytes)},
                {"mem_arena_held", cat("{}", memory.held)},
                {"mem_arena_held_delta", "0"},
                {"mem_bytes_in_use", cat("{}", memory.in_use)},
                {"mem_bytes_requested_in_use", cat("{}", memory.in_use)},
                {"mem_in_use_delta", delta},
                {"mem_requested_in_use_delta", delta},
                {"mem_in_use_peak", cat("{}", memory.peak)},
                {"thread_scheduling_stats", where, true}});
}

}  // namespace retort
