// Schemas of operators, as plug-ins are told them: every operator in every version.
#include <fstream>
#include <set>
#include <sstream>

#include "retort/onnxruntime_ep_c_api.h"
#include "scene.h"

using scenes::Scene;

namespace {

/// The newest version of the domain that the official library knows.
int newest(const std::string& domain) {
  if (domain == "ai.onnx" || domain == "com.ms.internal.nhwc") return 27;
  return domain == "ai.onnx.ml" ? 5 : 1;
}

/// Domain and name of all operators that the engine knows.
std::set<std::pair<std::string, std::string>> operators() {
  std::set<std::pair<std::string, std::string>> all;
  std::ifstream in(RETORT_OPERATOR_SCHEMAS);
  std::string line, domain, name;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream row(line);
    std::string cell;
    if (line.find('\t') == std::string::npos) continue;
    if (std::getline(row, cell, '\t'); !cell.empty()) domain = cell;
    if (std::getline(row, cell, '\t'); !cell.empty()) name = cell;
    all.emplace(domain, name);
  }
  return all;
}

/// Nothing of it is noted but errors, which there are none of.
struct Asked {
  explicit Asked(Scene& s) : scene(s), ep(*s.api.GetEpApi()) {}
  Scene& scene;
  const OrtEpApi& ep;

  void check(const char* what, OrtStatus* status) const {
    if (status) scene.call(what, status);
  }
  OrtOpSchema* schema(const std::string& domain, const std::string& name, int version) const {
    OrtOpSchema* made = nullptr;
    check("GetOpSchema", ep.GetOpSchema(name.c_str(), version, domain.c_str(), &made));
    return made;
  }
  int since(const OrtOpSchema* schema) const {
    int since = 0;
    if (schema) check("GetSinceVersion", ep.OpSchema_GetSinceVersion(schema, &since));
    return since;
  }
  std::string constraint(const OrtOpSchemaTypeConstraint* c) const {
    const char* name = nullptr;
    if (c) check("GetTypeParamName", ep.OpSchemaTypeConstraint_GetTypeParamName(c, &name));
    return name ? name : "-";
  }
};

using CountOf = OrtStatusPtr(ORT_API_CALL*)(const OrtOpSchema*, size_t*);
using NameOf = OrtStatusPtr(ORT_API_CALL*)(const OrtOpSchema*, size_t, const char**);
using ConstraintOf = OrtStatusPtr(ORT_API_CALL*)(const OrtOpSchema*, size_t, const OrtOpSchemaTypeConstraint**);

std::string ports(const Asked& a, const OrtOpSchema* schema, CountOf count_of, NameOf name_of, ConstraintOf type_of) {
  size_t count = 0;
  a.check("count", count_of(schema, &count));
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    const OrtOpSchemaTypeConstraint* c = nullptr;
    a.check("name", name_of(schema, i, &name));
    a.check("constraint", type_of(schema, i, &c));
    text += std::string(" ") + (name ? name : "null") + ":" + a.constraint(c);
  }
  return text;
}

std::string all_of(const size_t* indices, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += std::to_string(indices[i]) + ",";
  return count || !indices ? text : "empty, not null";
}

std::string constraints(const Asked& a, const OrtOpSchema* schema) {
  size_t count = 0;
  a.check("count", a.ep.OpSchema_GetTypeConstraintCount(schema, &count));
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    const OrtOpSchemaTypeConstraint* c = nullptr;
    const char* const* types = nullptr;
    const size_t *in = nullptr, *out = nullptr;
    size_t n = 0, inputs = 0, outputs = 0;
    a.check("constraint", a.ep.OpSchema_GetTypeConstraint(schema, i, &c));
    a.check("types", a.ep.OpSchemaTypeConstraint_GetAllowedTypes(c, &types, &n));
    a.check("inputs", a.ep.OpSchemaTypeConstraint_GetInputIndices(c, &in, &inputs));
    a.check("outputs", a.ep.OpSchemaTypeConstraint_GetOutputIndices(c, &out, &outputs));
    text += " " + a.constraint(c) + " {in " + all_of(in, inputs) + " out " + all_of(out, outputs);
    for (size_t k = 0; k < n; ++k) text += std::string(" ") + types[k];
    text += "}";
  }
  return text;
}

