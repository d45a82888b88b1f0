#include <charconv>
#include <filesystem>
#include <sstream>

#include "commands.h"
#include "tensors.h"

namespace retort::cli {
namespace {

std::pair<std::string, std::string> split(const std::string& text, const char* form) {
  const size_t at = text.find('=');
  if (at == std::string::npos || at == 0) throw Failure("'" + text + "' must have the form " + form);
  return {text.substr(0, at), text.substr(at + 1)};
}

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

const PortInfo& find_port(const std::vector<PortInfo>& ports, const std::string& name) {
  std::string known;
  for (const PortInfo& port : ports) {
    if (port.name == name) return port;
    known += (known.empty() ? "'" : ", '") + port.name + "'";
  }
  throw Failure("the model has no input '" + name + "'; it has " + (known.empty() ? "none" : known));
}

std::string folder_file(const std::string& folder, size_t index) {
  for (const char* suffix : {".pb", ".npy"}) {
    std::string path = folder + "/input_" + std::to_string(index) + suffix;
    if (std::filesystem::exists(path)) return path;
  }
  throw Failure(folder + " has no input_" + std::to_string(index) + ".pb or .npy");
}

}  // namespace

void Common::add_model(CLI::App& app) {
  app.add_option("MODEL", model, "ONNX model file")->required()->check(kFile)->type_name("");
  app.add_option("--library", library,
                 "engine to use: any library with the C interface of ONNX Runtime (default: the file that "
                 "RETORT_LIBRARY names, else this installation's)")
      ->type_name("FILE");
  app.add_option("--config", config, "session configuration entry; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_flag("--json", json, "print JSON");
}

void Common::add_inputs(CLI::App& app) {
  app.add_option("-i,--input", inputs,
                 "an input from a .npy or .pb file; may be repeated; NAME= may be left out for a model of one input")
      ->type_name("[NAME=]FILE")
      ->allow_extra_args(false);
  app.add_option("--inputs", input_folder,
                 "folder with input_0.pb (or .npy), input_1.pb, … in the order of the model's inputs")
      ->check(CLI::ExistingDirectory.description(""))
      ->type_name("DIR");
  app.add_option("--shape", shapes,
                 "shape of an input that no file gives: it is filled at random; free extents are 1 otherwise")
      ->type_name("NAME=1x3x224x224")
      ->allow_extra_args(false);
  app.add_option("--seed", seed, "seed of random inputs")->capture_default_str()->type_name("N");
}

void Common::add_threads(CLI::App& app, const std::string& what) {
  app.add_option("--threads", threads, what + "; 0: the engine's own choice")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
            return digits && text.size() <= 4 ? std::string() : "'" + text + "' is no number of threads";
          },
          ""))
      ->default_str("1")
      ->allow_extra_args(false);
}

SessionSettings Common::settings(int thread_count) const {
  SessionSettings s;
  s.threads = thread_count;
  for (const std::string& entry : config) s.config.insert(split(entry, "KEY=VALUE"));
  return s;
}

std::map<std::string, HostTensor> Common::read_inputs(const std::vector<PortInfo>& ports) const {
  std::map<std::string, HostTensor> all;
  std::map<std::string, std::vector<int64_t>> wanted;
  for (const std::string& text : shapes) {
    const auto [name, shape] = split(text, "NAME=1x3x224x224");
    wanted[find_port(ports, name).name] = parse_shape(shape);
  }
  for (const std::string& text : inputs) {
    const bool unnamed = ports.size() == 1 && text.find('=') == std::string::npos;
    const auto [name, file] = unnamed ? std::pair(ports[0].name, text) : split(text, "NAME=FILE");
    all[find_port(ports, name).name] = read_tensor_file(file);
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    const PortInfo& port = ports[i];
    if (all.count(port.name)) continue;
    all[port.name] = input_folder.empty() ? random_tensor(port, wanted[port.name], seed + i)
                                          : read_tensor_file(folder_file(input_folder, i));
  }
  return all;
}

}  // namespace retort::cli
