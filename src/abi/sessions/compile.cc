// CompileModel. The written model has the providers' compiled parts in place of their nodes. The CPU runs nodes as they
// are, so all other nodes stay: in the model's own dialect, or as far optimised as ONNX can express.
#include "abi/sessions/compile.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "abi/graphs/value_info.h"
#include "abi/plain_data.h"
#include "abi/sessions/environment.h"
#include "abi/sessions/session.h"
#include "abi/slots.h"
#include "abi/values/allocators.h"
#include "abi/values/value.h"
#include "onnx/new_file.h"
#include "onnx/writer.h"
#include "session/context_output.h"
#include "session/model_source.h"

namespace retort::abi {
namespace {

std::string folder_of(const std::string& file) { return file.substr(0, file.rfind('/') + 1); }

/// An output buffer. It becomes the caller's in the last step, after everything that can fail.
class Result {
 public:
  Result(const BufferOutput& to, size_t size)
      : to_(to), size_(size), data_(held(*to.allocator, static_cast<char*>(allocate(*to.allocator, size)))) {}
  char* data() { return data_.get(); }
  void hand_over() {
    *to_.data = data_.release();
    *to_.size = size_;
  }

 private:
  BufferOutput to_;
  size_t size_;
  decltype(held(*to_.allocator, static_cast<char*>(nullptr))) data_;
};

/// Asks the caller's function for the location of each constant, once.
class Locations {
 public:
  Locations(const WeightsFunction& ask, std::span<const ExternalFile> files) : ask_(ask), files_(files) {}

  std::optional<ConstantPlace> of(const std::string& name, const Tensor& tensor) {
    const auto [at, added] = known_.try_emplace({name, tensor.data()});
    if (added) at->second = asked(name, tensor);
    return at->second;
  }

 private:
  std::optional<ConstantPlace> asked(const std::string& name, const Tensor& tensor) const {
    const OrtValue value{Value(tensor), &cpu_memory_info()};
    const auto before = external_place(tensor, files_);  // null for one that was inside the model
    OrtExternalInitializerInfo* answer = nullptr;
    throw_status(ask_.locate(ask_.state, name.c_str(), &value, before.get(), &answer));
    if (!answer) return std::nullopt;
    const auto info = std::unique_ptr<OrtExternalInitializerInfo>(&handle(answer, "new_external_info"));
    require(!info->path.empty() && info->offset >= 0 && info->bytes == tensor.bytes(), ErrorCode::invalid_argument,
            "initializer '{}' of {} bytes cannot lie in '{}' from byte {} on, {} bytes long; give a file, an offset "
            "and its "
            "own length",
            name, tensor.bytes(), info->path, info->offset, info->bytes);
    return ConstantPlace{info->path, uint64_t(info->offset)};
  }

  WeightsFunction ask_;
  std::span<const ExternalFile> files_;
  std::map<std::pair<std::string, const void*>, std::optional<ConstantPlace>> known_;
};

class Compilation {
 public:
  Compilation(const OrtEnv* env, const OrtModelCompilationOptions& options) : env_(env), options_(options) {}

  void run() {
    OrtSessionOptions session = options_.session;
    session.options.config["ep.context_enable"] = "1";
    if (const auto* path = std::get_if<std::string>(&options_.output))
      session.options.config["ep.context_file_path"] = *path;
    SessionOptions settings = opening_options(env_, &session);
    settings.optimized_model_path.clear();
    settings.profiling = false;
    settings.compile = [this](const Model& model, std::span<const ExternalFile> files, bool compiled) {
      check_compiled(compiled);
      write(model, files);
    };
    const std::unique_ptr<OrtSession> none = new_session(*env_);
    finish_session(
        *none, env_->environment, std::move(settings), &session, nullptr,
        [&](const std::shared_ptr<Environment>& environment, const SessionOptions& o) { return open(environment, o); });
  }

 private:
  bool has(OrtCompileApiFlags flag) const { return options_.flags & uint32_t(flag); }

  std::shared_ptr<Session> open(const std::shared_ptr<Environment>& environment, const SessionOptions& o) {
    if (const auto* path = std::get_if<std::string>(&options_.input)) {
      input_ = model_file(path->c_str());
      std::error_code missing;
      require(std::filesystem::exists(input_, missing), ErrorCode::invalid_argument,
              "the input model '{}' does not exist", input_);
      return std::make_shared<Session>(environment, input_, o);
    }
    if (const auto* bytes = std::get_if<std::span<const std::byte>>(&options_.input))
      return std::make_shared<Session>(environment, *bytes, o);
    const auto* model = std::get_if<const OrtModel*>(&options_.input);
    require(model != nullptr, ErrorCode::invalid_argument,
            "there is no input model; set a path, a buffer or a model before CompileModel");
    return std::make_shared<Session>(environment, build_model(handle(*model, "input model"), allows_newer_opsets(o)),
                                     o);
  }