std::string whole(const Asked& a, const OrtOpSchema* schema) {
  const OrtEpApi& ep = a.ep;
  return ports(a, schema, ep.OpSchema_GetNumInputs, ep.OpSchema_GetInputName, ep.OpSchema_GetInputTypeConstraint) +
         " ->" +
         ports(a, schema, ep.OpSchema_GetNumOutputs, ep.OpSchema_GetOutputName, ep.OpSchema_GetOutputTypeConstraint) +
         " where" + constraints(a, schema);
}

}  // namespace

SCENE(op_schemas, every_operator_in_every_version) {
  s.env();
  const Asked a(s);
  size_t answers = 0;
  for (const auto& [domain, name] : operators()) {
    for (int version = 0; version <= newest(domain); ++version) {
      OrtOpSchema* schema = a.schema(domain, name, version);
      const int since = a.since(schema);
      const bool is_new = schema && since == version;
      s.note(domain + "::" + name + " " + std::to_string(version),
             std::to_string(since) + (is_new ? whole(a, schema) : ""));
      answers += is_new;
      a.ep.ReleaseOpSchema(schema);
    }
  }
  s.note("answers are many", answers > 800);
}

SCENE(op_schemas, newer_than_all) {
  s.env();
  const Asked a(s);
  for (const auto& [domain, name] : operators()) {
    OrtOpSchema* schema = a.schema(domain, name, 1000);
    s.note(domain + "::" + name, a.since(schema));
    a.ep.ReleaseOpSchema(schema);
  }
}

SCENE(op_schemas, unknown) {
  s.env();
  const OrtEpApi& ep = *s.api.GetEpApi();
  const auto ask = [&](const char* domain, const char* name, int version) {
    OrtOpSchema* schema = reinterpret_cast<OrtOpSchema*>(&s);
    s.call("GetOpSchema", ep.GetOpSchema(name, version, domain, &schema));
    s.note("schema", static_cast<const void*>(schema));
    ep.ReleaseOpSchema(schema);
  };
  ask("ai.onnx", "Add", 14);
  ask("", "Nothing", 14);
  ask("", "", 14);
  ask("", "add", 14);
  ask("", "Add", 0);
  ask("", "Add", -1);
  ask("-", "Add", 14);
  ask("nobody", "Add", 14);
  ask("", "QuickGelu", 14);
  ask("com.microsoft", "Add", 14);
  ask("ai.onnx.ml", "Add", 14);
}

SCENE(op_schemas, out_of_range) {
  s.env();
  const OrtEpApi& ep = *s.api.GetEpApi();
  OrtOpSchema* schema = nullptr;
  s.call("GetOpSchema", ep.GetOpSchema("If", 14, "", &schema));
  const char* name = "as it was";
  const OrtOpSchemaTypeConstraint* c = nullptr;
  for (const size_t index : {size_t(0), size_t(1), size_t(2), ~size_t(0)}) {
    s.call("OpSchema_GetInputName", ep.OpSchema_GetInputName(schema, index, &name));
    s.note("name", name);
    s.call("OpSchema_GetOutputName", ep.OpSchema_GetOutputName(schema, index, &name));
    s.note("name", name);
    s.call("OpSchema_GetInputTypeConstraint", ep.OpSchema_GetInputTypeConstraint(schema, index, &c));
    s.call("OpSchema_GetOutputTypeConstraint", ep.OpSchema_GetOutputTypeConstraint(schema, index, &c));
    s.call("OpSchema_GetTypeConstraint", ep.OpSchema_GetTypeConstraint(schema, index, &c));
    s.note("constraint", static_cast<const void*>(c));
  }
  ep.ReleaseOpSchema(schema);
  ep.ReleaseOpSchema(nullptr);
}
