#include "session/binding.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace retort {
namespace {

struct Exclusive {
  explicit Exclusive(std::atomic<bool>& flag) : flag_(flag) {
    require(!flag_.exchange(true), ErrorCode::invalid_argument,
            "the binding is in use by another thread; make one binding per thread");
  }
  ~Exclusive() { flag_ = false; }
  std::atomic<bool>& flag_;
};

}  // namespace

Binding::Binding(std::shared_ptr<Session> session) : session_(std::move(session)) {
  inputs_.resize(session_->ports().input_count());
  input_pointers_.resize(session_->ports().input_count());
  output_pointers_.resize(session_->outputs().size());
  spares_.resize(session_->outputs().size());
}

void Binding::bind_input(const std::string& name, Value value) {
  const Exclusive exclusive(running_);
  const int index = session_->input_index(name);
  if (index < 0) throw Error(ErrorCode::fail, session_->ports().no_input(name));
  session_->ports().check_memory("input", name, value);
  std::vector<Resident> brought;
  if (const Tensor* t = value.tensor(); t && t->dtype() != DType::string) {
    for (const MemorySpace& space : session_->input_spaces(size_t(index))) {
      if (!t->space().readable_as(space)) brought.push_back({size_t(index), session_->bring(size_t(index), *t, space)});
    }
  }
  std::erase_if(residents_, [&](const Resident& r) { return r.input == size_t(index); });
  std::ranges::move(brought, std::back_inserter(residents_));
  inputs_[size_t(index)] = std::move(value);
  stale_ = true;
}

Binding::Output& Binding::output(const std::string& name) {
  stale_ = true;
  const auto found = std::find_if(outputs_.begin(), outputs_.end(), [&](const Output& o) { return o.name == name; });
  if (found != outputs_.end()) return *found;
  outputs_.push_back({.name = name, .index = session_->ports().output_index(name)});
  return outputs_.back();
}

void Binding::bind_output(const std::string& name, Value value) {
  const Exclusive exclusive(running_);
  session_->ports().check_memory("output", name, value);
  Output& o = output(name);
  o.given = !value.empty();
  o.value = std::move(value);
}

void Binding::bind_output(const std::string& name, MemorySpace space) {
  const Exclusive exclusive(running_);
  const bool is_there = session_->devices().devices->find_allocator(space) != nullptr;
  Output& o = output(name);
  // Programs for several machines bind outputs to a device that only some of them have, and read the results wherever
  // they lie.
  if (!is_there && !space.host_readable() && !std::exchange(o.warned, true)) {
    session_->logger().warn(
        "output '{}': no provider has memory of {}: the results lie in that of the CPU; add the provider that has it",
        name, to_string(space));
  }
  o.given = false;
  o.value = Value();
  o.space = is_there ? space : MemorySpace();
}

void Binding::clear_inputs() {
  const Exclusive exclusive(running_);
  std::fill(inputs_.begin(), inputs_.end(), Value());
  residents_.clear();
  stale_ = true;
}

void Binding::clear_outputs() {
  const Exclusive exclusive(running_);
  outputs_.clear();
  for (Spare& s : spares_) s = Spare();
  stale_ = true;
}

size_t Binding::spare_bytes() const {
  size_t bytes = 0;
  for (const Spare& s : spares_) bytes += s.capacity;
  return bytes;
}

void Binding::collect() {
  require(!outputs_.empty(), ErrorCode::invalid_argument,
          "no output is bound; bind one, or a device for one, before the run");
  std::fill(output_pointers_.begin(), output_pointers_.end(), nullptr);
  output_spaces_.assign(output_pointers_.size(), {});
  results_.clear();
  for (Output& o : outputs_) {
    if (o.index < 0) throw Error(ErrorCode::invalid_argument, session_->ports().no_output(o.name));
    output_pointers_[size_t(o.index)] = &o.value;
    output_spaces_[size_t(o.index)] = o.space;
    if (!o.given) results_.push_back(&o.value);
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    input_pointers_[i] = inputs_[i].empty() ? nullptr : &inputs_[i];
    if (input_pointers_[i]) session_->check_input(i, inputs_[i]);
  }
  stale_ = false;
}

void Binding::run(const RunOptions* options, const MoreInputs& more) {
  const Exclusive exclusive(running_);
  if (stale_) collect();
  std::vector<const Value*> with_more;
  if (more) {
    with_more = input_pointers_;
    more(*session_, with_more);
  }
  const std::span<const Value* const> inputs = more ? with_more : input_pointers_;
  session_->run(inputs, output_pointers_, spares_, options, {residents_, output_spaces_, results_});
}

}  // namespace retort
