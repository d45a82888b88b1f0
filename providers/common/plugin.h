// The structs that a plug-in library gives to its host, around what a provider is: something that claims nodes and compiles them.
#pragma once
#include <map>

#include "graph.h"

namespace providers {

/// A compiled group of nodes. `run` may be called by several threads at once; what it throws ends that run with its message.
/// A part is gone before its provider is.
class Part {
 public:
  virtual ~Part() = default;
  virtual void run(OrtKernelContext* context) = 0;
};

/// What Compile is told of a group. Valid during the call; constants are not given again at runs.
struct Compilation {
  const Graph& graph;
  std::string name;                 ///< of the node that stands for the group
  std::vector<std::string> inputs;  ///< of that node, in the order of KernelContext_GetInput
  std::vector<std::string> outputs;
  const OrtLogger* log = nullptr;  ///< of the session, for `tell`
};

/// A provider of one session, which the host asks while it makes that session, on one thread.
class Provider {
 public:
  virtual ~Provider() = default;
  /// Groups of nodes, each of which becomes a part. No value may leave a group and come back: `groups_of` (partition.h)
  /// makes such. What is claimed must be compiled: nobody else has those nodes any more.
  virtual std::vector<std::vector<const Node*>> claim(const Graph& graph) = 0;
  virtual std::unique_ptr<Part> compile(const Compilation& what) = 0;
};

using Options = std::map<std::string, std::string>;

/// What a plug-in library consists of.
struct Description {
  const char* name;  ///< of the provider
  const char* vendor;
  const char* version;
  /// Options are those of the session's provider, in the order of their names. Throws Error for those that it does not know.
  std::unique_ptr<Provider> (*make)(const Options& options);
};

/// The body of CreateEpFactories: one factory, whose provider is offered on each CPU device.
OrtStatus* create_factory(const Description& description, const OrtApiBase* base, OrtEpFactory** factories, size_t room,
                          size_t* count) noexcept;
void release_factory(OrtEpFactory* factory) noexcept;

}  // namespace providers

/// The two functions that a host looks for in the library. Once in each, outside of namespaces.
#define RETORT_PROVIDER(DESCRIPTION)                                                                                 \
  extern "C" __attribute__((visibility("default"))) OrtStatus* CreateEpFactories(                                    \
      const char*, const OrtApiBase* base, const OrtLogger*, OrtEpFactory** factories, size_t room, size_t* count) { \
    return providers::create_factory(DESCRIPTION, base, factories, room, count);                                     \
  }                                                                                                                  \
  extern "C" __attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {             \
    providers::release_factory(factory);                                                                             \
    return nullptr;                                                                                                  \
  }
