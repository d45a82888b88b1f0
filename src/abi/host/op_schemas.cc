// Functions that tell plug-ins about operators: the inputs and outputs in each version, and their allowed types.
#include "abi/handle.h"
#include "abi/slots.h"
#include "onnx/operator_schemas.h"

/// A type parameter, with the inputs and outputs that have it.
struct OrtOpSchemaTypeConstraint : retort::abi::Handle<retort::abi::tag_of("optc")> {
  std::string name;
  std::span<const char* const> types;
  std::vector<size_t> inputs, outputs;
};

struct OrtOpSchema : retort::abi::Handle<retort::abi::tag_of("opsc")> {
  struct Port {
    std::string name;
    const OrtOpSchemaTypeConstraint* constraint = nullptr;
  };
  int since = 0;
  std::vector<Port> inputs, outputs;
  std::vector<OrtOpSchemaTypeConstraint> constraints;
};

namespace retort::abi::ep_api {
namespace {

using Ports = std::vector<onnx::OperatorSchema::Port>;

std::vector<OrtOpSchema::Port> schema_ports(OrtOpSchema& schema, const Ports& ports,
                                            std::vector<size_t> OrtOpSchemaTypeConstraint::*users) {
  std::vector<OrtOpSchema::Port> made;
  for (size_t i = 0; i < ports.size(); ++i) {
    OrtOpSchema::Port& port = made.emplace_back(OrtOpSchema::Port{std::string(ports[i].name)});
    for (OrtOpSchemaTypeConstraint& c : schema.constraints) {
      if (c.name != ports[i].parameter) continue;
      port.constraint = &c;
      (c.*users).push_back(i);
    }
  }
  return made;
}

std::unique_ptr<OrtOpSchema> made_schema(const onnx::OperatorSchema& facts) {
  auto schema = std::make_unique<OrtOpSchema>();
  schema->since = facts.since;
  for (const auto& parameter : facts.parameters) {
    OrtOpSchemaTypeConstraint& c = schema->constraints.emplace_back();
    c.name = parameter.name;
    c.types = parameter.types;
  }
  schema->inputs = schema_ports(*schema, facts.inputs, &OrtOpSchemaTypeConstraint::inputs);
  schema->outputs = schema_ports(*schema, facts.outputs, &OrtOpSchemaTypeConstraint::outputs);
  return schema;
}

template <typename T>
const T& one_of(const std::vector<T>& list, size_t index, const char* what) {
  require(index < list.size(), ErrorCode::invalid_argument, "{} {} does not exist; the operator has {}", what, index,
          list.size());
  return list[index];
}

/// Null and 0 for an empty list.
template <typename List, typename T>
void give_list(const List& list, const T** out, const char* what, size_t* count, const char* what_count) {
  const T*& first = need(out, what);
  need(count, what_count) = list.size();
  first = list.empty() ? nullptr : list.data();
}

}  // namespace

OrtStatusPtr ORT_API_CALL GetOpSchema(const char* name, int max_inclusive_version, const char* domain,
                                      OrtOpSchema** out_schema) noexcept {
  return guard([&] {
    need_text(name, "name");
    need_text(domain, "domain");
    OrtOpSchema*& out = need(out_schema, "out_schema");
    out = nullptr;
    if (const auto facts = onnx::operator_schema(domain, name, max_inclusive_version))
      out = made_schema(*facts).release();
  });
}

void ORT_API_CALL ReleaseOpSchema(OrtOpSchema* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL OpSchema_GetSinceVersion(const OrtOpSchema* schema, int* out) noexcept {
  return guard([&] { need(out, "out") = handle(schema, "schema").since; });
}

OrtStatusPtr ORT_API_CALL OpSchema_GetNumInputs(const OrtOpSchema* schema, size_t* out) noexcept {
  return guard([&] { need(out, "out") = handle(schema, "schema").inputs.size(); });
}

OrtStatusPtr ORT_API_CALL OpSchema_GetInputName(const OrtOpSchema* schema, size_t index, const char** out) noexcept {
  return guard([&] { need(out, "out") = one_of(handle(schema, "schema").inputs, index, "input").name.c_str(); });
}

OrtStatusPtr ORT_API_CALL OpSchema_GetInputTypeConstraint(const OrtOpSchema* schema, size_t index,
                                                          const OrtOpSchemaTypeConstraint** out) noexcept {
  return guard([&] { need(out, "out") = one_of(handle(schema, "schema").inputs, index, "input").constraint; });
}

OrtStatusPtr ORT_API_CALL OpSchema_GetNumOutputs(const OrtOpSchema* schema, size_t* out) noexcept {
  return guard([&] { need(out, "out") = handle(schema, "schema").outputs.size(); });
}

OrtStatusPtr ORT_API_CALL OpSchema_GetOutputName(const OrtOpSchema* schema, size_t index, const char** out) noexcept {
  return guard([&] { need(out, "out") = one_of(handle(schema, "schema").outputs, index, "output").name.c_str(); });
}

OrtStatusPtr ORT_API_CALL OpSchema_GetOutputTypeConstraint(const OrtOpSchema* schema, size_t index,
                                                           const OrtOpSchemaTypeConstraint** out) noexcept {
  return guard([&] { need(out, "out") = one_of(handle(schema, "schema").outputs, index, "output").constraint; });
}

OrtStatusPtr ORT_API_CALL OpSchema_GetTypeConstraintCount(const OrtOpSchema* schema, size_t* out) noexcept {
  return guard([&] { need(out, "out") = handle(schema, "schema").constraints.size(); });
}

OrtStatusPtr ORT_API_CALL OpSchema_GetTypeConstraint(const OrtOpSchema* schema, size_t index,
                                                     const OrtOpSchemaTypeConstraint** out) noexcept {
  return guard([&] { need(out, "out") = &one_of(handle(schema, "schema").constraints, index, "type constraint"); });
}

OrtStatusPtr ORT_API_CALL OpSchemaTypeConstraint_GetTypeParamName(const OrtOpSchemaTypeConstraint* type_constraint,
                                                                  const char** out) noexcept {
  return guard([&] { need(out, "out") = handle(type_constraint, "type_constraint").name.c_str(); });
}

OrtStatusPtr ORT_API_CALL OpSchemaTypeConstraint_GetAllowedTypes(const OrtOpSchemaTypeConstraint* type_constraint,
                                                                 const char* const** out_types,
                                                                 size_t* num_types) noexcept {
  return guard([&] {
    give_list(handle(type_constraint, "type_constraint").types, out_types, "out_types", num_types, "num_types");
  });
}

OrtStatusPtr ORT_API_CALL OpSchemaTypeConstraint_GetInputIndices(const OrtOpSchemaTypeConstraint* type_constraint,
                                                                 const size_t** out_indices, size_t* count) noexcept {
  return guard([&] {
    give_list(handle(type_constraint, "type_constraint").inputs, out_indices, "out_indices", count, "count");
  });
}

OrtStatusPtr ORT_API_CALL OpSchemaTypeConstraint_GetOutputIndices(const OrtOpSchemaTypeConstraint* type_constraint,
                                                                  const size_t** out_indices, size_t* count) noexcept {
  return guard([&] {
    give_list(handle(type_constraint, "type_constraint").outputs, out_indices, "out_indices", count, "count");
  });
}

}  // namespace retort::abi::ep_api
