// The class InferenceSession of the module (C.InferenceSession).
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memory.h"
#include "options.h"
#include "ports.h"

namespace retort::python {

// Made in two steps, as in the official package: the constructor takes the model, initialize() loads it. After that,
// nothing in it changes, so that any number of threads may use it.
class Session {
 public:
  // `model` is a path or bytes. With `config_from_model`, options that the model's metadata have under "ort_config"
  // come before those of `options`.
  Session(const SessionOptions& options, nanobind::object model, bool is_path, bool config_from_model);
  // A session that a model package made.
  Session(Owned<OrtSession> handle, const SessionOptions& options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Providers by name replace those of the options. `disabled`: names of graph optimizers to leave out.
  void initialize(const std::vector<std::string>& providers, const std::vector<Pairs>& provider_options,
                  nanobind::iterable disabled);

  // Throws Error(ORT_FAIL) before initialize().
  OrtSession* get() const {
    if (!handle_) [[unlikely]] {
      not_initialized();
    }
    return handle_.get();
  }

  const Ports& inputs() const noexcept { return inputs_; }
  const Ports& outputs() const noexcept { return outputs_; }
  const Ports& initializers() const noexcept { return initializers_; }
  const SessionOptions& options() const noexcept { return options_; }
  SessionOptions& options() noexcept { return options_; }
  // The providers that this session may use, the most preferred one first.
  const std::vector<std::string>& providers() const noexcept { return providers_; }
  const std::map<std::string, Pairs>& provider_options() const noexcept { return provider_options_; }

  // Whether all outputs are tensors in host memory, whose arrays need fewer questions.
  bool has_plain_outputs() const noexcept { return plain_outputs_; }

  // An array that is given for an input whose elements have to be copied first, since they do not lie as the engine reads
  // them. Throws Error(ORT_INVALID_ARGUMENT) if session.disallow_implicit_copies forbids that.
  void count_copy(nanobind::handle array, const Port& port) const;
  struct ArrayCopies {
    uint64_t bytes = 0, times = 0;
  };
  // By input, since the session was made.
  std::map<std::string, ArrayCopies> array_copies() const;

  // The session's own allocator for a device, which lives as long as the session.
  OrtAllocator* allocator_for(const Device& device);

 private:
  [[noreturn]] static void not_initialized();
  Owned<OrtSession> create(OrtSessionOptions* handle) const;
  void describe();
  bool are_outputs_plain() const;
  void list_providers(const std::vector<ProviderRequest>& requests);

  SessionOptions options_;
  nanobind::object model_;
  bool is_path_ = false;
  bool config_from_model_ = false;
  bool plain_outputs_ = false;
  Ports inputs_, outputs_, initializers_;
  std::vector<std::string> providers_;
  std::map<std::string, Pairs> provider_options_;
  Owned<OrtSession> handle_;
  mutable nanobind::ft_mutex copies_mutex_;
  mutable std::map<std::string, ArrayCopies> copies_;
  nanobind::ft_mutex allocators_mutex_;
  std::vector<std::pair<Device, Owned<OrtAllocator>>> allocators_;  // released before the session
};

}  // namespace retort::python
