#include "context.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "graph.h"

namespace loopback {
namespace {

constexpr const char* kDomain = "com.microsoft";  // the domain of the operator in the official library

Error invalid(const std::string& what) { return {ORT_INVALID_GRAPH, what}; }

/// Writes words separated by spaces. Floats are hexadecimal, so that no bits are lost.
class Writer {
 public:
  template <typename T>
  Writer& operator<<(const T& value) {
    text_ << value << ' ';
    return *this;
  }
  Writer& real(double value) {
    char word[64];
    std::snprintf(word, sizeof word, "%a", value);
    return *this << word;
  }
  template <typename T, typename Each>
  void list(const T& all, Each&& each) {
    *this << all.size();
    for (const auto& one : all) each(one);
  }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
};

/// Models are untrusted: every count is checked against the remaining text before anything is allocated.
class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text), room_(text.size()) {}
  std::string word() {
    std::string w;
    if (!(text_ >> w)) throw invalid("the program of an EPContext node ends too early");
    return w;
  }
  int64_t whole() {
    const std::string w = word();
    char* end = nullptr;
    const int64_t n = std::strtoll(w.c_str(), &end, 10);
    if (*end) throw invalid("the program of an EPContext node has '" + w + "' where a number should be");
    return n;
  }
  double real() {
    const std::string w = word();
    char* end = nullptr;
    const double v = std::strtod(w.c_str(), &end);
    if (*end) throw invalid("the program of an EPContext node has '" + w + "' where a number should be");
    return v;
  }
  /// Each entry takes at least one character.
  size_t count() {
    const int64_t n = whole();
    if (n < 0 || size_t(n) > room_)
      throw Error(ORT_INVALID_GRAPH,
                  "the program of an EPContext node has the count " + std::to_string(n) + ", which is too large");
    return size_t(n);
  }
  size_t below(size_t limit) {
    const int64_t n = whole();
    if (n < 0 || size_t(n) >= limit)
      throw Error(ORT_INVALID_GRAPH,
                  "the program of an EPContext node reads value " + std::to_string(n) + " of " + std::to_string(limit));
    return size_t(n);
  }

 private:
  std::istringstream text_;
  const size_t room_;
};

std::vector<int64_t> integers(Reader& r) {
  std::vector<int64_t> all(r.count());
  for (int64_t& v : all) v = r.whole();
  return all;
}

Constant constant(Reader& r) {
  Constant c{integers(r), std::vector<float>(r.count())};
  for (float& v : c.data) v = float(r.real());
  if (Tensor{ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, c.shape, nullptr}.elements() != c.data.size())
    throw invalid("a constant of an EPContext node has another number of elements than its shape");
  return c;
}

Program::Step step(Reader& r, size_t values) {
  Program::Step s;
  s.operation.type = r.word();
  const Operator& kind = operator_of(s.operation.type);
  for (size_t n = r.count(); n > 0; --n) {
    const std::string name = r.word();
    s.operation.numbers[name] = r.real();
  }
  for (size_t n = r.count(); n > 0; --n) {
    const size_t input = r.count();
    s.operation.constants[input] = integers(r);
  }
  s.in.resize(r.count());
  for (size_t& v : s.in) v = r.below(values);
  // Shapes and axes are in the constants, everything else is a value.
  for (const auto& [input, data] : s.operation.constants) {
    if (input == 0 || input != kind.constant_input)
      throw invalid(s.operation.type + " of an EPContext node has a constant as input " + std::to_string(input));
  }
  const size_t all = s.in.size() + s.operation.constants.size();
  if (s.in.empty() || all < kind.least || all > kind.most)
    throw invalid(s.operation.type + " of an EPContext node has " + std::to_string(all) + " inputs");
  return s;
}

std::string write_beside(const std::string& model, const std::string& part, const std::string& content) {
  const std::filesystem::path path = model;
  const std::string file = path.stem().string() + "_" + part + ".bin";
  std::ofstream out(path.parent_path() / file, std::ios::binary);
  if (!(out << content).flush()) throw Error("the file '" + file + "' cannot be written beside '" + model + "'");
  return file;
}

