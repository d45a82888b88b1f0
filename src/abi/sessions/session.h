// Sessions and bindings behind their handles.
#pragma once
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "abi/devices/devices.h"
#include "abi/handle.h"
#include "abi/host/shared_weights.h"
#include "abi/sessions/options.h"
#include "abi/values/type_info.h"
#include "session/binding.h"
#include "session/session.h"

namespace retort::abi {

/// Threads for runs that nobody waits for: started when needed, as many as the session's pool has. Thread-safe. The
/// destructor waits for all that was begun, except when one of these runs is what destroys it. A forked child begins
/// anew: what the parent had begun is done in the parent only.
class AsyncRuns {
 public:
  explicit AsyncRuns(size_t threads) : limit_(threads) {}
  ~AsyncRuns();
  AsyncRuns(const AsyncRuns&) = delete;
  void start(std::function<void()> run);

 private:
  /// Held by the threads too: the one that destroys the owner comes back to it.
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> waiting;
    size_t idle = 0;
    bool closing = false;
  };
  static void work(const std::shared_ptr<Queue>& queue);
  void leave_parent();
  const size_t limit_;
  pid_t process_ = getpid();  ///< whose threads these are
  std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
  std::vector<std::thread> threads_;
};

}  // namespace retort::abi

namespace retort::abi {

/// A session that is still to be extended: what it will be made of.
struct Draft {
  std::shared_ptr<Environment> environment;
  SessionOptions options;
  std::shared_ptr<Model> model;
  ModelInterface shown;
};

}  // namespace retort::abi

struct OrtEpAssignedNode : retort::abi::Handle<retort::abi::tag_of("epan")> {
  retort::AssignedNode node;
};

/// Nodes that went to one provider together.
struct OrtEpAssignedSubgraph : retort::abi::Handle<retort::abi::tag_of("epas")> {
  std::string provider;
  std::vector<std::unique_ptr<OrtEpAssignedNode>> nodes;
  std::vector<const OrtEpAssignedNode*> list;
};

struct OrtSession : retort::abi::Handle<retort::abi::tag_of("sess")> {
  std::shared_ptr<retort::Session> session;       ///< null while there is a draft
  std::unique_ptr<retort::abi::AsyncRuns> async;  ///< null: the session has one thread
  std::unique_ptr<retort::abi::Draft> draft;
  std::map<std::string, int> opsets;  ///< that the model imports
  /// Who runs which nodes, when that is recorded.
  std::vector<std::unique_ptr<OrtEpAssignedSubgraph>> assigned;
  std::vector<const OrtEpAssignedSubgraph*> assigned_list;
  std::shared_ptr<retort::abi::EpDevices> ep_devices;  ///< of the environment, which the session may outlive
  std::vector<const OrtEpDevice*> devices;             ///< that the session uses, without the CPU
  /// Whose memory that is; the CPU's where it is nobody's.
  const OrtEpDevice& device_of(const retort::MemorySpace& space) const;
};

struct OrtIoBinding : retort::abi::Handle<retort::abi::tag_of("bind")> {
  explicit OrtIoBinding(std::shared_ptr<retort::Session> session) : binding(std::move(session)) {}
  retort::Binding binding;
};

struct OrtModelMetadata : retort::abi::Handle<retort::abi::tag_of("meta")> {
  retort::ModelInfo info;
};

/// Weights of the CPU are shared by all sessions of the process: what is left to hold is those of plug-ins.
struct OrtPrepackedWeightsContainer : retort::abi::Handle<retort::abi::tag_of("pack")> {
  const std::shared_ptr<retort::abi::PackedWeights> weights = std::make_shared<retort::abi::PackedWeights>();
};

namespace retort::abi {

/// The session behind the handle; `fail` while it is still to be extended.
const std::shared_ptr<Session>& session_of(const OrtSession* session);
/// What the model shows, also before the session is finished.
const std::vector<Port>& inputs_of(const OrtSession* session);
const std::vector<Port>& outputs_of(const OrtSession* session);
const ModelInfo& info_of(const OrtSession* session);
/// The memory that an input is read in, the first of several, and the one that an output is made in.
MemorySpace input_space_of(const OrtSession& session, size_t index);
MemorySpace output_space_of(const OrtSession& session, size_t index);

/// Makes an engine's session from options that were set up for it.
using Load = FunctionRef<std::shared_ptr<Session>(const std::shared_ptr<Environment>&, const SessionOptions&)>;
/// Notes which provider runs which nodes, where the engine recorded the nodes.
void record_assignment(OrtSession& session, const Session& made);
/// A path that a caller gave; a folder is an invalid argument.
std::string model_file(const char* model_path);
/// A session that there is nothing behind yet.
std::unique_ptr<OrtSession> new_session(const OrtEnv& env);
/// What every way to a session checks first: the options as the engine takes them.
SessionOptions opening_options(const OrtEnv* env, const OrtSessionOptions* options);
/// Makes the session behind a handle ready to run. `options`: of whoever adds providers, or null; `container`: of weights
/// that are shared, or null.
void finish_session(OrtSession& session, const std::shared_ptr<Environment>& environment, SessionOptions settings,
                    const OrtSessionOptions* options, const OrtPrepackedWeightsContainer* container, Load load);

/// The options of the engine: a copy, with the caller's threads. Null: the defaults.
SessionOptions session_options(const OrtSessionOptions* options);
/// The type of a port as the C interface tells it.
OrtTypeInfo type_of(const ValueType& type, const DimTable& dims);

}  // namespace retort::abi
