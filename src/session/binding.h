// I/O binding: which memory a session's inputs are read from and its outputs are written to. Names become indices when
// they are bound; runs look nothing up and allocate nothing.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "session/session.h"

namespace retort {

/// One thread at a time may use it: a second concurrent run of the same binding is an error. Several bindings of one
/// session may run at the same time.
class Binding {
 public:
  explicit Binding(std::shared_ptr<Session> session);

  /// Keeps the value. If a plan reads it in another memory, copies it there now, and later changes of the original have
  /// no effect. Replaces a value bound to the same name before. Throws if there is no such input, or if the value lies
  /// in memory that cannot be copied from; run() checks whether the value fits.
  void bind_input(const std::string& name, Value value);
  /// The run writes into this value's memory. Names are checked by run().
  void bind_output(const std::string& name, Value value);
  /// The run allocates in this space. It uses the memory again, unless the last result is still held.
  void bind_output(const std::string& name, MemorySpace space);
  void clear_inputs();
  void clear_outputs();

  /// Adds inputs to one run that are not bound. The pointers are in the order of the session's indices.
  using MoreInputs = std::function<void(const Session&, std::span<const Value*>)>;
  /// Throws invalid_argument when no output or an unknown one is bound.
  void run(const RunOptions* options, const MoreInputs& more = nullptr);

  /// In the order in which outputs were bound first.
  size_t output_count() const { return outputs_.size(); }
  const std::string& output_name(size_t i) const { return outputs_[i].name; }
  /// The caller's value, or the result of the last run; empty before the first run.
  const Value& output_value(size_t i) const { return outputs_[i].value; }
  Session& session() const { return *session_; }
  /// Bytes kept for the next results.
  size_t spare_bytes() const;

 private:
  struct Output {
    std::string name;
    int index = -1;
    bool given = false;  ///< the value is the caller's; false: the run makes it
    Value value;
    MemorySpace space = {};  ///< the memory that the run makes a value in
    bool warned = false;     ///< the log says that its memory exists nowhere
  };
  Output& output(const std::string& name);
  void collect();

  std::shared_ptr<Session> session_;
  std::vector<Value> inputs_;  ///< by input index
  std::vector<const Value*> input_pointers_;
  std::vector<Output> outputs_;             ///< in order of first binding
  std::vector<Value*> output_pointers_;     ///< by output index
  std::vector<Value*> results_;             ///< values of outputs_ that are not the caller's
  std::vector<Spare> spares_;               ///< by output index
  std::vector<Resident> residents_;         ///< copies of inputs in the memories that the plan reads them in
  std::vector<MemorySpace> output_spaces_;  ///< by output index; empty: all on the host
  bool stale_ = true;                       ///< the lists of pointers must be made again
  std::atomic<bool> running_{false};
};

}  // namespace retort
