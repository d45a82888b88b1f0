// Functions that only this library has, which callers look up by name; those for tools are declared in
// retort/retort_tools.h.
#include <charconv>

#include "abi/sessions/session.h"
#include "abi/slots.h"
#include "abi/values/allocators.h"
#include "abi/values/type_info.h"
#include "abi/values/value.h"
#include "base/json.h"
#include "explain/convert.h"
#include "explain/describe.h"
#include "explain/operators.h"
#include "retort/retort_tools.h"
#include "session/config.h"

namespace retort::abi {
namespace {

/// Bytes that the engine has copied by itself since the session was created; 0 if the argument is not a session.
uint64_t ORT_API_CALL session_copied_bytes(const OrtSession* session) noexcept {
  uint64_t bytes = 0;
  ReleaseStatus(guard([&] { bytes = session_of(session)->ledger().total_bytes(); }));
  return bytes;
}

OrtStatusPtr ORT_API_CALL session_copies(const OrtSession* session, OrtAllocator* allocator, char** json) noexcept {
  return guard([&] {
    const std::string text = session_of(session)->ledger().json();
    OrtAllocator& a = need(allocator, "allocator");
    need(json, "json") = allocate_text(a, text);
  });
}

OrtStatusPtr ORT_API_CALL session_providers(const OrtSession* session, OrtAllocator* allocator, char** json) noexcept {
  return guard([&] {
    JsonWriter names;
    names.open('[');
    for (const auto& provider : session_of(session)->devices().providers) names.value(provider->name());
    names.close(']');
    OrtAllocator& a = need(allocator, "allocator");
    need(json, "json") = allocate_text(a, names.take());
  });
}

std::vector<int64_t> parse_shape(const std::string& text) {
  std::vector<int64_t> shape;
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    const bool right = error == std::errc() && extent >= 0 && (next == end || (*next == 'x' && next + 1 != end));
    require(right, ErrorCode::invalid_argument, "the shape '{}' does not look like 1x3x224x224", text);
    shape.push_back(extent);
    at = next == end ? next : next + 1;
  }
  return shape;
}

DescribeOptions describe_options(const char* const* keys, const char* const* values, size_t count) {
  DescribeOptions options;
  for (size_t i = 0; i < count; ++i) {
    const std::string key = need_text((&need(keys, "keys"))[i], "key");
    const std::string value = need_text((&need(values, "values"))[i], "value");
    if (key.starts_with("shape.")) {
      options.shapes[key.substr(6)] = parse_shape(value);
    } else if (key == "disable") {
      options.disabled.push_back(value);
    } else if (key == "level" && (value == "0" || value == "1" || value == "2" || value == "3" || value == "99")) {
      options.level = std::stoi(value);
    } else {
      fail(ErrorCode::invalid_argument,
           "'{}' = '{}' is not an option; the options are shape.<input>, disable, and level with 0, 1, 2, 3 or 99", key,
           value);
    }
  }
  return options;
}

OrtStatusPtr ORT_API_CALL describe(const char* model, const char* const* keys, const char* const* values, size_t count,
                                   OrtAllocator* allocator, char** json) noexcept {
  return guard([&] {
    OrtAllocator& a = need(allocator, "allocator");
    char*& out = need(json, "json");
    out = allocate_text(a, describe_model(need_text(model, "model"), describe_options(keys, values, count)));
  });
}

OrtStatusPtr ORT_API_CALL operators(OrtAllocator* allocator, char** json) noexcept {
  return guard([&] {
    OrtAllocator& a = need(allocator, "allocator");
    need(json, "json") = allocate_text(a, list_operators());
  });
}

OrtStatusPtr ORT_API_CALL names(OrtAllocator* allocator, char** json) noexcept {
  return guard([&] {
    JsonWriter out;
    out.open('{').key("config_keys").open('[');
    for (const ConfigKey& key : config_keys()) {
      if (key.scope == ConfigScope::session && !key.key.ends_with('*')) out.value(std::string(key.key));
    }
    out.close(']').key("passes").open('[');
    for (const std::string& name : pass_names()) out.value(name);
    const std::string text = out.close(']').close('}').take();
    OrtAllocator& a = need(allocator, "allocator");
    need(json, "json") = allocate_text(a, text);
  });
}

OrtStatusPtr ORT_API_CALL write(const char* from, const char* to, const char* format, const char* external,
                                size_t threshold) noexcept {
  return guard([&] {
    const std::string file = need_text(to, "to");
    convert_model(need_text(from, "from"), file, saved_format(need_text(format, "format"), file),
                  {.external_file = need_text(external, "external"), .external_threshold = threshold});
  });
}

OrtStatusPtr ORT_API_CALL read_map(const OrtValue* container, size_t index, RetortMapEntries* entries) noexcept {
  return guard([&] {
    const Value& value = handle(container, "container").value;
    RetortMapEntries& out = need(entries, "entries");
    const Sequence* sequence = value.get<Sequence>();
    const size_t count = sequence ? sequence->items.size() : 1;
    require(index < count, ErrorCode::fail, "there is no value {}; ask for one below {}", index, count);
    const Map* map = (sequence ? sequence->items[index] : value).get<Map>();
    out = {};
    if (!map) return;
    out = {.count = map->keys.count(),
           .key_type = to_onnx(map->keys.dtype()),
           .value_type = to_onnx(map->values.dtype()),
           .keys = map->keys.data(),
           .values = map->values.data()};
  });
}

OrtStatusPtr ORT_API_CALL experimental_test(int64_t* out) noexcept {
  return guard([&] { need(out, "out") = 12345; });  // the number is part of the interface
}

}  // namespace

// Null for an unknown name, as the interface specifies.
OrtExperimentalFnPtr ORT_API_CALL GetExperimentalFunction(const char* name) noexcept {
  const std::string_view asked = name ? name : "";
  if (asked == "RetortSessionCopiedBytes") return reinterpret_cast<OrtExperimentalFnPtr>(session_copied_bytes);
  const RetortDescribeModel describe_function = describe;  // the compiler checks their types against the header
  const RetortListOperators operators_function = operators;
  const RetortListNames names_function = names;
  const RetortWriteModel write_function = write;
  const RetortSessionCopies copies_function = session_copies;
  const RetortSessionProviders providers_function = session_providers;
  if (asked == "RetortDescribeModel") return reinterpret_cast<OrtExperimentalFnPtr>(describe_function);
  if (asked == "RetortListOperators") return reinterpret_cast<OrtExperimentalFnPtr>(operators_function);
  if (asked == "RetortListNames") return reinterpret_cast<OrtExperimentalFnPtr>(names_function);
  if (asked == "RetortSessionCopies") return reinterpret_cast<OrtExperimentalFnPtr>(copies_function);
  if (asked == "RetortSessionProviders") return reinterpret_cast<OrtExperimentalFnPtr>(providers_function);
  const RetortReadMap read_map_function = read_map;
  if (asked == "RetortReadMap") return reinterpret_cast<OrtExperimentalFnPtr>(read_map_function);
  if (asked == "RetortWriteModel") return reinterpret_cast<OrtExperimentalFnPtr>(write_function);
  using Test = OrtStatusPtr(ORT_API_CALL*)(int64_t*);
  const Test test_function = experimental_test;
  if (asked == "OrtApi_ExperimentalApiTest_SinceV28") return reinterpret_cast<OrtExperimentalFnPtr>(test_function);
  return nullptr;
}

}  // namespace retort::abi
