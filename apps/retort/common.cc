#include <filesystem>
#include <sstream>

#include "commands.h"
#include "tensors.h"

namespace retort::cli {
namespace {

std::pair<std::string, std::string> split(const std::string& text) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos) throw Failure("'" + text + "' must have the form name=value");
  return {text.substr(0, at), text.substr(at + 1)};
}

std::vector<int64_t> parse_shape(const std::string& text) {
  std::vector<int64_t> shape;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, 'x');) {
    try {
      shape.push_back(std::stoll(part));
    } catch (const std::exception&) {
      throw Failure("shape '" + text + "' must look like 1x3x224x224");
    }
  }
  return shape;
}

std::string folder_file(const std::string& folder, size_t index) {
  for (const char* suffix : {".pb", ".npy"}) {
    const std::string path = folder + "/input_" + std::to_string(index) + suffix;
    if (std::filesystem::exists(path)) return path;
  }
  throw Failure(folder + " has no input_" + std::to_string(index) + ".pb or .npy");
}

}  // namespace

void Common::add_model(CLI::App& app) {
  app.add_option("model", model, "ONNX model file")->required()->check(CLI::ExistingFile);
  app.add_option("--library", library,
                 "engine library to use (default: RETORT_LIBRARY, else the one of this installation)");
  app.add_option("--config", config, "session config entry, key=value; may be repeated");
  app.add_flag("--json", json, "print JSON");
}

void Common::add_inputs(CLI::App& app) {
  app.add_option("-i,--input", inputs, "an input from a file: name=file.npy or name=file.pb; may be repeated");
  app.add_option("--inputs", input_folder, "folder with input_0.pb, input_1.pb, … in the order of the model's inputs")
      ->check(CLI::ExistingDirectory);
  app.add_option("--shape", shapes, "shape of a random input: name=1x3x224x224; symbolic extents are 1 otherwise");
  app.add_option("--seed", seed, "seed of random inputs")->capture_default_str();
}

std::vector<int> Common::thread_counts() const {
  std::vector<int> counts;
  std::stringstream stream(threads);
  for (std::string part; std::getline(stream, part, ',');) counts.push_back(std::max(0, std::atoi(part.c_str())));
  return counts;
}

SessionSettings Common::settings(int thread_count) const {
  SessionSettings s;
  s.threads = thread_count;
  for (const std::string& entry : config) s.config.insert(split(entry));
  return s;
}

std::map<std::string, HostTensor> Common::read_inputs(const std::vector<PortInfo>& ports) const {
  std::map<std::string, HostTensor> all;
  std::map<std::string, std::vector<int64_t>> wanted;
  for (const std::string& s : shapes) {
    const auto [name, text] = split(s);
    wanted[name] = parse_shape(text);
  }
  for (const std::string& i : inputs) {
    const auto [name, file] = split(i);
    all[name] = read_tensor_file(file);
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
