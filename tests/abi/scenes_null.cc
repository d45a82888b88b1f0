// Calls every slot with zeros: an error if the official library returns one, and never a crash.
#include <type_traits>

#include "scene.h"

namespace {

[[maybe_unused]] const OrtApiBase& table(const scenes::Scene& s, const OrtApiBase*) { return *s.base; }
[[maybe_unused]] const OrtApi& table(const scenes::Scene& s, const OrtApi*) { return s.api; }
[[maybe_unused]] const OrtModelEditorApi& table(const scenes::Scene& s, const OrtModelEditorApi*) {
  return *s.api.GetModelEditorApi();
}
[[maybe_unused]] const OrtCompileApi& table(const scenes::Scene& s, const OrtCompileApi*) {
  return *s.api.GetCompileApi();
}
[[maybe_unused]] const OrtModelPackageApi& table(const scenes::Scene& s, const OrtModelPackageApi*) {
  return *s.api.GetModelPackageApi();
}
[[maybe_unused]] const OrtInteropApi& table(const scenes::Scene& s, const OrtInteropApi*) {
  return *s.api.GetInteropApi();
}
[[maybe_unused]] const OrtEpApi& table(const scenes::Scene& s, const OrtEpApi*) { return *s.api.GetEpApi(); }

template <typename F>
void call_with_zeros(scenes::Scene& s, F call) {
  using Result = std::invoke_result_t<F>;
  if constexpr (std::is_same_v<Result, OrtStatus*>) {
    s.call("code", call());
  } else {
    call();
  }
  s.note("survived", 1);
}

}  // namespace

// each call becomes a function, because scenes are function pointers
#define NULL_CALL(TABLE, SLOT, ...)                                \
  static void null_##TABLE##_##SLOT(scenes::Scene& s) {            \
    const TABLE& t = table(s, static_cast<const TABLE*>(nullptr)); \
    call_with_zeros(s, [&] { return t.SLOT(__VA_ARGS__); });       \
  }                                                                \
  static const scenes::Register register_##TABLE##_##SLOT("null." #TABLE "." #SLOT, null_##TABLE##_##SLOT);

#include "null_calls.inc"
