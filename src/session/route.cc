#include "session/route.h"

#include <algorithm>

#include "base/error.h"

namespace retort {

void RouteInputs::add(uint32_t input, Value default_value, bool is_scalar) {
  if (is_scalar) scalars.push_back(uint32_t(index.size()));
  index.push_back(input);
  defaults.push_back(std::move(default_value));
}

void RouteInputs::repeat(size_t position) {
  add(index[position], defaults[position], std::ranges::count(scalars, position) > 0);
}

Route::Route(const Ports& ports, RouteInputs inputs, std::shared_ptr<const Plan> plan, MemoryBudget* budget)
    : ports_(ports), inputs_(std::move(inputs)), frames_(std::move(plan), budget) {}

const MemorySpace& Route::space(size_t position) const {
  static constexpr MemorySpace kHost;
  const std::vector<MemorySpace>& spaces = frames_.plan().input_spaces;
  return spaces.empty() ? kHost : spaces[position];
}

const Value* Route::given(std::span<const Value* const> inputs, size_t position) const {
  const size_t index = inputs_.index[position];
  const Value* v = inputs[index];
  if (!v && ports_.is_overridable(index)) return &inputs_.defaults[position];
  if (!v && ports_.is_read(index) && ports_.input(index).type.kind != ValueType::Kind::optional) {
    const ValueType& type = ports_.input(index).type;
    fail(ErrorCode::fail, "input '{}' was not given; give {}", ports_.input(index).name,
         type.is_tensor()
             ? cat("a {}{}", dtype_name(type.dtype), type.ranked ? ports_.dims().text(type.shape) : " tensor")
             : "it a value");
  }
  return v;
}

// A copy that the binding made, if the step cannot read the memory of `given` and there is such a copy.
const Value* Route::resident(const RunCall& call, size_t position, const Value* given) const {
  const Tensor* tensor = given ? given->tensor() : nullptr;
  const MemorySpace& wanted = space(position);
  if (!tensor || tensor->space().readable_as(wanted)) return given;
  for (const Resident& resident : call.memory.residents) {
    if (resident.input == inputs_.index[position] && resident.value.tensor()->space().serves(wanted))
      return &resident.value;
  }
  return given;
}

const Value* Route::read(const RunCall& call, size_t position) const {
  const Value* value = given(call.inputs, position);
  return call.memory.residents.empty() ? value : resident(call, position, value);
}

void Route::order(const RunCall& call, std::span<const Value*> ordered, std::vector<Value>& views) const {
  for (size_t i = 0; i < inputs_.index.size(); ++i) ordered[i] = read(call, i);
  for (const uint32_t i : inputs_.scalars) {
    const Tensor* t = ordered[i] ? ordered[i]->tensor() : nullptr;
    if (!t || t->shape().rank() == 0) continue;
    views.reserve(inputs_.scalars.size());  // so that no view moves
    ordered[i] = &views.emplace_back(t->reshaped({}));
  }
}

void upload_defaults(RouteInputs& inputs, const GraphSpaces& spaces, Uploads& uploads) {
  for (size_t i = 0; i < spaces.inputs.size(); ++i) {
    const Tensor* host = inputs.defaults[i].tensor();
    if (host) inputs.defaults[i] = Value(uploads.get(*host, spaces.inputs[i].space));
  }
}

}  // namespace retort
