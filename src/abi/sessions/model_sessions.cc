// Sessions of models that a caller made, or that a caller extends before they run.
#include "abi/graphs/graph.h"
#include "abi/sessions/environment.h"
#include "abi/sessions/session.h"
#include "abi/slots.h"
#include "session/model_source.h"

namespace retort::abi {
namespace {

/// Domains that nodes may use without an import, and the version that is used then.
constexpr std::pair<std::string_view, int> kKnownDomains[] = {{"ai.onnx.ml", 5}, {"com.microsoft", 1}};

OrtStatusPtr begin(const OrtEnv* env, const OrtSessionOptions* options, OrtSession** out,
                   FunctionRef<ModelSource()> source) noexcept {
  return guard([&] {
    auto draft = std::make_unique<Draft>();
    draft->options = opening_options(env, options);
    draft->environment = env->environment;
    need(out, "out");
    draft->model = source().read(draft->options, draft->options.logger(env->environment->logger()));
    draft->shown = interface_of(*draft->model);
    auto session = new_session(*env);
    session->opsets = draft->model->opsets;
    session->draft = std::move(draft);
    give(out, "out", std::move(session));
  });
}

}  // namespace

namespace editor_api {

OrtStatusPtr ORT_API_CALL CreateSessionFromModel(const OrtEnv* env, const OrtModel* model,
                                                 const OrtSessionOptions* options, OrtSession** out) noexcept {
  return guard([&] {
    SessionOptions settings = opening_options(env, options);
    const OrtModel& made = handle(model, "model");
    need(out, "out");
    auto session = new_session(*env);
    finish_session(*session, env->environment, std::move(settings), options, nullptr,
                   [&](const std::shared_ptr<Environment>& environment, const SessionOptions& o) {
                     return std::make_shared<Session>(environment, build_model(made, allows_newer_opsets(o)), o);
                   });
    give(out, "out", std::move(session));
  });
}

OrtStatusPtr ORT_API_CALL CreateModelEditorSession(const OrtEnv* env, const char* model_path,
                                                   const OrtSessionOptions* options, OrtSession** out) noexcept {
  return begin(env, options, out, [&] { return ModelSource(model_file(model_path)); });
}

OrtStatusPtr ORT_API_CALL CreateModelEditorSessionFromArray(const OrtEnv* env, const void* model_data,
                                                            size_t model_data_length, const OrtSessionOptions* options,
                                                            OrtSession** out) noexcept {
  return begin(env, options, out, [&] {
    return ModelSource(std::span(&need(static_cast<const std::byte*>(model_data), "model_data"), model_data_length));
  });
}

OrtStatusPtr ORT_API_CALL SessionGetOpsetForDomain(const OrtSession* session, const char* domain, int* opset) noexcept {
  return guard([&] {
    const auto& opsets = handle(session, "session").opsets;
    const std::string_view name = need_text(domain, "domain");
    int& out = need(opset, "opset");
    if (const auto found = opsets.find(std::string(name)); found != opsets.end()) {
      out = found->second;
      return;
    }
    for (const auto& [known, version] : kKnownDomains) {
      if (known != name) continue;
      out = version;
      return;
    }
    fail(ErrorCode::fail, "the model does not use the domain '{}'", name);
  });
}

OrtStatusPtr ORT_API_CALL ApplyModelToModelEditorSession(OrtSession* session, OrtModel* model) noexcept {
  return guard([&] {
    OrtSession& s = handle(session, "session");
    const OrtModel& addition = handle(model, "model");
    require(s.draft != nullptr, ErrorCode::model_loaded,
            "the session is finished, so its model cannot be extended; create another by CreateModelEditorSession");
    extend_model(*s.draft->model, addition, s.draft->environment->logger());
    s.draft->shown = interface_of(*s.draft->model);
    s.opsets = s.draft->model->opsets;
  });
}

// As in ONNX Runtime, the session keeps the options that it was created with, and `options` only adds providers. If
// this fails, the session is unchanged.
OrtStatusPtr ORT_API_CALL FinalizeModelEditorSession(OrtSession* session, const OrtSessionOptions* options,
                                                     OrtPrepackedWeightsContainer* container) noexcept {
  return guard([&] {
    OrtSession& s = handle(session, "session");
    if (options) handle(options, "options");
    if (!s.draft) return;
    SessionOptions settings = s.draft->options;
    if (options) settings.providers = options->options.providers;
    auto model = std::make_shared<Model>(*s.draft->model);  // unchanged if this fails
    model->graph = model->graph->clone();
    finish_session(s, s.draft->environment, std::move(settings), options, container,
                   [&](const std::shared_ptr<Environment>& environment, const SessionOptions& o) {
                     return std::make_shared<Session>(environment, model, o);
                   });
    s.draft = nullptr;
  });
}

}  // namespace editor_api
}  // namespace retort::abi
