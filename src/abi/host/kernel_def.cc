// Definitions of kernels, and the registries that plug-ins store them in.
#include "abi/host/kernel_def.h"

#include <algorithm>
#include <cstdlib>

#include "abi/slots.h"
#include "base/split.h"
#include "onnx/operator_facts.h"
#include "onnx/operator_schemas.h"

namespace retort::abi {
namespace {

OrtKernelDef& of(OrtKernelDefBuilder* builder) { return handle(builder, "kernel_def_builder").made; }
const OrtKernelDef& of(const OrtKernelDef* def) { return handle(def, "kernel_def"); }
bool is_def(const OrtKernelDef* def) { return def && def->tag == OrtKernelDef::kTag; }

std::string versions(const OrtKernelDef& def) {
  if (def.last == INT_MAX) return cat("{}", def.first);
  return cat("{} to {}", def.first, def.last);
}

void check_memory(OrtMemType type) {
  require(type >= OrtMemTypeCPUInput && type <= OrtMemTypeDefault, ErrorCode::invalid_argument,
          "memory type {} does not exist", int(type));
}

void add_aliases(std::vector<std::pair<int, int>>& to, const int* inputs, const int* outputs, size_t count) {
  if (count == 0) return;
  need(inputs, "input_indices");
  need(outputs, "output_indices");
  for (size_t i = 0; i < count; ++i) to.emplace_back(inputs[i], outputs[i]);
}

/// A kernel without an end covers only the version that it names.
int last_of(const OrtKernelDef& def) { return def.last == INT_MAX ? def.first : def.last; }
bool covers(const OrtKernelDef& def, int since) { return def.first <= since && since <= last_of(def); }

bool overlap(const OrtKernelDef& a, const OrtKernelDef& b) {
  if (a.type != b.type || a.domain != b.domain || a.provider != b.provider) return false;
  if (a.first > last_of(b) || b.first > last_of(a)) return false;
  return std::ranges::all_of(a.types, [&](const auto& constraint) {
    const auto other = b.types.find(constraint.first);
    return other == b.types.end() ||
           std::ranges::any_of(constraint.second, [&](DType t) { return std::ranges::count(other->second, t) > 0; });
  });
}

/// The first value that a type parameter applies to. Ports are "i0" for an input, "o0" for an output, and "v1" for all
/// inputs from there on.
const OrtValueInfo* first_of(const OrtNode& node, std::string_view ports) {
  for (const std::string_view port : split(ports, ',')) {
    const size_t index = size_t(std::atoi(std::string(port.substr(1)).c_str()));
    const auto& values = port[0] == 'o' ? node.outputs : node.inputs;
    if (index < values.size() && values[index]) return values[index];
  }
  return nullptr;
}

/// The input or output that the operator gives this name; null if there is none.
const OrtValueInfo* port_of(const std::optional<onnx::OperatorSchema>& schema, const OrtNode& node,
                            std::string_view name) {
  const auto find = [&](const auto& ports, const auto& values) -> const OrtValueInfo* {
    const auto port = std::ranges::find(ports, name, &onnx::OperatorSchema::Port::name);
    const auto index = size_t(port - ports.begin());
    return port != ports.end() && index < values.size() ? values[index] : nullptr;
  };
  if (!schema) return nullptr;
  const OrtValueInfo* input = find(schema->inputs, node.inputs);
  return input ? input : find(schema->outputs, node.outputs);
}

/// Whether the kernel accepts the types of the node's values. A constraint names a type parameter of the operator, or
/// one of its inputs or outputs. If the operator is unknown, so are the values that a constraint applies to.
bool types_fit(const OrtKernelDef& def, const OrtNode& node) {
  const onnx::OperatorForm* form = onnx::operator_form(node.domain, node.type, node.since);
  const auto schema = onnx::operator_schema(node.domain, node.type, node.since);
  for (const auto& [name, allowed] : def.types) {
    const OrtValueInfo* value = port_of(schema, node, name);
    for (const std::string_view parameter : form ? split(form->types, ';') : std::vector<std::string_view>()) {
      const size_t colon = parameter.find(':');
      if (colon == std::string_view::npos || parameter.substr(0, colon) != name) continue;
      value = first_of(node, parameter.substr(colon + 1));
    }
    const bool tensor = value && value->type.tensor;
    if (value && !(tensor && std::ranges::count(allowed, from_onnx(value->type.tensor->type)))) return false;
  }
  return true;
}

}  // namespace

namespace ep_api {

OrtStatusPtr ORT_API_CALL CreateKernelRegistry(OrtKernelRegistry** kernel_registry) noexcept {
  return guard([&] { give(kernel_registry, "kernel_registry", std::make_unique<OrtKernelRegistry>()); });
}
void ORT_API_CALL ReleaseKernelRegistry(OrtKernelRegistry* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL KernelRegistry_AddKernel(OrtKernelRegistry* kernel_registry, const OrtKernelDef* kernel_def,
                                                   OrtKernelCreateFunc kernel_create_func,
                                                   void* kernel_create_func_state) noexcept {
  return guard([&] {
    OrtKernelRegistry& registry = handle(kernel_registry, "kernel_registry");
    const OrtKernelDef& def = of(kernel_def);
    need(kernel_create_func, "kernel_create_func");
    for (const RegisteredKernel& other : registry.kernels) {
      require(!overlap(def, *other.def), ErrorCode::fail,
              "a kernel of {} {} is registered for versions {} and the same types as one for versions {}", def.provider,
              def.type, versions(def), versions(*other.def));
    }
    registry.kernels.push_back({std::make_unique<OrtKernelDef>(def), kernel_create_func, kernel_create_func_state});
  });
}

OrtStatusPtr ORT_API_CALL CreateKernelDefBuilder(OrtKernelDefBuilder** kernel_def_builder_out) noexcept {
  return guard(
      [&] { give(kernel_def_builder_out, "kernel_def_builder_out", std::make_unique<OrtKernelDefBuilder>()); });
}
void ORT_API_CALL ReleaseKernelDefBuilder(OrtKernelDefBuilder* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL KernelDefBuilder_SetOperatorType(OrtKernelDefBuilder* kernel_def_builder,
                                                           const char* op_type) noexcept {
  return guard([&] { of(kernel_def_builder).type = need_text(op_type, "op_type"); });
}
OrtStatusPtr ORT_API_CALL KernelDefBuilder_SetDomain(OrtKernelDefBuilder* kernel_def_builder,
                                                     const char* domain) noexcept {
  return guard([&] {
    const std::string_view given = need_text(domain, "domain");
    of(kernel_def_builder).domain = given == "ai.onnx" ? "" : given;
  });
}
OrtStatusPtr ORT_API_CALL KernelDefBuilder_SetSinceVersion(OrtKernelDefBuilder* kernel_def_builder,
                                                           int since_version_start, int since_version_end) noexcept {
  return guard([&] {
    OrtKernelDef& def = of(kernel_def_builder);
    require(since_version_start > 0, ErrorCode::invalid_argument, "an operator has no version {}", since_version_start);
    require(since_version_end >= since_version_start, ErrorCode::invalid_argument,
            "the versions of a kernel end at {}, before they begin at {}", since_version_end, since_version_start);
    def.first = since_version_start;
    def.last = since_version_end;
  });
}
OrtStatusPtr ORT_API_CALL KernelDefBuilder_SetExecutionProvider(OrtKernelDefBuilder* kernel_def_builder,
                                                                const char* ep_name) noexcept {
  return guard([&] { of(kernel_def_builder).provider = need_text(ep_name, "ep_name"); });
}
OrtStatusPtr ORT_API_CALL KernelDefBuilder_SetInputMemType(OrtKernelDefBuilder* kernel_def_builder, size_t input_index,
                                                           OrtMemType mem_type) noexcept {
  return guard([&] {
    check_memory(mem_type);
    of(kernel_def_builder).inputs[input_index] = mem_type;
  });
}
OrtStatusPtr ORT_API_CALL KernelDefBuilder_SetOutputMemType(OrtKernelDefBuilder* kernel_def_builder,
                                                            size_t output_index, OrtMemType mem_type) noexcept {
  return guard([&] {
    check_memory(mem_type);
    of(kernel_def_builder).outputs[output_index] = mem_type;
  });
}

OrtStatusPtr ORT_API_CALL KernelDefBuilder_AddTypeConstraint(OrtKernelDefBuilder* kernel_def_builder,
                                                             const char* arg_name, const OrtDataType* const* types,
                                                             size_t num_types) noexcept {
  return guard([&] {
    OrtKernelDef& def = of(kernel_def_builder);
    const std::string name = need_text(arg_name, "arg_name");
    require(num_types > 0, ErrorCode::invalid_argument, "type constraint '{}' allows no type", name);
    need(types, "types");
    std::vector<DType> allowed;
    for (size_t i = 0; i < num_types; ++i) allowed.push_back(handle(types[i], "types").element);
    def.types[name] = std::move(allowed);
  });
}

OrtStatusPtr ORT_API_CALL KernelDefBuilder_AddInputOutputAliases(OrtKernelDefBuilder* kernel_def_builder,
                                                                 const int* input_indices, const int* output_indices,
                                                                 size_t num_io_indices) noexcept {
  return guard([&] { add_aliases(of(kernel_def_builder).aliases, input_indices, output_indices, num_io_indices); });
}
OrtStatusPtr ORT_API_CALL KernelDefBuilder_AddInputOutputMutableAliases(OrtKernelDefBuilder* kernel_def_builder,
                                                                        const int* input_indices,
                                                                        const int* output_indices,
                                                                        size_t num_io_indices) noexcept {
  return guard(
      [&] { add_aliases(of(kernel_def_builder).mutable_aliases, input_indices, output_indices, num_io_indices); });
}

OrtStatusPtr ORT_API_CALL KernelDefBuilder_Build(OrtKernelDefBuilder* kernel_def_builder,
                                                 OrtKernelDef** kernel_def_out) noexcept {
  return guard([&] { give(kernel_def_out, "kernel_def_out", std::make_unique<OrtKernelDef>(of(kernel_def_builder))); });
}
void ORT_API_CALL ReleaseKernelDef(OrtKernelDef* input) noexcept { release(input); }

const char* ORT_API_CALL KernelDef_GetOperatorType(const OrtKernelDef* kernel_def) noexcept {
  return is_def(kernel_def) ? kernel_def->type.c_str() : nullptr;
}
const char* ORT_API_CALL KernelDef_GetDomain(const OrtKernelDef* kernel_def) noexcept {
  return is_def(kernel_def) ? kernel_def->domain.c_str() : nullptr;
}
const char* ORT_API_CALL KernelDef_GetExecutionProvider(const OrtKernelDef* kernel_def) noexcept {
  return is_def(kernel_def) ? kernel_def->provider.c_str() : nullptr;
}
OrtStatusPtr ORT_API_CALL KernelDef_GetSinceVersion(const OrtKernelDef* kernel_def, int* start_version,
                                                    int* end_version) noexcept {
  return guard([&] {
    const OrtKernelDef& def = of(kernel_def);
    need(end_version, "end_version");
    need(start_version, "start_version") = def.first;
    *end_version = def.last;
  });
}
OrtStatusPtr ORT_API_CALL KernelDef_GetInputMemType(const OrtKernelDef* kernel_def, size_t input_index,
                                                    OrtMemType* mem_type) noexcept {
  return guard([&] { need(mem_type, "mem_type") = of(kernel_def).input_memory(input_index); });
}
OrtStatusPtr ORT_API_CALL KernelDef_GetOutputMemType(const OrtKernelDef* kernel_def, size_t output_index,
                                                     OrtMemType* mem_type) noexcept {
  return guard([&] { need(mem_type, "mem_type") = of(kernel_def).output_memory(output_index); });
}

}  // namespace ep_api
}  // namespace retort::abi

const retort::abi::RegisteredKernel* OrtKernelRegistry::find(const OrtNode& node, const std::string& provider) const {
  const auto found = std::ranges::find_if(kernels, [&](const retort::abi::RegisteredKernel& k) {
    return k.def->type == node.type && k.def->domain == node.domain && k.def->provider == provider &&
           retort::abi::covers(*k.def, node.since) && retort::abi::types_fit(*k.def, node);
  });
  return found == kernels.end() ? nullptr : &*found;
}

bool OrtKernelRegistry::has(const std::string& domain, const std::string& type) const {
  return std::ranges::any_of(
      kernels, [&](const retort::abi::RegisteredKernel& k) { return k.def->type == type && k.def->domain == domain; });
}
