#include "abi/value_info.h"

#include "abi/slots.h"

namespace retort::abi {

void ORT_API_CALL ReleaseValueInfo(OrtValueInfo* input) noexcept { release(input); }

OrtStatusPtr ORT_API_CALL GetValueInfoName(const OrtValueInfo* value_info, const char** name) noexcept {
  return guard([&] { need(name, "name") = handle(value_info, "value_info").name.c_str(); });
}

OrtStatusPtr ORT_API_CALL GetValueInfoTypeInfo(const OrtValueInfo* value_info, const OrtTypeInfo** type_info) noexcept {
  return guard([&] { need(type_info, "type_info") = &handle(value_info, "value_info").type; });
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
