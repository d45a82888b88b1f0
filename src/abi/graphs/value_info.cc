#include "abi/graphs/value_info.h"

#include <algorithm>

#include "abi/graphs/graph.h"
#include "abi/plain_data.h"
#include "abi/slots.h"
#include "onnx/weight_file.h"

namespace retort::abi {
namespace {

const OrtValueInfo& info_of(const OrtValueInfo* info) { return handle(info, "value_info"); }

const ValueView& viewed(const OrtValueInfo* info, const char* what) {
  const OrtValueInfo& v = info_of(info);
  require(v.view != nullptr, ErrorCode::not_implemented,
          "value '{}' was made by the model editor, which does not provide {}", v.name, what);
  return *v.view;
}

/// The view of the value in the graph that defines it.
const ValueView& origin(const ValueView& view) {
  const ValueView* at = &view;
  while (at->outer) at = at->outer->view.get();
  return *at;
}

bool is_constant(const ValueView& view) {
  const ValueView& from = origin(view);
  return from.initial && !from.optional_input;
}

OrtStatusPtr tell(const OrtValueInfo* info, const char* what, bool* out, const char* name,
                  bool (*test)(const ValueView&)) noexcept {
  return guard([&] {
    const ValueView& view = viewed(info, what);
    need(out, name) = test(view);
  });
}

}  // namespace

std::unique_ptr<OrtExternalInitializerInfo> external_place(const Tensor& initializer,
                                                           std::span<const ExternalFile> files) {
  const auto range = file_range(initializer);
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const ExternalFile& f) { return range && f.identity == range->file; });
  if (file == files.end()) return nullptr;
  auto info = std::make_unique<OrtExternalInitializerInfo>();
  info->path = file->location;
  info->offset = int64_t(range->offset);
  info->bytes = size_t(range->length);
  return info;
}

void ORT_API_CALL ReleaseValueInfo(OrtValueInfo* input) noexcept {
  // Values of views are released with their graph.
  if (input && input->tag == OrtValueInfo::kTag && !input->view) release(input);
}

OrtStatusPtr ORT_API_CALL GetValueInfoName(const OrtValueInfo* value_info, const char** name) noexcept {
  return guard([&] { need(name, "name") = info_of(value_info).name.c_str(); });
}

OrtStatusPtr ORT_API_CALL GetValueInfoTypeInfo(const OrtValueInfo* value_info, const OrtTypeInfo** type_info) noexcept {
  return guard([&] { need(type_info, "type_info") = &info_of(value_info).type; });
}

OrtStatusPtr ORT_API_CALL ValueInfo_GetValueProducer(const OrtValueInfo* value_info, const OrtNode** producer_node,
                                                     size_t* producer_output_index) noexcept {
  return guard([&] {
    const ValueView& view = viewed(value_info, "its producer");
    need(producer_node, "producer_node") = view.producer;
    if (producer_output_index) *producer_output_index = view.producer_slot;
  });
}

OrtStatusPtr ORT_API_CALL ValueInfo_GetValueNumConsumers(const OrtValueInfo* value_info,
                                                         size_t* num_consumers) noexcept {
  return guard([&] {
    const ValueView& view = viewed(value_info, "its consumers");
    need(num_consumers, "num_consumers") = view.consumers.size();
  });
}

OrtStatusPtr ORT_API_CALL ValueInfo_GetValueConsumers(const OrtValueInfo* value_info, const OrtNode** nodes,
                                                      int64_t* input_indices, size_t num_consumers) noexcept {
  return guard([&] {
    const auto& consumers = viewed(value_info, "its consumers").consumers;
    require(num_consumers >= consumers.size(), ErrorCode::invalid_argument,
            "there is room for {} of {} consumers; ask for their number first", num_consumers, consumers.size());
    if (consumers.empty()) return;
    need(nodes, "nodes");
    need(input_indices, "input_indices");
    for (size_t i = 0; i < consumers.size(); ++i) std::tie(nodes[i], input_indices[i]) = consumers[i];
  });
}

// Null for a value that is not an initializer.
OrtStatusPtr ORT_API_CALL ValueInfo_GetInitializerValue(const OrtValueInfo* value_info,
                                                        const OrtValue** initializer_value) noexcept {
  return guard([&] {
    const ValueView& from = origin(viewed(value_info, "its initializer"));
    const OrtValue*& out = need(initializer_value, "initializer_value");
    if (from.initial)
      std::call_once(from.made, [&] { from.value = std::make_unique<OrtValue>(Value(aligned(*from.initial))); });
    out = from.value.get();
  });
}

OrtStatusPtr ORT_API_CALL ValueInfo_GetExternalInitializerInfo(const OrtValueInfo* value_info,
                                                               OrtExternalInitializerInfo** info) noexcept {
  return guard([&] {
    const ValueView& from = origin(viewed(value_info, "where its initializer lies"));
    give(info, "info", from.initial ? external_place(*from.initial, from.graph->view->model->files) : nullptr);
  });
}

OrtStatusPtr ORT_API_CALL ValueInfo_IsRequiredGraphInput(const OrtValueInfo* value_info,
                                                         bool* is_required_graph_input) noexcept {
  return tell(value_info, "whether it is an input", is_required_graph_input, "is_required_graph_input",
              [](const ValueView& v) { return v.required_input; });
}

OrtStatusPtr ORT_API_CALL ValueInfo_IsOptionalGraphInput(const OrtValueInfo* value_info,
                                                         bool* is_optional_graph_input) noexcept {
  return tell(value_info, "whether it is an input", is_optional_graph_input, "is_optional_graph_input",
              [](const ValueView& v) { return v.optional_input; });
}

OrtStatusPtr ORT_API_CALL ValueInfo_IsGraphOutput(const OrtValueInfo* value_info, bool* is_graph_output) noexcept {
  return tell(value_info, "whether it is an output", is_graph_output, "is_graph_output",
              [](const ValueView& v) { return v.output; });
}

OrtStatusPtr ORT_API_CALL ValueInfo_IsConstantInitializer(const OrtValueInfo* value_info,
                                                          bool* is_constant_initializer) noexcept {
  return tell(value_info, "whether it is a constant", is_constant_initializer, "is_constant_initializer", is_constant);
}

OrtStatusPtr ORT_API_CALL ValueInfo_IsFromOuterScope(const OrtValueInfo* value_info,
                                                     bool* is_from_outer_scope) noexcept {
  return tell(value_info, "where it is defined", is_from_outer_scope, "is_from_outer_scope",
              [](const ValueView& v) { return v.outer != nullptr; });
}

namespace editor_api {

OrtStatusPtr ORT_API_CALL CreateValueInfo(const char* name, const OrtTypeInfo* type_info,
                                          OrtValueInfo** value_info) noexcept {
  return guard([&] {
    auto made = std::make_unique<OrtValueInfo>();
    made->name = need_text(name, "name");
    require(!made->name.empty(), ErrorCode::invalid_argument, "the name of a value is empty");
    made->type = handle(type_info, "type_info");
    give(value_info, "value_info", std::move(made));
  });
}

}  // namespace editor_api
}  // namespace retort::abi
