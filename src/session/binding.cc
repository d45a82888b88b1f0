#include "session/binding.h"

#include <algorithm>

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
  inputs_.resize(session_->input_count());
  input_pointers_.resize(session_->input_count());
  output_pointers_.resize(session_->outputs().size());
  spares_.resize(session_->outputs().size());
}

void Binding::bind_input(const std::string& name, Value value) {
  const Exclusive exclusive(running_);
  const int index = session_->input_index(name);
  if (index < 0) throw Error(ErrorCode::fail, session_->no_input(name));
  Session::check_memory("input", name, value);
  inputs_[size_t(index)] = std::move(value);
  stale_ = true;
}

Binding::Output& Binding::output(const std::string& name) {
  stale_ = true;
  const auto found = std::find_if(outputs_.begin(), outputs_.end(), [&](const Output& o) { return o.name == name; });
  if (found != outputs_.end()) return *found;
  outputs_.push_back({.name = name, .index = session_->output_index(name)});
  return outputs_.back();
}

void Binding::bind_output(const std::string& name, Value value) {
  const Exclusive exclusive(running_);
  Session::check_memory("output", name, value);
  Output& o = output(name);
  o.given = !value.empty();
  o.value = std::move(value);
}

void Binding::bind_output(const std::string& name, MemorySpace space) {
  const Exclusive exclusive(running_);
  require(space.host_readable(), ErrorCode::invalid_argument,
          "output '{}': no provider of this session has memory of that device; bind it to the memory of the CPU", name);
  Output& o = output(name);
  o.given = false;
  o.value = Value();
}

void Binding::clear_inputs() {
  const Exclusive exclusive(running_);
  std::fill(inputs_.begin(), inputs_.end(), Value());
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
          "no output is bound; call BindOutput or BindOutputToDevice first");
  std::fill(output_pointers_.begin(), output_pointers_.end(), nullptr);
  for (Output& o : outputs_) {
    if (o.index < 0) throw Error(ErrorCode::invalid_argument, session_->no_output(o.name));
    output_pointers_[size_t(o.index)] = &o.value;
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
  for (Output& o : outputs_) {
    if (!o.given) o.value = Value();  // lets go of the last result, so that its memory can be used again
  }
  if (!more) return session_->run(input_pointers_, output_pointers_, spares_, options);
  std::vector<const Value*> inputs = input_pointers_;
  more(*session_, inputs);
  session_->run(inputs, output_pointers_, spares_, options);
}

}  // namespace retort
