#include "onnx/reader.h"

#include <algorithm>
#include <new>

#include "base/advice.h"
#include "base/checked.h"
#include "onnx/name_hash.h"
#include "onnx/opsets.h"
#include "onnx/read_context.h"
#include "onnx/read_graph.h"
#include "onnx/read_scratch.h"

namespace retort {
namespace onnx {

void ReadContext::count_node() {
  check_loading();
  require(++nodes <= limits().nodes, ErrorCode::invalid_graph, "the model has more than {} nodes", limits().nodes);
}

// The content of a file takes bytes of the file, but captures repeat it once per body; twice the bytes is more than
// enough for both.
void ReadContext::count_entry(size_t name_bytes) {
  const size_t allowed = std::min(limits().entries, (size_t(1) << 16) + 2 * file.bytes.size());
  entries += 1 + name_bytes / 256;
  require(entries <= allowed, ErrorCode::invalid_graph, "the model has more than {} values and attributes", allowed);
}

void ReadContext::charge(size_t bytes) {
  memory = checked_add(memory, bytes, "memory for tensors");
  const size_t files = checked_add(file.bytes.size(), external.total(), "size of the model");
  const size_t allowed = limits().memory_bytes ? limits().memory_bytes : (size_t(256) << 20) + 16 * files;
  require(memory <= allowed, ErrorCode::invalid_graph, "its tensors need {} bytes of memory, more than the limit of {}",
          memory, allowed);
}

std::string_view ReadContext::text(const Message& m) const {
  const std::string_view text = m.bytes();
  require(text.size() <= limits().string_bytes, ErrorCode::invalid_graph,
          "a string of {} bytes in {} exceeds the limit of {}", text.size(), m.what(), limits().string_bytes);
  return text;
}

void read_opset(ReadContext& c, Message m, Opsets& opsets) {
  std::string_view domain;
  int64_t version = 0;
  while (m.next()) {
    if (m.field() == tag::opset::domain) domain = canonical_domain(c.text(m));
    if (m.field() == tag::opset::version) version = m.integer();
  }
  require(version >= -INT32_MAX && version <= INT32_MAX, ErrorCode::invalid_graph,
          "version {} of operator set '{}' does not exist", version, domain);
  if (version < 1)
    c.note(cat("version {} of operator set '{}', which the model imports, does not exist; no node uses that set",
               version, domain));
  opsets[std::string(domain)] = int(version);
}

namespace {

void read_signature(ReadContext& c, Message m, Function& f) {
  while (m.next()) {
    switch (m.field()) {
      case tag::function::name:
        f.name = c.text(m);
        break;
      case tag::function::domain:
        f.domain = canonical_domain(c.text(m));
        break;
      case tag::function::overload:
        f.overload = c.text(m);
        break;
      case tag::function::attribute:
        f.attributes.emplace_back(c.text(m));
        break;
      case tag::function::opset_import:
        read_opset(c, m.child("OperatorSetIdProto"), f.opsets);
        break;
    }
  }
}

void read_defaults(ReadContext& c, Message m, Function& f) {
  std::map<std::string_view, Attribute> sorted;
  while (m.next()) {
    if (m.field() != tag::function::attribute_proto) continue;
    c.count_entry();
    ReadAttribute a = read_attribute(c, m.child("AttributeProto"), false);
    require(!a.graph, ErrorCode::not_implemented, "default '{}' is a graph", a.name);
    const bool fresh = sorted.emplace(a.name, std::move(a.value)).second;
    require(fresh, ErrorCode::invalid_graph, "default '{}' appears twice", a.name);
  }
  for (auto& [name, value] : sorted) f.defaults.set(name, std::move(value));
}

std::pair<std::string, std::string> read_metadata(ReadContext& c, Message m) {
  std::pair<std::string, std::string> entry;
  while (m.next()) {
    if (m.field() == tag::entry::key) entry.first = c.text(m);
    if (m.field() == tag::entry::value) entry.second = c.text(m);
  }
  return entry;
}

/// The fields of ModelProto that follow the graph in most files but are needed to read it.
struct ModelParts {
  std::optional<Message> graph;
  std::vector<Message> functions;
  bool has_ir_version = false;
};

ModelParts read_header(ReadContext& c, Message m) {
  ModelParts p;
  Model& model = c.model;
  while (m.next()) {
    switch (m.field()) {
      case tag::model::ir_version:
        model.ir_version = m.integer();
        p.has_ir_version = true;
        break;
      case tag::model::producer_name:
        model.producer_name = c.text(m);
        break;
      case tag::model::producer_version:
        model.producer_version = c.text(m);
        break;
      case tag::model::domain:
        model.domain = c.text(m);
        break;
      case tag::model::model_version:
        model.model_version = m.integer();
        break;
      case tag::model::doc:
        model.doc = c.text(m);
        break;
      case tag::model::graph:
        require(!p.graph, ErrorCode::invalid_graph, "the model has two graphs");
        p.graph = m.child("GraphProto");
        break;
      case tag::model::opset_import:
        read_opset(c, m.child("OperatorSetIdProto"), model.opsets);
        break;
      case tag::model::metadata:
        c.count_entry();
        model.metadata.push_back(read_metadata(c, m.child("StringStringEntryProto")));
        break;
      case tag::model::functions:
        c.count_entry();
        p.functions.push_back(m.child("FunctionProto"));
        break;
    }
  }
  return p;
}

void read_functions(ReadContext& c, const std::vector<Message>& functions) {
  std::unordered_set<std::string, NameHash> known;
  for (const Message& m : functions) {
    Function f = read_function(c, m);
    const bool added = known.insert(cat("{}:{}:{}", f.domain, f.name, f.overload)).second;
    require(added, ErrorCode::invalid_graph, "there are two functions '{}:{}:{}'", f.domain, f.name, f.overload);
    if (!c.options.newer_opsets) require_known_opsets(f.opsets, cat("function '{}:{}'", f.domain, f.name));
    c.model.functions.push_back(std::move(f));
  }
}

void read_everything(ReadContext& c) {
  const Message m(c.file.bytes, "ModelProto", c.limits().depth);
  const ModelParts p = read_header(c, m);
  require(p.graph.has_value(), ErrorCode::invalid_argument, "no graph was found in the protobuf of {} bytes",
          c.file.bytes.size());
  const int64_t version = c.model.ir_version;
  require(p.has_ir_version, ErrorCode::fail, "missing model IR version; set ir_version of the ModelProto");
  require(version <= kMaxIrVersion, ErrorCode::fail,
          "unsupported model IR version: {}, max supported IR version: {}; export the model for that or an older one",
          version, kMaxIrVersion);
  require(!c.model.opsets.empty(), ErrorCode::fail,
          "missing opset in the model: it must import at least one version of an operator set; set opset_import");
  if (!c.options.newer_opsets) require_known_opsets(c.model.opsets);
  read_functions(c, p.functions);
  // It has the names of all values.
  const ReadScratch main(std::make_shared<Scope>(c, *c.model.graph, c.model.opsets, Scope::Kind::main));
  main->read_graph(*p.graph);
}

constexpr std::string_view kCheck = "check the model with onnx.checker and export it again";

/// Whether the first field is one that a ModelProto has.
bool begins_as_model(std::string_view bytes) {
  Message m(bytes, "ModelProto", 1);
  try {
    m.next();
  } catch (const Error&) {  // a truncated field was begun
  }
  using namespace tag::model;
  for (const uint32_t known : {ir_version, producer_name, producer_version, domain, model_version, doc, graph,
                               opset_import, metadata, functions}) {
    if (m.field() == known) return true;
  }
  return false;
}

/// Advice for a file that is not a model. Web pages and pointers of Git LFS are loaded by mistake most often; the
/// content of other texts is not shown, because it may be private.
std::string what_it_is(std::string_view bytes, bool begins) {
  constexpr size_t kShown = 24;
  const std::string_view begin = bytes.substr(0, std::min(bytes.find('\n'), kShown));
  const bool is_text = std::all_of(begin.begin(), begin.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (begin.size() < 4 || !is_text)
    return begins ? "copy or download the file again, it is incomplete or damaged"
                  : "give the file of a model, NAME.onnx";
  for (const std::string_view known : {"version https://git-lfs", "<!DOCTYPE", "<!doctype", "<html", "<?xml"}) {
    if (begin.starts_with(known))
      return cat("download the model itself: this is a text file that begins with '{}'", begin);
  }
  return "give the file of a model, NAME.onnx: this is a text file";
}

std::shared_ptr<Model> read_source(std::shared_ptr<Model> made, Source source, const ReadOptions& options) {
  const Source kept = source;  // a copy: the message needs its bytes
  ReadScratch model(std::move(made), has_only_ours(options));
  try {
    ReadContext c(*model, options, std::move(source));
    read_everything(c);
    return model.take();
  } catch (Error& e) {
    if (e.code() != ErrorCode::invalid_protobuf) {
      advise(e, kCheck);
      throw;
    }
    const bool begins = begins_as_model(kept.bytes);
    const std::string what_to_do = what_it_is(kept.bytes, begins);
    require(begins, e.code(), "this is not an ONNX model: its first bytes are not a field of a ModelProto; {}",
            what_to_do);
    advise(e, what_to_do);
    throw;
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::fail, "out of memory while reading the model; free some");
  }
}

}  // namespace

Function read_function(ReadContext& c, Message m) {
  const ReadScratch made(std::make_shared<Function>(), has_only_ours(c.options));
  Function& f = *made;
  read_signature(c, m, f);
  return in_context([&] { return cat("function '{}:{}'", f.domain, f.name); },
                    [&] {
                      require(!f.name.empty(), ErrorCode::invalid_graph, "it has no name");
                      read_defaults(c, m, f);
                      f.body = std::make_shared<Graph>(c.model.dims);
                      f.body->name = f.name;
                      const ReadScratch scope(std::make_shared<Scope>(c, *f.body, f.opsets, Scope::Kind::function));
                      scope->read_function(m);
                      return std::move(f);
                    });
}

}  // namespace onnx

std::shared_ptr<Model> read_model(const std::string& path, const ReadOptions& options, FileIdentity* identity) {
  return onnx::in_context([&] { return "model '" + path + "'"; },
                          [&] {
                            const onnx::File file =
                                advising([] { return "check the path"; }, [&] { return onnx::File::open(path); });
                            if (identity) *identity = file.identity();
                            onnx::Source source{{}, options.trusted ? file.map() : file.read(0, file.size()), true};
                            source.bytes = {static_cast<const char*>(source.owner.get()), file.size()};
                            auto model = std::make_shared<Model>();
                            model->path = path;
                            return onnx::read_source(std::move(model), std::move(source), options);
                          });
}

std::shared_ptr<Model> read_model(std::span<const std::byte> bytes, const ReadOptions& options) {
  const bool keep = options.borrow || options.owner;
  onnx::Source source{{reinterpret_cast<const char*>(bytes.data()), bytes.size()}, options.owner, keep};
  return onnx::read_source(std::make_shared<Model>(), std::move(source), options);
}

}  // namespace retort
