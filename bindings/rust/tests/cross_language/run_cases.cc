// The C++ program for main.rs: runs models on inputs from files and writes the outputs to files.
//
//   run_cases LIBRARY FOLDER...
//
// A folder contains model.onnx and case.tsv: a line `steps COUNT`, then one line for each input with its name, element
// type (a value of ONNXTensorElementDataType), extents separated by commas, mode, and the output that the mode refers
// to, or '-'. The data of input i, counted from 0, is in i.bin; strings end with a NUL there. The modes are:
//
//   each  the data has a tensor for each step
//   back  the data has the tensor of the first step; later steps get the previous value of the output
//   over  the data has one tensor, to whose memory the output is written
//
// All outputs of all steps are written to cpp.bin. A value is its kind, followed, for tensors, by element type, rank,
// extents and the bytes (for strings: length and bytes of each) and, for sequences and maps, by the number of items and
// the items. Numbers have 64 bits in native byte order.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <retort/retort.hpp>
#include <sstream>

namespace api = retort::api;

namespace {

struct Input {
  std::string name;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<int64_t> shape;
  std::string mode, output;
  std::string data;
};

struct Case {
  std::string folder;
  int steps = 0;
  std::vector<Input> inputs;
};

std::string read(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file + " cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

size_t bytes_of(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
      return 1;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return 2;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return 4;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      return 8;
    default:
      throw std::runtime_error("no case has elements of type " + std::to_string(int(type)));
  }
}

Case read_case(const std::string& folder) {
  Case c;
  c.folder = folder;
  std::istringstream lines(read(folder + "/case.tsv"));
  std::string word, extents;
  lines >> word >> c.steps;
  for (int type = 0; lines >> word >> type >> extents;) {
    Input input;
    input.name = word;
    input.type = ONNXTensorElementDataType(type);
    lines >> input.mode >> input.output;
    std::istringstream numbers(extents);
    while (std::getline(numbers, word, ',')) input.shape.push_back(std::stoll(word));
    input.data = read(folder + "/" + std::to_string(c.inputs.size()) + ".bin");
    c.inputs.push_back(std::move(input));
  }
  return c;
}

size_t count(const Input& input) {
  size_t n = 1;
  for (const int64_t extent : input.shape) n *= size_t(extent);
  return n;
}

/// Returns the tensor of a step. It uses the input's data in place, unless it has strings.
api::Value tensor(Input& input, int step) {
  const int place = input.mode == "each" ? step : 0;
  if (input.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    std::vector<std::string> texts;
    std::istringstream all(input.data);
    for (std::string text; std::getline(all, text, '\0');) texts.push_back(text);
    return api::Value::strings(std::span(texts).subspan(place * count(input), count(input)), input.shape);
  }
  const size_t bytes = count(input) * bytes_of(input.type);
  if ((place + 1) * bytes > input.data.size()) throw std::runtime_error("the data of " + input.name + " is too short");
  return api::Value::wrap(api::MemoryInfo::cpu(), input.data.data() + place * bytes, bytes, input.shape, input.type);
}

void number(std::ostream& to, int64_t value) { to.write(reinterpret_cast<const char*>(&value), sizeof value); }

void write(std::ostream& to, const api::Value& value) {
  number(to, value.kind());
  if (!value.is_tensor()) {
    const std::vector<api::Value> items = value.items();
    number(to, int64_t(items.size()));
    for (const api::Value& item : items) write(to, item);
    return;
  }
  const api::TensorType type = value.type();
  number(to, type.type);
  number(to, int64_t(type.shape.size()));
  for (const int64_t extent : type.shape) number(to, extent);
  if (type.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    for (const std::string& text : value.texts()) {
      number(to, int64_t(text.size()));
      to << text;
    }
  } else {
    to.write(static_cast<const char*>(value.raw()), std::streamsize(value.count() * bytes_of(type.type)));
  }
}

/// Binds inputs that change in this step, and the outputs. Outputs of unknown shape are bound again in each step.
void bind(Case& c, api::IoBinding& binding, const std::vector<api::Port>& outputs, int step) {
  std::map<std::string, api::Value> in_place;
  for (Input& input : c.inputs) {
    if (step > 0 && input.mode != "each") continue;
    api::Value value = tensor(input, step);
    binding.input(input.name.c_str(), value);
    if (input.mode == "over") in_place.emplace(input.output, std::move(value));
  }
  for (const api::Port& output : outputs) {
    const auto found = in_place.find(output.name);
    const bool over = std::ranges::any_of(
        c.inputs, [&](const Input& input) { return input.mode == "over" && input.output == output.name; });
    if (found != in_place.end()) binding.output(output.name.c_str(), found->second);
    if (!over) binding.output(output.name.c_str(), api::MemoryInfo::cpu());
  }
}

void run(const api::Env& env, Case c) {
  api::SessionOptions options;
  options.threads(1);
  const api::Session session(env, c.folder + "/model.onnx", options);
  const std::vector<api::Port> outputs = session.outputs();
  std::ofstream to(c.folder + "/cpp.bin", std::ios::binary);
  api::IoBinding binding(session);
  for (int step = 0; step < c.steps; ++step) {
    bind(c, binding, outputs, step);
    binding.run();
    std::map<std::string, api::Value> results;
    const std::vector<std::string> names = binding.output_names();
    std::vector<api::Value> values = binding.outputs();
    for (size_t i = 0; i < names.size(); ++i) results.emplace(names[i], std::move(values[i]));
    for (const api::Port& output : outputs) write(to, results.at(output.name));
    for (const Input& input : c.inputs) {
      if (input.mode == "back") binding.input(input.name.c_str(), results.at(input.output));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: run_cases LIBRARY FOLDER...\n", stderr);
    return 2;
  }
  try {
    api::Library::load(argv[1]);
    const api::Env env;
    for (int i = 2; i < argc; ++i) run(env, read_case(argv[i]));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "run_cases: %s\n", e.what());
    return 1;
  }
}
