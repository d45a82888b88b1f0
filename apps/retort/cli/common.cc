#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "cli/commands.h"

namespace retort::cli {
namespace {

constexpr const char* kShapeForm = "NAME=1x3x224x224";
constexpr const char* kEntryForm = "KEY=VALUE";
constexpr const char* kDisabled = "optimization.disable_specified_optimizers";

std::vector<int64_t> parse_shape(const std::string& text) {
  std::vector<int64_t> shape;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, 'x');) {
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), extent);
    if (error != std::errc() || end != part.data() + part.size() || extent < 0)
      throw Failure("shape '" + text + "' must look like 1x3x224x224");
    shape.push_back(extent);
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
  const auto [name, shape] = split_at(text, '=', kShapeForm);
  return {name, parse_shape(shape)};
}

/// Splits a provider's name and options.
std::pair<std::string, std::map<std::string, std::string>> parse_provider(const std::string& text) {
  const size_t colon = text.find(':');
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
    entries.emplace(key = name, value);
  }
  return {text.substr(0, colon), entries};
}

const PortInfo& find_port(const std::vector<PortInfo>& ports, const std::string& name) {
  std::string known;
  for (const PortInfo& port : ports) {
    if (port.name == name) return port;
    known += (known.empty() ? "'" : ", '") + port.name + "'";
  }
  throw Failure("the model has no input '" + name + "'; it has " + (known.empty() ? "none" : known));
}

/// The array of that name, or the only one.
HostValue take(HostValues&& arrays, const std::string& name, const std::string& file) {
  const auto found = arrays.find(name);
  if (found != arrays.end()) return std::move(found->second);
  if (arrays.size() == 1) return std::move(arrays.begin()->second);
  throw Failure(file + " has no array '" + name + "'");
}

class InputReader {
 public:
  InputReader(const Common& options, const std::vector<PortInfo>& ports) : o_(options), ports_(ports) {}

  HostValues read() {
    for (const auto& [name, shape] : o_.wanted_shapes()) learn(find_port(ports_, name), wanted_[name] = shape);
    for (const std::string& text : o_.inputs) read_given(text);
    for (size_t i = 0; i < ports_.size() && !o_.input_folder.empty(); ++i) {
      const std::string file = numbered_file(o_.input_folder, "input_", i);
      if (!all_.contains(ports_[i].name)) give(ports_[i], take(read_file(file, ports_[i]), ports_[i].name, file));
    }
    const bool given = !all_.empty();
    for (size_t i = 0; i < ports_.size(); ++i) {
      const PortInfo& port = ports_[i];
      if (all_.contains(port.name)) continue;
      if (given && !o_.random)
        throw Failure("input '" + port.name + "' is not given; --random fills inputs that no file gives");
      const std::vector<int64_t> shape = random_shape(port);
      all_[port.name] = {.kind = HostValue::Kind::tensor,
                         .tensor = random_tensor(port, shape, o_.seed + i),
                         .guessed = std::find(shape.begin(), shape.end(), -1) != shape.end()};
    }
    return std::move(all_);
  }

 private:
  HostValues read_file(const std::string& file, const PortInfo& port) { return read_value_file(file, port, o_.media); }

  void read_given(const std::string& text) {
    const bool named = text.find('=') != std::string::npos;
    if (!named && text.ends_with(".npz")) {
      for (auto& [name, value] : read_file(text, {})) give(find_port(ports_, name), std::move(value));
      return;
    }
    const bool one = ports_.size() == 1 && !named;
    const auto [name, file] = one ? std::pair(ports_[0].name, text) : split_at(text, '=', "NAME=FILE");
    const PortInfo& port = find_port(ports_, name);
    give(port, take(read_file(file, port), name, file));
  }

  void give(const PortInfo& port, HostValue value) {
    if (all_.contains(port.name)) throw Failure("input '" + port.name + "' is given twice; remove one --input");
    std::vector<int64_t>& shape = value.tensor.shape;
    // Engines differ in accepting this.
    if (port.ranked && port.shape.empty() && shape == std::vector<int64_t>{1}) shape.clear();
    learn(port, shape);
    all_[port.name] = std::move(value);
  }

  /// Records named extents, which are the same in all inputs.
  void learn(const PortInfo& port, const std::vector<int64_t>& shape) {
    for (size_t i = 0; i < shape.size() && i < port.symbols.size(); ++i) {
      if (!port.symbols[i].empty()) extents_.emplace(port.symbols[i], shape[i]);
    }
  }