std::string read_beside(const std::string& model, const std::string& file) {
  // The model names the file, so the path is limited to the model's folder.
  const std::filesystem::path name = file;
  if (name.has_parent_path() || name == ".." || model.empty())
    throw invalid("an EPContext node reads '" + file + "', which is not a file beside the model '" + model + "'");
  std::ifstream in(std::filesystem::path(model).parent_path() / name, std::ios::binary);
  if (!in) throw invalid("the file '" + file + "' of an EPContext node is not beside the model '" + model + "'");
  return {std::istreambuf_iterator<char>(in), {}};
}

OrtOpAttr* attribute(const Host& host, const char* name, const std::string& value) {
  OrtOpAttr* made = nullptr;
  check(host, host.api->CreateOpAttr(name, value.data(), int(value.size()), ORT_OP_ATTR_STRING, &made));
  return made;
}
OrtOpAttr* attribute(const Host& host, const char* name, int64_t value) {
  OrtOpAttr* made = nullptr;
  check(host, host.api->CreateOpAttr(name, &value, 1, ORT_OP_ATTR_INT, &made));
  return made;
}

}  // namespace

std::string written(const Program& p) {
  Writer w;
  w << kCompatibility << p.inputs;
  w.list(p.constants, [&](const Constant& c) {
    w.list(c.shape, [&](int64_t d) { w << d; });
    w.list(c.data, [&](float v) { w.real(double(v)); });
  });
  w.list(p.steps, [&](const Program::Step& s) {
    w << s.operation.type;
    w.list(s.operation.numbers, [&](const auto& n) { (w << n.first).real(n.second); });
    w.list(s.operation.constants, [&](const auto& c) {
      w << c.first;
      w.list(c.second, [&](int64_t v) { w << v; });
    });
    w.list(s.in, [&](size_t v) { w << v; });
  });
  w.list(p.outputs, [&](size_t v) { w << v; });
  return w.text();
}

Program read(const std::string& text) {
  Reader r(text);
  if (const std::string version = r.word(); version != kCompatibility)
    throw invalid("an EPContext node has a program of version '" + version + "'; this provider reads '" +
                  kCompatibility + "'");
  Program p;
  p.inputs = r.count();
  for (size_t n = r.count(); n > 0; --n) p.constants.push_back(constant(r));
  for (size_t n = r.count(); n > 0; --n) p.steps.push_back(step(r, p.first_result() + p.steps.size()));
  p.outputs.resize(r.count());
  for (size_t& v : p.outputs) v = r.below(p.first_result() + p.steps.size());
  for (const size_t v : p.outputs) {
    if (v < p.first_result()) throw invalid("an output of an EPContext node is not one of its results");
  }
  return p;
}

bool is_context(const Host& host, const OrtNode* node, const std::string& provider) {
  return type_of(host, node) == "EPContext" && domain_of(host, node) == kDomain &&
         text_of(host, node, "source") == provider;
}

OrtNode* make_context(const Host& host, const OrtNode* fused, const Program& program, const std::string& provider,
                      const ContextPlace& place) {
  const auto inputs = names_of(host, inputs_of(host, fused)), outputs = names_of(host, outputs_of(host, fused));
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<const char*> all;
    for (const std::string& t : texts) all.push_back(t.c_str());
    return all;
  };
  const auto in = pointers(inputs), out = pointers(outputs);
  const std::string name = name_of(host, fused);
  const bool inside = place.inside || place.model.empty();
  const std::string content = inside ? written(program) : write_beside(place.model, name, written(program));
  // The node takes ownership of the attributes.
  std::vector<OrtOpAttr*> attributes{
      attribute(host, "main_context", int64_t(1)),  attribute(host, "embed_mode", int64_t(inside)),
      attribute(host, "ep_cache_context", content), attribute(host, "ep_sdk_version", kCompatibility),
      attribute(host, "partition_name", name),      attribute(host, "source", provider)};
  OrtNode* node = nullptr;
  check(host, host.editor->CreateNode("EPContext", kDomain, name.c_str(), in.data(), in.size(), out.data(), out.size(),
                                      attributes.data(), attributes.size(), &node));
  return node;
}

Program read_context(const Host& host, const OrtNode* node, const std::string& model) {
  const std::string content = text_of(host, node, "ep_cache_context");
  const bool inside = number_of(host, node, "embed_mode", 1) != 0;
  Program program = read(inside ? content : read_beside(model, content));
  if (program.inputs != inputs_of(host, node).size() || program.outputs.size() != outputs_of(host, node).size())
    throw invalid("EPContext node '" + name_of(host, node) + "' has other inputs or outputs than its program");
  return program;
}

}  // namespace loopback
