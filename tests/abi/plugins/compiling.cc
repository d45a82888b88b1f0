// A plug-in library for tests: a provider that compiles Add, Mul and Neg of equal shapes, on a device whose memory is
// host memory under another name, with a transfer that counts. It runs in any engine that hosts plug-ins;
// `plugin_counts` returns the counters.
#include <map>

#include "host_device.h"

using namespace plugins;

namespace {

std::atomic<int64_t> computed{0};

// A compiled part, which runs its nodes in order
// ---------------------------------------------------------------------------------------------------------------------

struct Operation {
  std::string type;
  std::vector<std::string> in;
  std::string out;
};

std::string name_of(const OrtValueInfo* value) {
  const char* name = "";
  if (value) api->ReleaseStatus(api->GetValueInfoName(value, &name));
  return name;
}

std::vector<std::string> names_of(const OrtNode* node, bool outputs) {
  size_t count = 0;
  api->ReleaseStatus(outputs ? api->Node_GetNumOutputs(node, &count) : api->Node_GetNumInputs(node, &count));
  std::vector<const OrtValueInfo*> values(count);
  api->ReleaseStatus(outputs ? api->Node_GetOutputs(node, values.data(), count)
                             : api->Node_GetInputs(node, values.data(), count));
  std::vector<std::string> names;
  for (const OrtValueInfo* v : values) names.push_back(name_of(v));
  return names;
}

struct Part : OrtNodeComputeInfo {
  std::vector<Operation> operations;
  std::vector<std::string> inputs, outputs;
  Part() : OrtNodeComputeInfo{} {
    ort_version_supported = 23;
    CreateState = [](OrtNodeComputeInfo* p, OrtNodeComputeContext* context, void** state) -> OrtStatus* {
      if (!*ep_api->NodeComputeContext_NodeName(context)) return error("a part without a name");
      *state = p;
      return nullptr;
    };
    Compute = [](OrtNodeComputeInfo*, void* state, OrtKernelContext* context) {
      return static_cast<Part*>(state)->run(context);
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  }

  OrtStatus* run(OrtKernelContext* context) const {
    ++computed;
    std::map<std::string, std::vector<float>> values;
    std::vector<int64_t> shape;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const OrtValue* value = nullptr;
      Floats given;
      TRY(api->KernelContext_GetInput(context, i, &value));
      if (Transfer::on_host(ep_api->Value_GetMemoryDevice(value))) return error("an input lies on the host");
      TRY(read(value, given));
      values[inputs[i]].assign(given.data, given.data + given.count);
      shape = std::move(given.shape);
    }
    for (const Operation& op : operations) {
      std::vector<float> y = values[op.in[0]];
      for (size_t i = 0; i < y.size(); ++i) {
        if (op.type == "Neg") y[i] = -y[i];
        if (op.type == "Add") y[i] += values[op.in[1]][i];
        if (op.type == "Mul") y[i] *= values[op.in[1]][i];
      }
      values[op.out] = std::move(y);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      float* data = nullptr;
      TRY(make_output(context, i, shape, data));
      std::memcpy(data, values[outputs[i]].data(), values[outputs[i]].size() * sizeof(float));
    }
    return nullptr;
  }
};

struct Ep : OrtEp {
  Ep() : OrtEp{} {
    ort_version_supported = 23;
    GetName = [](const OrtEp*) noexcept { return "compiling"; };
    GetCapability = [](OrtEp*, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept -> OrtStatus* {
      std::vector<const OrtNode*> nodes, group;
      TRY(nodes_of(graph, nodes));
      const OrtNodeFusionOptions options{23, false};
      const auto close = [&]() -> OrtStatus* {
        OrtStatus* status = group.empty()
                                ? nullptr
                                : ep_api->EpGraphSupportInfo_AddNodesToFuse(info, group.data(), group.size(), &options);
        group.clear();
        return status;
      };
      for (const OrtNode* node : nodes) {
        const std::string type = type_of(node);
        if (type == "Add" || type == "Mul" || type == "Neg")
          group.push_back(node);
        else
          TRY(close());
      }
      return close();
    };
    Compile = [](OrtEp*, const OrtGraph** graphs, const OrtNode** fused, size_t count, OrtNodeComputeInfo** infos,
                 OrtNode**) noexcept -> OrtStatus* {
      for (size_t g = 0; g < count; ++g) {
        auto* part = new Part;
        infos[g] = part;
        std::vector<const OrtNode*> nodes;
        TRY(nodes_of(graphs[g], nodes));
        for (const OrtNode* node : nodes)
          part->operations.push_back({type_of(node), names_of(node, false), names_of(node, true)[0]});
        part->inputs = names_of(fused[g], false);
        part->outputs = names_of(fused[g], true);
      }
      return nullptr;
    };
    ReleaseNodeComputeInfos = delete_parts<Part>;
  }
};

struct CompilingFactory : Factory {
  CompilingFactory() : Factory({23, "compiling", 0xbeef, "1.2.3", "CompilingMemory"}) {
    CreateEp = create_ep<Ep>;
    ReleaseEp = delete_ep<Ep>;
  }
};

}  // namespace

PLUGIN_OF(CompilingFactory, 23)

/// Copies to the device, copies from it, computed parts, allocated blocks.
EXPORTED void plugin_counts(int64_t counts[4]) {
  counts[0] = up;
  counts[1] = down;
  counts[2] = computed;
  counts[3] = alive;
}