  std::vector<int64_t> random_shape(const PortInfo& port) const {
    const auto wanted = wanted_.find(port.name);
    if (wanted != wanted_.end()) return wanted->second;
    std::vector<int64_t> shape = port.shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      const auto known = extents_.find(port.symbols[i]);
      if (shape[i] < 0 && known != extents_.end()) shape[i] = known->second;
    }
    return shape;
  }

  const Common& o_;
  const std::vector<PortInfo>& ports_;
  HostValues all_;
  std::map<std::string, std::vector<int64_t>> wanted_;
  std::map<std::string, int64_t> extents_;
};

std::vector<float> parse_floats(const std::string& text) {
  std::vector<float> values;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    char* end = nullptr;
    values.push_back(std::strtof(part.c_str(), &end));
    if (part.empty() || *end) throw CLI::ValidationError("'" + text + "' must look like 0.485,0.456,0.406");
  }
  return values;
}

}  // namespace

std::pair<std::string, std::string> split_at(const std::string& text, char at, const char* form) {
  const size_t i = text.find(at);
  if (i == std::string::npos || i == 0) throw Failure("'" + text + "' must have the form " + form);
  return {text.substr(0, i), text.substr(i + 1)};
}

std::string numbered_file(const std::string& folder, const char* prefix, size_t index) {
  const std::string path = folder + "/" + prefix + std::to_string(index);
  for (const char* suffix : {".pb", ".npy"}) {
    if (std::filesystem::exists(path + suffix)) return path + suffix;
  }
  throw Failure(folder + " has no " + prefix + std::to_string(index) + ".pb or .npy");
}

CLI::Validator has_form(const char* form) {
  return refused_by([form](const std::string& text) { split_at(text, '=', form); });
}

std::string dims_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? "x" : "") + std::to_string(shape[i]);
  return text.empty() ? "scalar" : text;
}

void Common::add_json(CLI::App& app) { app.add_flag("--json", json, "print JSON, for programs"); }

void Common::add_library(CLI::App& app) {
  app.add_option(
         "--library", library,
         "engine to use: any library with the C interface of ONNX Runtime (default: the file that "
         "RETORT_LIBRARY names, else this installation's); a name without a slash is searched for in the library path "
         "(LD_LIBRARY_PATH)")
      ->type_name("FILE");
}

void Common::add_tools_library(CLI::App& app) {
  app.add_option("--library", library,
                 "build of Retort to use; with the library of another engine, which has no such information, this "
                 "installation's Retort is used")
      ->type_name("FILE");
}

void Common::add_model_file(CLI::App& app) {
  app.add_option("MODEL", model, "ONNX model file")->required()->check(kFile)->type_name("");
}

void Common::add_model(CLI::App& app) {
  add_model_file(app);
  add_library(app);
  add_providers(app);
  add_json(app);
}

void Common::add_plugins(CLI::App& app, const std::string& what) {
  app.add_option("--plugin", plugins, what)
      ->check(has_form("NAME=FILE"))
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
  app.add_option("--provider", providers,
                 "an execution provider of the engine to run the model (retort devices lists them), with its "
                 "options, whose values may be lists with commas; may be repeated: the first one chooses nodes first; "
                 "the CPU runs "
                 "all others")
      ->check(refused_by(parse_provider))
      ->type_name("NAME[:KEY=VALUE,…]")
      ->allow_extra_args(false);
  add_plugins(app,
              "load a plug-in provider; may be repeated; without --provider, all providers of the plug-ins are used");
}

void Common::add_inputs(CLI::App& app) {
  app.add_option("-i,--input", inputs,
                 "an input from a file: .npy, .npz, .pb (ONNX TensorProto), a picture (.png, .jpg) or sound (.wav); a "
                 "sequence or map from a .pb (SequenceProto, MapProto), as --save of retort run writes it; may be "
                 "repeated; NAME= may be left out for a model of one input, and for an .npz with the inputs' names")
      ->type_name("[NAME=]FILE")
      ->allow_extra_args(false);
  app.add_option("--inputs", input_folder,
                 "folder with input_0.pb (or .npy), input_1.pb, … in the order of the model's inputs")
      ->check(CLI::ExistingDirectory.description(""))
      ->type_name("DIR");
  add_shapes(app);
  app.add_option("--seed", seed, "seed of random inputs: the same seed gives the same numbers")
      ->capture_default_str()
      ->type_name("N");
  add_media(app);
}

