#include "onnx/writer.h"

#include <algorithm>

#include "base/checked.h"
#include "base/loading.h"
#include "ir/describe.h"
#include "onnx/new_file.h"
#include "onnx/operator_facts.h"
#include "onnx/write_context.h"

namespace retort {
namespace onnx {
namespace {

using Opsets = std::map<std::string, int>;

void write_opsets(MessageWriter& to, uint32_t field, const Opsets& opsets) {
  for (const auto& [domain, version] : opsets) {
    MessageWriter m;
    m.bytes(tag::opset::domain, domain);
    m.integer(tag::opset::version, version);
    to.message(field, m);
  }
}

/// Whether a node has the same meaning in another version of its operator set: files in ORT format give the version
/// that introduced its form.
bool means_the_same(const Node& n, int version) {
  if (n.op || n.version == 0 || n.version == version) return true;
  const OperatorForm *form = operator_form(n.domain, n.type, n.version),
                     *other = operator_form(n.domain, n.type, version);
  return form && form == other;
}

/// Adds the domains that nodes use without an import, and finds nodes whose version differs from that of the import.
void complete_opsets(const Graph& graph, Opsets& opsets) {
  for (NodeId id : graph.order()) {
    const Node& n = graph.node(id);
    const auto [at, added] = opsets.try_emplace(n.domain, std::max(n.version, 1));
    if (!means_the_same(n, at->second)) {
      fail(ErrorCode::not_implemented, "{} is of version {} of its operator set, but the model imports {}",
           describe(graph, n), n.version, at->second);
    }
    for (const Body& b : n.bodies) complete_opsets(*b.graph, opsets);
  }
}

MessageWriter write_function(const Function& f) {
  MessageWriter m;
  const Graph& body = *f.body;
  const Names names(body, nullptr, {});
  m.bytes(tag::function::name, f.name);
  for (ValueId id : body.inputs) m.bytes(tag::function::input, names.of(id));
  for (ValueId id : body.outputs) m.bytes(tag::function::output, names.of(id));
  for (const std::string& a : f.attributes) m.bytes(tag::function::attribute, a);
  write_nodes(m, tag::function::node, body, names, {});
  for_each_constant(body, [&](ValueId id, const Tensor&) {
    fail(ErrorCode::not_implemented, "function '{}' has the constant '{}': functions have no initializers", f.name,
         names.of(id));
  });
  Opsets opsets = f.opsets;
  complete_opsets(body, opsets);
  write_opsets(m, tag::function::opset_import, opsets);
  m.bytes(tag::function::domain, f.domain);
  for (const auto& [name, value] : f.defaults) {
    m.message(tag::function::attribute_proto, write_attribute(body.dims(), name, value));
  }
  write_value_infos(m, tag::function::value_info, body, names);
  m.text(tag::function::overload, f.overload);
  return m;
}

/// The lowest version that supports everything in the model, but at least its own.
int64_t ir_version_of(const Model& model) {
  int64_t version = model.ir_version ? model.ir_version : 10;
  version = std::max<int64_t>(version, 4);  // constants that are not inputs
  for (const Function& f : model.functions) version = std::max<int64_t>(version, f.overload.empty() ? 8 : 10);
  return version;
}

/// Everything except the graph.
MessageWriter write_model_head(const Model& model, const WriteOptions& options) {
  MessageWriter m;
  m.integer(tag::model::ir_version, ir_version_of(model));
  m.text(tag::model::producer_name, model.producer_name);
  m.text(tag::model::producer_version, model.producer_version);
  m.text(tag::model::domain, model.domain);
  if (model.model_version != Model::kNoVersion) m.integer(tag::model::model_version, model.model_version);
  m.text(tag::model::doc, model.doc);
  Opsets opsets = options.opsets.empty() ? model.opsets : options.opsets;
  complete_opsets(*model.graph, opsets);
  if (opsets.empty()) opsets[""] = 1;
  write_opsets(m, tag::model::opset_import, opsets);
  for (const auto& [key, value] : model.metadata) m.message(tag::model::metadata, write_entry(key, value));
  for (const Function& f : model.functions) m.message(tag::model::functions, write_function(f));
  return m;
}

/// Writes the graph as the last field. Constants are aligned in the file, and their positions depend on the number of
/// bytes of the graph's length: a first guess is corrected until it is enough. (It may then be one too many; the
/// constants are off by one byte and only cost their reader a copy.)
WrittenModel write_whole(const Model& model, const WriteOptions& options) {
  WrittenModel to{.model = write_model_head(model, options)};
  MessageWriter& m = to.model;
  const Graph& graph = *model.graph;
  const LoadingScratch scratch(std::make_shared<Names>(graph, nullptr, std::vector<std::string>()));
  const Names& names = *scratch;
  const MessageWriter head = write_graph_head(graph, names, options);
  for (size_t length_bytes = varint_size(head.size());; ++length_bytes) {
    MessageWriter g = head;
    to.external.clear();
    to.external_size = 0;
    const size_t start = m.size() + varint_size(tag::model::graph << 3) + length_bytes;
    for_each_constant(graph, [&](ValueId id, const Tensor& t) {
      if (const auto located = write_located_tensor(t, names.of(id), options)) {
        g.message(tag::graph::initializer, *located);
      } else if (!options.external_file.empty() && t.dtype() != DType::string &&
                 t.bytes() >= std::max<size_t>(options.external_threshold, 1)) {
        g.message(tag::graph::initializer, write_external_tensor(t, names.of(id), options, to));
      } else {
        write_aligned_tensor(g, tag::graph::initializer, start + g.size(), t, names.of(id));
      }
    });
    if (varint_size(g.size()) > length_bytes) continue;
    m.message(tag::model::graph, g);
    require(m.size() <= INT32_MAX, ErrorCode::invalid_argument,
            "the model needs {} bytes, more than the 2 GiB that protobuf allows; put weights in an external file",
            m.size());
    return to;
  }
}

}  // namespace
}  // namespace onnx

WrittenModel form_model(const Model& model, const WriteOptions& options) { return onnx::write_whole(model, options); }

std::string write_model(const Model& model, const WriteOptions& options) {
  require(options.external_file.empty(), ErrorCode::invalid_argument, "external data needs a file beside it");
  return form_model(model, options).model.str();
}

void write_model(const Model& model, const std::string& path, const WriteOptions& options) {
  const std::string& name = options.external_file;
  const size_t folder = path.rfind('/') + 1;
  require(!path.empty(), ErrorCode::invalid_argument, "no file is named to write the model to");
  require(folder < path.size(), ErrorCode::invalid_argument,
          "cannot write '{}': it is a folder; add the name of a file", path);
  require(name.find('/') == name.npos && name != "." && name != ".." && path.substr(folder) != name,
          ErrorCode::invalid_argument, "external data must be in a file beside the model, not in '{}'", name);
  const WrittenModel written = form_model(model, options);
  onnx::NewFile file(path);
  size_t offset = 0;
  written.model.for_each_part([&](std::string_view part) {
    file.write_at(offset, part);
    offset += part.size();
  });
  if (!written.external.empty()) {
    onnx::NewFile data(path.substr(0, folder) + name);
    for (const auto& piece : written.external) data.write_at(piece.offset, piece.bytes);
    data.finish();
  }
  file.finish();
}

}  // namespace retort
