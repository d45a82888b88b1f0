#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "cli/commands.h"

namespace retort::cli {
namespace {

constexpr const char* kShapeForm = "NAME=1x3x224x224 or EXTENT=4";
constexpr const char* kEntryForm = "KEY=VALUE";
constexpr const char* kProviderForm = "NAME[:KEY=VALUE,…]";

std::vector<int64_t> parse_shape(const std::string& text) {
  std::vector<int64_t> shape;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('x', at), text.size());
    int64_t extent = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, extent);
    if (error != std::errc() || stop != text.data() + end || extent < 0)
      throw Failure("shape '" + text + "' must look like 1x3x224x224");
    shape.push_back(extent);
    at = end + 1;
  }
  return shape;
}

/// A validator that rejects texts for which `parse` throws Failure.
CLI::Validator refused_by(const std::function<void(const std::string&)>& parse) {
  const auto check = [parse](const std::string& text) -> std::string {
    try {
      parse(text);
      return "";
    } catch (const Failure& e) {
      return e.what();
    }
  };
  return CLI::Validator(check, "");
}

std::pair<std::string, std::vector<int64_t>> parse_named_shape(const std::string& text) {
  const size_t equals = text.rfind('=');  // names may have "=" in them
  if (equals == std::string::npos || equals == 0) throw Failure("'" + text + "' must have the form " + kShapeForm);
  return {text.substr(0, equals), parse_shape(text.substr(equals + 1))};
}

/// Splits a provider's name and options.
std::pair<std::string, std::map<std::string, std::string>> parse_provider(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == 0 || (colon != std::string::npos && colon + 1 == text.size()))
    throw Failure("'" + text + "' must have the form " + kProviderForm);
  std::map<std::string, std::string> entries;
  std::stringstream stream(colon == std::string::npos ? "" : text.substr(colon + 1));
  std::string key;
  for (std::string part; std::getline(stream, part, ',');) {
    // A value may be a list: claim=Add,Mul.
    if (!key.empty() && part.find('=') == std::string::npos) {
      entries[key] += "," + part;
      continue;
    }
    const auto [name, value] = split_at(part, '=', kEntryForm);
    if (!entries.emplace(key = name, value).second)
      throw Failure("'" + text + "' gives " + name + " twice; leave one of them out");
  }
  if (provider_name(text) == "CPU" && !entries.empty()) throw Failure("'" + text + "': the CPU has no options");
  return {text.substr(0, colon), entries};
}

std::vector<float> parse_floats(const char* option, const std::string& text) {
  std::vector<float> values;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    char* end = nullptr;
    values.push_back(std::strtof(part.c_str(), &end));
    const bool plain = part.find_first_not_of("0123456789.eE+-") == std::string::npos;  // strtof() takes more
    if (part.empty() || *end || !plain || !std::isfinite(values.back())) values.clear();
    if (values.empty()) break;
  }
  if (values.empty() || text.ends_with(','))
    throw CLI::ValidationError(option, "'" + text + "' must look like 0.485,0.456,0.406");
  return values;
}

}  // namespace

std::pair<std::string, std::string> split_at(const std::string& text, char at, const char* form) {
  const size_t i = text.find(at);
  if (i == std::string::npos || i == 0) throw Failure("'" + text + "' must have the form " + form);
  return {text.substr(0, i), text.substr(i + 1)};
}

CLI::Validator has_form(const char* form, bool complete) {
  return refused_by([form, complete](const std::string& text) {
    if (split_at(text, '=', form).second.empty() && complete)
      throw Failure("'" + text + "' must have the form " + form);
  });
}

void Common::add_json(CLI::App& app) { app.add_flag("--json", json, "print JSON, for programs"); }

void Common::add_library(CLI::App& app) {
  app.add_option("--library", library,
                 "engine to use: any library with the C interface of ONNX Runtime (default: the file that "
                 "RETORT_LIBRARY names, else this installation's); a name without a slash is a file of this folder, or "
                 "else is searched "
                 "for in the library path (LD_LIBRARY_PATH)")
      ->type_name("FILE");
}

