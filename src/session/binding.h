// I/O binding: which memory a session's inputs are read from and its outputs written to. Names become positions once,
// when they are bound; runs look nothing up and allocate nothing.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "session/session.h"

namespace retort {

/// One thread at a time: a second concurrent run of the same binding is an error. Several bindings of one session may
/// run side by side.
class Binding {
 public:
  explicit Binding(std::shared_ptr<Session> session);

  /// Keeps the value, and copies it to where the plan reads it if that is another memory: later changes of the original
  /// are not seen then. A name bound before is replaced. Throws when there is no such input or the value does not fit it.
  void bind_input(const std::string& name, Value value);
  /// The run writes into this value's memory. Names are checked by run().
  void bind_output(const std::string& name, Value value);
  /// The run allocates in this space; the memory is used again as long as nobody holds the last result.
  void bind_output(const std::string& name, MemorySpace space);
  void clear_inputs();
  void clear_outputs();

  /// Fills in inputs of one run that are not bound: pointers by the session's index.
  using MoreInputs = std::function<void(const Session&, std::span<const Value*>)>;
  /// Throws invalid_argument when no output or an unknown one is bound.
  void run(const RunOptions* options, const MoreInputs& more = nullptr);

  /// In the order in which outputs were bound first.
  size_t output_count() const { return outputs_.size(); }
  const std::string& output_name(size_t i) const { return outputs_[i].name; }
  /// The given value, or the result of the last run; empty before the first.
  const Value& output_value(size_t i) const { return outputs_[i].value; }
  Session& session() const { return *session_; }
  /// Bytes kept for the next results.
  size_t spare_bytes() const;

 private:
  struct Output {
    std::string name;
    int index = -1;
    bool given = false;  ///< the caller's value, not ours
    Value value;
    MemorySpace space = {};  ///< of values that are not given
  };
  Output& output(const std::string& name);
  void collect();

  std::shared_ptr<Session> session_;
  std::vector<Value> inputs_;  ///< by input index
  std::vector<const Value*> input_pointers_;
  std::vector<Output> outputs_;             ///< in order of first binding
  std::vector<Value*> output_pointers_;     ///< by output index
  std::vector<Spare> spares_;               ///< by output index
  std::vector<Resident> residents_;         ///< inputs in the memories where they are read
  std::vector<MemorySpace> output_spaces_;  ///< by output index; empty: all on the host
  bool stale_ = true;                       ///< the pointer lists must be made again
  std::atomic<bool> running_{false};
};

}  // namespace retort
