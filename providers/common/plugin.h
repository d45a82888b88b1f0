// The structs that a plug-in library passes to its host, around a provider that claims and compiles nodes.
#pragma once
#include <map>

#include "graph.h"

namespace providers {

/// A compiled group of nodes. `run` may be called by several threads at once; an exception ends that run with its
/// message. A part is destroyed before its provider.
class Part {
 public:
  virtual ~Part() = default;
  virtual void run(OrtKernelContext* context) = 0;
};

/// The arguments of compile. Valid during the call; constants are not passed again in runs.
struct Compilation {
  const Graph& graph;
  std::string name;                 ///< of the node that replaces the group
  std::vector<std::string> inputs;  ///< of that node, in the order of KernelContext_GetInput
  std::vector<std::string> outputs;
  const OrtLogger* log = nullptr;  ///< of the session, for `tell`
};

/// A provider of one session. The host calls it while it makes that session, on one thread.
class Provider {
 public:
  virtual ~Provider() = default;
  /// Groups of nodes, each of which becomes a part. No value may leave a group and come back: `groups_of` (partition.h)
  /// ensures this. Claimed nodes must be compiled, since no other provider can run them any more.
  virtual std::vector<std::vector<const Node*>> claim(const Graph& graph) = 0;
  virtual std::unique_ptr<Part> compile(const Compilation& what) = 0;
};

using Options = std::map<std::string, std::string>;

/// Describes a plug-in library.
struct Description {
  const char* name;  ///< of the provider
  const char* vendor;
  const char* version;
  /// `options`: those of the session's provider, sorted by name. Throws Error for unknown options.
  std::unique_ptr<Provider> (*make)(const Options& options);
};

/// The body of CreateEpFactories: makes one factory, whose provider is offered on each CPU device.
OrtStatus* create_factory(const Description& description, const OrtApiBase* base, OrtEpFactory** factories, size_t room,
                          size_t* count) noexcept;
void release_factory(OrtEpFactory* factory) noexcept;

}  // namespace providers

/// Defines the two functions that a host looks for in the library. Use it once per library, outside of namespaces.
#define RETORT_PROVIDER(DESCRIPTION)                                                                                 \
  extern "C" __attribute__((visibility("default"))) OrtStatus* CreateEpFactories(                                    \
      const char*, const OrtApiBase* base, const OrtLogger*, OrtEpFactory** factories, size_t room, size_t* count) { \
    return providers::create_factory(DESCRIPTION, base, factories, room, count);                                     \
  }                                                                                                                  \
  extern "C" __attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {             \
    providers::release_factory(factory);                                                                             \
    return nullptr;                                                                                                  \
  }