void Common::add_tools_library(CLI::App& app) {
  app.add_option("--library", library,
                 "build of Retort to use; with the library of another engine, which has no such information, this "
                 "installation's Retort is used")
      ->type_name("FILE");
}

void Common::add_model_file(CLI::App& app) {
  command = &app;
  read_when_parsed(model);
  app.add_option("MODEL", model, "model file, in ONNX or ORT format; - reads it from standard input")
      ->required()
      ->check(existing_file(true))
      ->type_name("");
}

std::string Common::model_name() const { return with_given_names(model); }

void Common::add_model(CLI::App& app) {
  add_model_file(app);
  add_library(app);
  add_providers(app);
  add_json(app);
}

void Common::add_plugins(CLI::App& app, const std::string& what) {
  app.add_option("--plugin", plugins, what)
      ->check(has_form("NAME=FILE", true))
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  app.add_flag_callback(
      "--vulkan",
      [this] {
        vulkan = true;
        environment_config()["retort.discover_vulkan"] = "1";
      },
      "also find devices through Vulkan's drivers, if there are any");
  app.add_option_function<std::string>(
         "--virtual",
         [this](const std::string& devices) { environment_config()["retort.virtual_devices"] = declared = devices; },
         "declare virtual devices, such as gpu:0x10de:0x1eb8")
      ->type_name("DEVICES");
}

void Common::add_providers(CLI::App& app) {
  app.add_option("--config", config, "session configuration entry; may be repeated")
      ->check(has_form(kEntryForm))
      ->type_name(kEntryForm)
      ->allow_extra_args(false);
  app.add_option(
         "--provider", providers,
         "execution provider that runs the model (retort devices lists them), with its options, whose values may be "
         "lists with commas; may be repeated: the first one chooses its nodes first, and the CPU runs the rest")
      ->check(refused_by(parse_provider))
      ->type_name(kProviderForm)
      ->allow_extra_args(false);
  add_plugins(app,
              "load a plug-in provider; may be repeated; without --provider, all providers of the plug-ins are used");
}

void Common::add_inputs(CLI::App& app) {
  app.add_option("-i,--input", inputs,
                 "an input: a file (.npy, .npz, .csv, a picture .png or .jpg, sound .wav, or .pb with an ONNX "
                 "TensorProto, SequenceProto or MapProto), or a value (sr=16000, ids=[[1,2],[3,4]], text=hello); may "
                 "be repeated; NAME= may be left out if the model has one input, or if an .npz has the inputs' names")
      ->type_name("[NAME=]FILE|VALUE")
      ->allow_extra_args(false);
  app.add_option("--inputs", input_folder,
                 "folder with input_0.pb (or .npy), input_1.pb, … in the order of the model's inputs; --input may "
                 "replace some of them")
      ->check(existing_folder())
      ->type_name("DIR");
  add_shapes(app);
  app.add_option("--seed", seed, "seed of random inputs: the same seed gives the same numbers")
      ->check(whole(0, INT64_MAX))
      ->capture_default_str()
      ->type_name("N");
  add_media(app);
}

void Common::add_shapes(CLI::App& app) {
  app.add_option("--shape", shapes,
                 "shape of an input that is not given, or size of an extent that the model names, such as batch=8; may "
                 "be repeated; another free extent has the size of one of the same name in another input, otherwise 1")
      ->check(refused_by(parse_named_shape))
      ->type_name("NAME=1x3x224x224|EXTENT=4")
      ->allow_extra_args(false);
}

