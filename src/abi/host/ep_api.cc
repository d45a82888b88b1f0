// Functions that plug-ins call to offer devices and to claim nodes.
#include <algorithm>

#include "abi/host/claims.h"
#include "abi/host/plugin.h"
#include "abi/kernels/kernels.h"
#include "abi/slots.h"

namespace retort::abi::ep_api {
namespace {

const OrtNode& node_of(const OrtEpGraphSupportInfo& info, const OrtNode* node, const char* what) {
  const OrtNode& n = handle(node, what);
  require(n.graph == info.graph, ErrorCode::invalid_argument,
          "node '{}' is not of the graph whose capability was asked for", n.name);
  return n;
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateEpDevice(OrtEpFactory* ep_factory, const OrtHardwareDevice* hardware_device,
                                         const OrtKeyValuePairs* ep_metadata, const OrtKeyValuePairs* ep_options,
                                         OrtEpDevice** ep_device) noexcept {
  return guard([&] {
    OrtEpFactory& factory = need(ep_factory, "ep_factory");
    const OrtHardwareDevice& hardware = handle(hardware_device, "hardware_device");
    need(ep_device, "ep_device");
    auto made = std::make_unique<OrtEpDevice>();
    made->name = need_text(factory.GetName(&factory), "ep_factory.GetName()");
    made->vendor = factory.GetVendor ? need_text(factory.GetVendor(&factory), "ep_factory.GetVendor()") : "";
    const bool has_id = factory.ort_version_supported >= 23 && factory.GetVendorId;
    made->vendor_id = has_id ? factory.GetVendorId(&factory) : 0;
    if (ep_metadata) {
      for (const auto& [key, value] : handle(ep_metadata, "ep_metadata").entries()) made->metadata.set(key, value);
    }
    if (ep_options) {
      for (const auto& [key, value] : handle(ep_options, "ep_options").entries()) made->options.set(key, value);
    }
    const bool has_version = factory.ort_version_supported >= 23 && factory.GetVersion;
    const char* version = has_version ? factory.GetVersion(&factory) : nullptr;
    if (version && made->metadata.entries().count("version") == 0) made->metadata.set("version", version);
    made->hardware = &hardware;
    made->plugin = &factory;
    give(ep_device, "ep_device", std::move(made));
  });
}

void ORT_API_CALL ReleaseEpDevice(OrtEpDevice* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL EpDevice_AddAllocatorInfo(OrtEpDevice* ep_device,
                                                    const OrtMemoryInfo* allocator_memory_info) noexcept {
  return guard([&] {
    OrtEpDevice& device = handle(ep_device, "ep_device");
    const OrtMemoryInfo& info = handle(allocator_memory_info, "allocator_memory_info");
    std::erase_if(device.allocators, [&](const OrtMemoryInfo& known) {
      return known.space == info.space && known.allocator_type == info.allocator_type;
    });
    device.allocators.push_back(info);
  });
}

OrtStatusPtr ORT_API_CALL CreateHardwareDevice(OrtHardwareDeviceType type, uint32_t vendor_id, uint32_t device_id,
                                               const char* vendor_name, const OrtKeyValuePairs* metadata,
                                               OrtHardwareDevice** hardware_device) noexcept {
  return guard([&] {
    need(hardware_device, "hardware_device");
    require(type >= OrtHardwareDeviceType_CPU && type <= OrtHardwareDeviceType_NPU, ErrorCode::invalid_argument,
            "hardware device type {} does not exist", int(type));
    auto made = std::make_unique<OrtHardwareDevice>();
    made->type = type;
    made->vendor_id = vendor_id;
    made->device_id = device_id;
    made->vendor = vendor_name ? vendor_name : "";
    if (metadata) {
      for (const auto& [key, value] : handle(metadata, "metadata").entries()) made->metadata.set(key, value);
    }
    give(hardware_device, "hardware_device", std::move(made));
  });
}

// A plug-in owns the devices that it created. Devices that the environment found are never released.
void ORT_API_CALL ReleaseHardwareDevice(OrtHardwareDevice* device) noexcept { release(device); }

OrtStatusPtr ORT_API_CALL EpGraphSupportInfo_AddNodesToFuse(OrtEpGraphSupportInfo* graph_support_info,
                                                            const OrtNode* const* nodes, size_t num_nodes,
                                                            const OrtNodeFusionOptions* node_fusion_options) noexcept {
  return guard([&] {
    OrtEpGraphSupportInfo& info = handle(graph_support_info, "graph_support_info");
    need(nodes, "nodes");
    require(num_nodes > 0, ErrorCode::invalid_argument, "no nodes were given");
    Claim claim;
    for (size_t i = 0; i < num_nodes; ++i) claim.nodes.push_back(NodeId(node_of(info, nodes[i], "nodes").id));
    claim.drops_constants = node_fusion_options && node_fusion_options->drop_constant_initializers;
    info.claims.push_back(std::move(claim));
    info.singles.push_back(nullptr);
  });
}

OrtStatusPtr ORT_API_CALL EpGraphSupportInfo_AddSingleNode(OrtEpGraphSupportInfo* graph_support_info,
                                                           const OrtNode* node) noexcept {
  return guard([&] {
    OrtEpGraphSupportInfo& info = handle(graph_support_info, "graph_support_info");
    const OrtNode& claimed = node_of(info, node, "node");
    Claim claim;
    claim.nodes.push_back(NodeId(claimed.id));
    claim.single = true;
    info.claims.push_back(std::move(claim));
    info.singles.push_back(&claimed);
  });
}

OrtStatusPtr ORT_API_CALL EpGraphSupportInfo_LookUpKernel(OrtEpGraphSupportInfo* graph_support_info,
                                                          const OrtNode* node,
                                                          const OrtKernelDef** out_kernel_def) noexcept {
  return guard([&] {
    OrtEpGraphSupportInfo& info = handle(graph_support_info, "graph_support_info");
    const OrtNode& asked = node_of(info, node, "node");
    need(out_kernel_def, "out_kernel_def");
    const RegisteredKernel* kernel = info.kernels ? info.kernels->find(asked, info.provider) : nullptr;
    *out_kernel_def = kernel ? kernel->def.get() : nullptr;
    if (kernel) return;
    const bool known = info.kernels && info.kernels->has(asked.domain, asked.type);
    info.refused[NodeId(asked.id)] =
        known ? cat("it has no kernel of {} for these types and version {}", asked.type, asked.since)
              : cat("it has no kernel of {}", asked.type);
  });
}

OrtStatusPtr ORT_API_CALL KernelInfo_GetEp(const OrtKernelInfo* info, const OrtEp** ep) noexcept {
  return guard([&] {
    const OrtEp* made = handle(info, "info").ep;
    need(ep, "ep");
    require(made != nullptr, ErrorCode::invalid_argument, "the kernel is not a plug-in's");
    *ep = made;
  });
}

const char* ORT_API_CALL NodeComputeContext_NodeName(const OrtNodeComputeContext* context) noexcept {
  return context && context->tag == OrtNodeComputeContext::kTag ? context->name.c_str() : nullptr;
}

const OrtSyncStreamImpl* ORT_API_CALL SyncStream_GetImpl(const OrtSyncStream* stream) noexcept {
  return stream && stream->tag == OrtSyncStream::kTag ? stream_behind(*stream) : nullptr;
}

}  // namespace retort::abi::ep_api