  /// The path of the written model; "" if it is not written to a file.
  std::string output_file() const {
    if (options_.output.index() > 1) return "";
    const auto* path = std::get_if<std::string>(&options_.output);
    SessionOptions settings = options_.session.options;
    if (path) settings.config["ep.context_file_path"] = *path;
    const std::string file = context_output(settings, input_);
    if (has(OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS)) check_no_context(file);
    const std::string folder = folder_of(file);
    std::error_code missing;
    require(folder.empty() || std::filesystem::is_directory(folder, missing), ErrorCode::invalid_argument,
            "cannot write '{}': its folder does not exist; make it, or choose another", file);
    return file;
  }

  std::optional<WeightsFile> weights_file() const {
    if (const auto* file = std::get_if<WeightsFile>(&options_.weights)) return *file;
    const std::string& name = options_.session.options.config_entry("ep.context_model_external_initializers_file_name");
    if (options_.weights.index() || name.empty()) return std::nullopt;
    return WeightsFile{name, 0, {}};
  }

  void check_compiled(bool compiled) const {
    require(
        compiled || !has(OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED), ErrorCode::fail,
        "no node was compiled: the processor runs them as they are; add a provider that compiles, or compile without "
        "ERROR_IF_NO_NODES_COMPILED");
  }

  void write(const Model& model, std::span<const ExternalFile> files) {
    const std::string file = output_file();
    const std::optional<WeightsFile> weights = weights_file();
    WriteOptions write;
    if (weights) {
      write.external_file = weights->name;
      write.external_threshold = weights->threshold;
      write.external_alignment = std::max<size_t>(options_.alignment, kElement);
      write.external_aligned_from = options_.aligned_from;
    }
    std::optional<Locations> locations;
    if (const auto* ask = std::get_if<WeightsFunction>(&options_.weights)) {
      locations.emplace(*ask, files);
      write.locate = [&](const std::string& name, const Tensor& t) { return locations->of(name, t); };
    }
    put(form_model(model, write), file, weights);
  }

  /// No file appears before everything is written.
  void put(const WrittenModel& written, const std::string& file, const std::optional<WeightsFile>& weights) {
    std::optional<onnx::NewFile> model_file, weights_file;
    std::optional<Result> model_buffer, weights_buffer;
    const bool buffered = weights && weights->buffer.allocator;
    if (buffered) put_buffer(written, weights_buffer.emplace(weights->buffer, written.external_size).data());
    if (weights && !buffered && !written.external.empty())
      put_file(written, weights_file.emplace(weights_path(weights->name, file)));
    if (!file.empty()) {
      model_file.emplace(file);
      size_t at = 0;
      each_part(written, [&](std::string_view part) {
        model_file->write_at(at, part);
        at += part.size();
      });
    } else if (const auto* buffer = std::get_if<BufferOutput>(&options_.output)) {
      char* to = model_buffer.emplace(*buffer, written.model.size()).data();
      each_part(written, [&](std::string_view part) { to = std::copy(part.begin(), part.end(), to); });
    } else {
      const auto& function = std::get<FunctionOutput>(options_.output);
      each_part(written,
                [&](std::string_view part) { throw_status(function.write(function.state, part.data(), part.size())); });
    }
    if (weights_file) weights_file->finish();
    if (model_file) model_file->finish();
    if (weights_buffer) weights_buffer->hand_over();
    if (model_buffer) model_buffer->hand_over();
  }

  template <typename F>
  static void each_part(const WrittenModel& written, F&& f) {
    written.model.for_each_part([&](std::string_view part) {
      if (!part.empty()) f(part);
    });
  }

  static void put_buffer(const WrittenModel& written, char* to) {
    size_t end = 0;
    for (const auto& piece : written.external) {
      std::memset(to + end, 0, piece.offset - end);
      std::copy(piece.bytes.begin(), piece.bytes.end(), to + piece.offset);
      end = piece.offset + piece.bytes.size();
    }
  }

  static void put_file(const WrittenModel& written, onnx::NewFile& to) {
    for (const auto& piece : written.external) to.write_at(piece.offset, piece.bytes);
  }

  /// A path beside the written model, or beside the input model if the output is not a file.
  std::string weights_path(const std::string& name, const std::string& file) const {
    const std::string model = file.empty() ? input_ : file;
    const std::string beside = folder_of(model) + name;
    require(
        name.find('/') == name.npos && name != "." && name != ".." && beside != model, ErrorCode::invalid_argument,
        "external initializers must lie in a file beside the model, not in '{}'; give the name of another file there",
        name);
    return beside;
  }

  static constexpr size_t kElement = 8;  ///< smallest alignment of elements

  const OrtEnv* env_;
  const OrtModelCompilationOptions& options_;
  std::string input_;  ///< path of the input model; "" if it is not a file
};

}  // namespace

namespace compile_api {

OrtStatusPtr ORT_API_CALL CompileModel(const OrtEnv* env, const OrtModelCompilationOptions* model_options) noexcept {
  return guard([&] {
    handle(env, "env");
    Compilation(env, handle(model_options, "model_options")).run();
  });
}

}  // namespace compile_api
}  // namespace retort::abi
