#include "run/bodies.h"

#include <algorithm>

#include "base/error.h"
#include "run/frame.h"

namespace retort {
namespace {

// Returns the value in a slot, without ownership of memory that the frame owns.
Value view_of(const Slot& slot) {
  const Tensor* boxed = slot.boxed.tensor();
  if (!slot.boxed.empty() && !boxed) return slot.boxed;
  return Tensor(slot.type.dtype, slot.type.shape, slot.data, nullptr, boxed ? boxed->space() : MemorySpace{});
}

template <typename Frames, typename F>
void for_each_made(const Frames& frames, const F& f) {
  for (const auto& frame : frames) {
    if (frame) f(*frame);
  }
}

}  // namespace

BodyFrames::BodyFrames(const BodyHost& host, uint32_t step) : host_(host), step_(step) {
  frames_.resize(this->step().bodies.size());
}

BodyFrames::~BodyFrames() = default;

void BodyFrames::begin(const RunRequest& request) {
  request_ = &request;
  captures_.clear();
}

std::optional<size_t> BodyFrames::find(std::string_view attribute) const {
  const auto& names = step().body_names;
  const auto found = std::find(names.begin(), names.end(), attribute);
  if (found == names.end()) return std::nullopt;
  return size_t(found - names.begin());
}

size_t BodyFrames::index(std::string_view attribute) const {
  const auto found = find(attribute);
  if (!found) fail(ErrorCode::invalid_graph, "the body '{}' is missing", attribute);
  return *found;
}

size_t BodyFrames::input_count(size_t body) const { return plan(body).inputs.size() - plan(body).captures; }
size_t BodyFrames::output_count(size_t body) const { return plan(body).outputs.size(); }
const std::string& BodyFrames::input_name(size_t body, size_t input) const {
  return plan(body).values[plan(body).inputs[input]].name;
}
const ValueType& BodyFrames::input_type(size_t body, size_t input) const {
  return plan(body).values[plan(body).inputs[input]].type;
}
const ValueType& BodyFrames::output_type(size_t body, size_t output) const {
  return plan(body).values[plan(body).outputs[output]].type;
}

size_t BodyFrames::workspace_bytes() const {
  size_t bytes = 0;
  for_each_made(frames_, [&](const auto& f) { bytes += f.workspace_bytes(); });
  return bytes;
}
void BodyFrames::trim() {
  for_each_made(frames_, [](auto& f) { f.trim(); });
}
void BodyFrames::give_back() {
  for_each_made(frames_, [](auto& f) { f.give_back(); });
}

MemorySpace BodyFrames::input_space(size_t body, size_t input) const {
  const Plan& p = plan(body);
  return p.input_spaces.empty() ? MemorySpace{} : p.input_spaces.at(input);
}

void BodyFrames::take_captures() {
  const Step& step = this->step();
  for (size_t i = step.inputs.size() - step.captures; i < step.inputs.size(); ++i)
    captures_.push_back({view_of(host_.table[step.inputs[i]]), {}});
}

// Copies a capture when a body first needs it: a branch that is not taken, or a loop without iterations, never does.
const Value& BodyFrames::capture_in(Capture& capture, const MemorySpace& space, const std::string& name) {
  const Tensor* t = capture.value.tensor();
  if (!t || t->dtype() == DType::string || t->space().serves(space)) return capture.value;
  for (const Value& known : capture.brought) {
    if (known.tensor()->space().serves(space)) return known;
  }
  const auto memory = host_.device_run.allocate(space, t->bytes());
  Tensor there(t->dtype(), t->shape(), memory.get(), memory, space);
  host_.device_run.copy(CopyCause::border, name, *t, there, !t->space().host_readable());
  return capture.brought.emplace_back(std::move(there));
}

void BodyFrames::run(size_t body, std::span<const Value> inputs, std::span<Value> outputs,
                     std::span<const MemorySpace> spaces) {
  const Step& step = this->step();
  require(inputs.size() == input_count(body) && outputs.size() == output_count(body), ErrorCode::invalid_graph,
          "the body '{}' takes {} values and returns {}, but was called with {} and for {}", step.body_names[body],
          input_count(body), output_count(body), inputs.size(), outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SlotIndex in = plan(body).inputs[i];
    if (in == kNoSlot || admits(plan(body).values[in].type, inputs[i])) continue;
    fail(ErrorCode::invalid_argument, "input '{}' of the body '{}' must be {}, {} was given",
         plan(body).values[in].name, step.body_names[body], kind_text(plan(body).values[in].type),
         kind_text(inputs[i]));
  }
  if (!frames_[body]) frames_[body] = std::make_unique<Frame>(step.bodies[body], host_.budget);
  std::vector<const Value*> given;
  for (const Value& v : inputs) given.push_back(&v);
  if (captures_.empty()) take_captures();
  for (Capture& c : captures_) {
    const size_t at = given.size();
    const SlotIndex in = plan(body).inputs[at];
    given.push_back(plan(body).reads(at) ? &capture_in(c, input_space(body, at), plan(body).values[in].name)
                                         : &c.value);
  }
  std::vector<Value*> results;
  for (Value& v : outputs) results.push_back(&v);
  const RunRequest& outer = *request_;
  frames_[body]->run({.inputs = given,
                      .outputs = results,
                      .spares = {},
                      .output_spaces = spaces,
                      .parallel = outer.parallel,
                      .forks = outer.forks,
                      .cancel = outer.cancel,
                      .profiler = outer.profiler,
                      .within = &host_.device_run});
}

Bodies::Bodies(const BodyHost& host) {
  const std::vector<Step>& steps = host.table.plan().steps;
  frames_.resize(steps.size());
  for (uint32_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].bodies.empty()) frames_[i] = std::make_unique<BodyFrames>(host, i);
  }
}

size_t Bodies::workspace_bytes() const {
  size_t bytes = 0;
  for_each_made(frames_, [&](const auto& f) { bytes += f.workspace_bytes(); });
  return bytes;
}
void Bodies::trim() {
  for_each_made(frames_, [](auto& f) { f.trim(); });
}
void Bodies::give_back() {
  for_each_made(frames_, [](auto& f) { f.give_back(); });
}

}  // namespace retort