void Common::add_shapes(CLI::App& app) {
  app.add_option(
         "--shape", shapes,
         "shape of an input that no file gives; may be repeated; extents that the model leaves free are as those "
         "of the same name in other inputs, otherwise 1")
      ->check(refused_by(parse_named_shape))
      ->type_name(kShapeForm)
      ->allow_extra_args(false);
}

void Common::add_media(CLI::App& app) {
  const auto floats = [](std::vector<float>& to) {
    return [&to](const std::string& text) { to = parse_floats(text); };
  };
  constexpr const char* kGroup = "Pictures and sound";
  app.add_option_function<std::string>(
         "--resize",
         [this](const std::string& text) {
           char rest = 0;
           const int n = std::sscanf(text.c_str(), "%5dx%5d%c", &media.width, &media.height, &rest);
           if (n != 2 || media.width < 1 || media.height < 1)
             throw CLI::ValidationError("--resize", "'" + text + "' must look like 224x224");
         })
      ->type_name("WIDTHxHEIGHT")
      ->description("resize a picture to this size in pixels, without keeping its proportions")
      ->group(kGroup);
  app.add_option("--scale", media.scale,
                 "value of the brightest pixel (255) if the input has floats; integers keep 0 to 255")
      ->capture_default_str()
      ->type_name("X")
      ->group(kGroup);
  app.add_option_function<std::string>("--mean", floats(media.mean),
                                       "number to subtract after --scale, or one per channel")
      ->type_name("X[,X,X]")
      ->group(kGroup);
  const auto divisors = [this](const std::string& text) {
    media.std = parse_floats(text);
    for (const float x : media.std) {
      if (x == 0) throw CLI::ValidationError("--std", "'" + text + "': the divisor must not be 0");
    }
  };
  app.add_option_function<std::string>("--std", divisors, "divisor to apply after --mean, or one per channel")
      ->type_name("X[,X,X]")
      ->group(kGroup);
  app.add_option("--layout", media.layout,
                 "order of a picture's axes: nchw (channels before rows and columns) or nhwc (after); default: by the "
                 "input's shape")
      ->check(CLI::IsMember({"nchw", "nhwc"}).description(""))
      ->type_name("nchw|nhwc")
      ->group(kGroup);
  app.add_flag("--bgr", media.bgr, "order the channels blue, green, red")->group(kGroup);
  app.add_flag("--fit", media.fit, "cut sound, or fill it with silence, to the length of the input")->group(kGroup);
}

void Common::add_threads(CLI::App& app, const std::string& what) {
  app.add_option("--threads", threads, what + "; 0: the engine chooses")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
            return digits && text.size() <= 4 ? std::string() : "'" + text + "' is not a number of threads";
          },
          ""))
      ->default_str("1")
      ->allow_extra_args(false);
  app.add_flag("--parallel", parallel, "run independent branches of the model at the same time, on as many threads");
}

void Common::add_against(CLI::App& app) {
  app.add_option(
         "--against", against,
         "library of the second engine, for example libonnxruntime.so of the onnxruntime package; a name without "
         "a slash is searched for in the library path (LD_LIBRARY_PATH)")
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
  for (const std::string& entry : config) s.config.insert(split_at(entry, '=', kEntryForm));
  for (const std::string& text : providers) s.providers.push_back(parse_provider(text));
  for (const std::string& text : plugins) s.plugins.push_back(split_at(text, '=', "NAME=FILE"));
  for (const std::string& name : disabled) s.config[kDisabled] += (s.config[kDisabled].empty() ? "" : ";") + name;
  s.warns = s.config.contains(kDisabled);  // warns of names of unknown passes
  return s;
}

std::map<std::string, std::vector<int64_t>> Common::wanted_shapes() const {
  std::map<std::string, std::vector<int64_t>> wanted;
  for (const std::string& text : shapes) {
    auto [name, shape] = parse_named_shape(text);
    wanted[name] = std::move(shape);
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

HostValues Common::read_inputs(const std::vector<PortInfo>& ports) const { return InputReader(*this, ports).read(); }

}  // namespace retort::cli
