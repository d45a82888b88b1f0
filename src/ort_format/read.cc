#include "ort_format/read.h"

#include <algorithm>
#include <new>

#include "base/advice.h"
#include "base/loading.h"
#include "memory/host.h"
#include "onnx/schema.h"
#include "onnx/weight_file.h"
#include "ort_format/translate.h"

namespace retort {
namespace {

using onnx::File;

constexpr size_t kHead = 8;  ///< offset of the root table, identifier
constexpr size_t kAlignment = 8;

constexpr uint32_t kNear = 1 << 16;

/// Whether `head` begins a flatbuffer of that many bytes. A protocol buffer can contain the identifier as well, but
/// then the bytes before it are not an offset inside the file. Writers put the root first; a short file has lost its
/// end.
bool is_ort_format(std::string_view head, size_t size) {
  if (size <= kHead) return false;
  uint32_t root = 0;
  std::memcpy(&root, head.data(), sizeof root);
  return head.substr(4, 4) == fbs::InferenceSessionIdentifier() && (root < size || root < kNear);
}

/// The version that the file gives for each node replaces that of the model's imports.
void set_versions(const fbs::Graph& from, Graph& to) {
  uint32_t i = 0;
  ort_format::each_table(from.nodes(), [&](const fbs::Node& n) {
    Node& node = to.node(NodeId(i++));
    if (n.since_version() > 0) node.version = n.since_version();
    auto body = node.bodies.begin();
    ort_format::each_table(n.attributes(), [&](const fbs::Attribute& a) {
      if (a.type() == int(onnx::AttributeKind::graph)) set_versions(*a.g(), *body++->graph);
    });
  });
}

/// `owner`: what tensors may keep to use the bytes in place; empty: tensors must not use the bytes.
std::shared_ptr<Model> read_ort(std::string_view bytes, std::shared_ptr<void> owner, ReadOptions options) {
  std::shared_ptr<void> copy;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment) {
    copy = allocate_block(bytes.size());
    copy_in_pieces(copy.get(), bytes.data(), bytes.size());
    bytes = {static_cast<const char*>(copy.get()), bytes.size()};
    owner = copy;
  }
  ort_format::Flat flat(bytes);
  const std::string proto = ort_format::translate(flat).str();
  options.memory_files[ort_format::kData] = {std::as_bytes(std::span(bytes)), std::move(owner)};
  options.borrow = false;
  options.owner = nullptr;
  options.given = nullptr;  // only in this form is the data external
  auto model = read_model(std::as_bytes(std::span(proto)), options);
  set_versions(*flat.model().graph(), *model->graph);
  return model;
}

File open_file(const std::string& path) {
  return advising([] { return "check the path"; }, [&] { return File::open(path); });
}

std::shared_ptr<Model> read_ort_file(const std::string& path, const ReadOptions& options, FileIdentity* identity) {
  const File file = open_file(path);
  if (identity) *identity = file.identity();
  std::shared_ptr<void> bytes = options.trusted ? file.map() : file.read(0, file.size());
  const std::string_view view(static_cast<const char*>(bytes.get()), file.size());
  auto model = read_ort(view, std::move(bytes), options);
  model->path = path;
  return model;
}

}  // namespace

ModelFormat model_format(const std::string& name) {
  if (name.empty()) return ModelFormat::any;
  require(name == "ONNX" || name == "ORT", ErrorCode::invalid_argument,
          "session.load_model_format is '{}', neither ONNX nor ORT", name);
  return name == "ORT" ? ModelFormat::ort : ModelFormat::onnx;
}

ModelFormat detect_format(std::span<const std::byte> bytes) {
  const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return is_ort_format(view, view.size()) ? ModelFormat::ort : ModelFormat::onnx;
}

ModelFormat detect_format(const std::string& path) {
  const File file = open_file(path);
  const size_t size = std::min(file.size(), kHead);
  const std::shared_ptr<void> head = file.read(0, size);
  const std::string_view view(static_cast<const char*>(head.get()), size);
  return is_ort_format(view, file.size()) ? ModelFormat::ort : ModelFormat::onnx;
}

std::shared_ptr<Model> load_model(const std::string& path, const ReadOptions& options, ModelFormat format,
                                  FileIdentity* identity) {
  try {
    if (format == ModelFormat::any) format = detect_format(path);
    if (format == ModelFormat::ort) return read_ort_file(path, options, identity);
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::fail, "model '{}': out of memory while reading the model", path);
  } catch (Error& error) {
    error.add_context(cat("model '{}'", path));
    throw;
  }
  return read_model(path, options, identity);
}

std::shared_ptr<Model> load_model(std::span<const std::byte> bytes, const ReadOptions& options, ModelFormat format) {
  const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (format == ModelFormat::any) format = detect_format(bytes);
  if (format == ModelFormat::onnx) return read_model(bytes, options);
  // Bytes that the caller keeps alive have no owner, but tensors may still use them in place.
  std::shared_ptr<void> lent(std::shared_ptr<void>(), const_cast<std::byte*>(bytes.data()));
  try {
    return read_ort(view, options.owner ? options.owner : options.borrow ? lent : nullptr, options);
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::fail, "out of memory while reading the model");
  }
}

}  // namespace retort