void Common::add_media(CLI::App& app) {
  constexpr const char* kGroup = "Pictures and sound";
  app.add_option_function<std::string>(
         "--resize",
         [this](const std::string& text) {
           char rest = 0;
           const int n = std::sscanf(text.c_str(), "%5dx%5d%c", &media.width, &media.height, &rest);
           const bool plain = text.find_first_not_of("0123456789x") == std::string::npos;  // %d takes signs and spaces
           constexpr int kMost = 1 << 14;
           if (n != 2 || !plain || std::min(media.width, media.height) < 1 ||
               std::max(media.width, media.height) > kMost)
             throw CLI::ValidationError("--resize", "'" + text + "' must look like 224x224, each up to 16384");
         })
      ->type_name("WIDTHxHEIGHT")
      ->description("resize a picture to this size in pixels, without keeping its proportions")
      ->group(kGroup);
  app.add_option("--scale", media.scale,
                 "value of the brightest pixel (255) if the input has floats; integers keep 0 to 255")
      ->check(real(-1e30, 1e30))
      ->capture_default_str()
      ->type_name("X")
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--mean", [this](const std::string& text) { media.mean = parse_floats("--mean", text); },
         "number to subtract after --scale, or one per channel")
      ->type_name("X[,X,X]")
      ->group(kGroup);
  const auto divisors = [this](const std::string& text) {
    media.std = parse_floats("--std", text);
    for (const float x : media.std) {
      if (x == 0) throw CLI::ValidationError("--std", "'" + text + "': the divisor must not be 0");
    }
  };
  app.add_option_function<std::string>("--std", divisors, "divisor to apply after --mean, or one per channel")
      ->type_name("X[,X,X]")
      ->group(kGroup);
  app.add_option(
         "--layout", media.layout,
         "order of a picture's axes: nchw (channels first) or nhwc (channels last); default: by the input's shape")
      ->check(one_of({"nchw", "nhwc"}))
      ->type_name("nchw|nhwc")
      ->group(kGroup);
  app.add_flag("--bgr", media.bgr, "order the channels blue, green, red")->group(kGroup);
  app.add_flag("--fit", media.fit, "cut sound, or fill it with silence, to the length of the input")->group(kGroup);
}

void Common::add_threads(CLI::App& app, const std::string& what, bool list) {
  const CLI::Validator count(
      [](const std::string& text) {
        const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
        return digits && text.size() <= 4 ? std::string() : "'" + text + "' is not a number of threads from 0 to 9999";
      },
      "");
  CLI::Option* option = add_list(app, "--threads", threads, what + "; 0: the engine chooses", count);
  option->default_str("1")->type_name(list ? "N[,N]" : "N");
  if (!list) option->check(count);
  app.add_flag("--parallel", parallel,
               "run independent branches of the model at the same time, on the number of threads that --threads gives");
}

void Common::add_against(CLI::App& app) {
  app.add_option(
         "--against", against,
         "library of the second engine, for example libonnxruntime.so of the onnxruntime package; a name without "
         "a slash is a file of this folder, or else is searched for in the library path (LD_LIBRARY_PATH)")
      ->type_name("FILE");
}

void Common::add_disable(CLI::App& app) {
  app.add_option("--disable", disabled,
                 "leave out the optimisation pass or rule of this name (retort inspect --passes lists them); may be "
                 "repeated")
      ->type_name("PASS")
      ->allow_extra_args(false);
}

SessionSettings Common::settings(int thread_count) const {
  SessionSettings s;
  s.threads = thread_count;
  s.parallel = parallel;
  for (const std::string& entry : config) {
    const auto [key, value] = split_at(entry, '=', kEntryForm);
    s.config[key] = value;
  }
  for (const std::string& text : providers) s.providers.push_back(parse_provider(text));
  for (const std::string& text : plugins) s.plugins.push_back(split_at(text, '=', "NAME=FILE"));
  s.disabled = disabled;
  s.warns = !s.config.empty();  // of unknown keys, and values that do not count
  return s;
}

std::map<std::string, std::vector<int64_t>> Common::wanted_shapes() const {
  std::map<std::string, std::vector<int64_t>> wanted;
  for (const std::string& text : shapes) {
    const auto [name, shape] = parse_named_shape(text);
    wanted[name] = shape;
  }
  return wanted;
}

Common Common::shaped_as(const HostValues& values) const {
  Common shaped = *this;
  shaped.shapes.clear();
  for (const auto& [name, value] : values) {
    const auto& shape = value.tensor.shape;
    if (!shape.empty()) shaped.shapes.push_back(name + "=" + dims_text(shape));
  }
  return shaped;
}

}  // namespace retort::cli
