#include "explain/operators.h"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "base/json.h"
#include "explain/how_it_runs.h"
#include "lift/rewriter.h"
#include "onnx/operator_schemas.h"
#include "ops/external.h"
#include "passes/optimize.h"

namespace retort {
namespace {

/// Whether a parameter has the constraint that `types` is for.
bool constrained(const OpInfo& info) {
  const auto is_t = [](Formal formal) {
    const size_t colon = formal.text().find(": ");
    const std::string_view type = colon == std::string_view::npos ? "" : formal.text().substr(colon + 2);
    return type == "T" || type == "T?" || type == "T...";
  };
  return std::any_of(info.inputs.begin(), info.inputs.end(), is_t) ||
         std::any_of(info.outputs.begin(), info.outputs.end(), is_t);
}

/// Writes the element types of constraint T, by how the operator runs on them.
void write_types(JsonWriter& json, const OpDef& op) {
  for (const auto& [key, how] : {std::pair("types", HowItRuns::kernel), std::pair("reference", HowItRuns::reference),
                                 std::pair("converted", HowItRuns::converted)}) {
    json.key(key).open('[');
    for (int t = 1; t < kDTypeCount; ++t) {
      const DType type = DType(t);
      if (contains(op.info.types, type) && how_it_runs(op, type) == how) json.value(dtype_name(type));
    }
    json.close(']');
  }
}

void write_formals(JsonWriter& json, const char* key, std::span<const Formal> formals) {
  json.key(key).open('[');
  for (const Formal f : given(formals)) json.value(f.text());
  json.close(']');
}

/// Operators that the lift decomposes or renames: no node runs under their names.
std::set<std::pair<std::string_view, std::string_view>> rewritten() {
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const LiftRules* file : lift_rule_table()) {
    for (const LiftRule& rule : *file) {
      if (!find_op(rule.domain, rule.type)) names.emplace(rule.domain, rule.type);
    }
  }
  return names;
}

std::string_view shown(std::string_view domain) { return domain.empty() ? "ai.onnx" : domain; }

}  // namespace

std::string list_operators() {
  std::vector<const OpDef*> all(op_table().begin(), op_table().end());
  std::erase_if(all, [](const OpDef* op) { return op->has(kInternal); });
  const auto key = [](const OpDef* op) { return std::pair(op->info.domain, op->info.name); };
  std::sort(all.begin(), all.end(), [&](const OpDef* a, const OpDef* b) { return key(a) < key(b); });
  JsonWriter json;
  json.open('[');
  for (const OpDef* op : all) {
    json.open('{').field("name", op->info.name);
    json.field("domain", shown(op->info.domain)).key("versions").open('[');
    for (const uint16_t since : op->info.since) {
      if (since) json.value(since);
    }
    json.close(']');
    write_formals(json, "inputs", op->info.inputs);
    write_formals(json, "outputs", op->info.outputs);
    json.field("any_type", !constrained(op->info));
    write_types(json, *op);
    json.key("providers").open('[').value(kCpuProvider).close(']').close('}');
  }
  for (const auto& [domain, name] : rewritten()) {
    json.open('{').field("name", name).field("domain", shown(domain)).field("rewritten", true);
    json.key("versions").open('[');
    for (const int since : onnx::operator_versions(domain, name)) json.value(since);
    json.close(']').close('}');
  }
  return json.close(']').take();
}

std::vector<std::string> pass_names() {
  std::set<std::string> names;
  for (const auto& stage : pass_stages()) names.insert(stage.begin(), stage.end());
  return {names.begin(), names.end()};
}

}  // namespace retort
