#include "ort_format/fill.h"

#include <utility>

#include "base/error.h"
#include "base/loading.h"
#include "memory/host.h"

namespace retort::ort_format {
namespace {

constexpr size_t kFewTables = 4096;
constexpr size_t kAlign = 32;  // the largest alignment of flatbuffers
// The reader allows a text that many tables share to be read 16 times as often as it has bytes; each use takes four.
constexpr size_t kShared = 64;

enum class Extent : int8_t { unknown = 0, value = 1, param = 2 };

}  // namespace

uint8_t* Blocks::allocate(size_t bytes) {
  std::shared_ptr<void> block = allocate_block(bytes);
  auto* const begin = static_cast<uint8_t*>(block.get());
  blocks_.emplace(begin, std::move(block));
  return begin;
}

void Blocks::deallocate(uint8_t* block, size_t) { blocks_.erase(block); }

void Fill::room(size_t bytes) const {
  require(bytes <= FLATBUFFERS_MAX_BUFFER_SIZE && builder.GetSize() + bytes + kFewTables <= FLATBUFFERS_MAX_BUFFER_SIZE,
          ErrorCode::invalid_argument,
          "the model takes more than the 2 GiB that ORT format allows; save it as ONNX with its weights in an external "
          "file");
}

At<flatbuffers::String> Fill::text(std::string_view s) {
  room(s.size());
  return s.size() <= kShared ? builder.CreateSharedString(s.data(), s.size())
                             : builder.CreateString(s.data(), s.size());
}

ListAt<uint32_t> Fill::texts(const std::vector<std::string>& all) {
  std::vector<At<flatbuffers::String>> at;
  for (const std::string& s : all) at.push_back(text(s));
  return ListAt<uint32_t>(list(at).o);
}

At<fbs::Tensor> Fill::tensor(const Tensor& t, std::string_view name) {
  require(t.space().host_readable(), ErrorCode::invalid_argument, "tensor '{}' is not in host memory", name);
  const auto called = text(name);
  const auto dims = list(std::vector<int64_t>(t.shape().begin(), t.shape().end()));
  ListAt<uint8_t> raw;
  ListAt<uint32_t> strings;
  if (t.dtype() == DType::string) {
    const auto* first = t.data<std::string>();
    strings = texts(std::vector<std::string>(first, first + t.count()));
  } else {
    const size_t bytes = t.count() ? t.bytes() : 0;
    room(bytes);
    builder.ForceVectorAlignment(bytes, 1, kAlign);
    uint8_t* place = nullptr;
    raw = builder.CreateUninitializedVector<uint8_t>(bytes, &place);
    copy_in_pieces(place, t.data(), bytes);
  }
  return fbs::CreateTensor(builder, called, dims, int32_t(t.dtype()), raw, strings);
}

At<fbs::TensorType> Fill::tensor_type(const DimTable& dims, const ValueType& type) {
  At<fbs::Shape> shape;
  if (type.ranked) {
    std::vector<At<fbs::Dimension>> all;
    for (const Dim d : type.shape) {
      const std::string name = is_known(d) ? "" : dims.text(d);
      const bool named = !is_known(d) && !name.starts_with('?');
      const Extent kind = is_known(d) ? Extent::value : named ? Extent::param : Extent::unknown;
      const auto param = named ? text(name) : 0;
      const auto value = fbs::CreateDimensionValue(builder, int8_t(kind), is_known(d) ? d : 0, param);
      all.push_back(fbs::CreateDimension(builder, value));
    }
    shape = fbs::CreateShape(builder, list(all));
  }
  return fbs::CreateTensorType(builder, int32_t(type.dtype), shape);
}

At<fbs::TypeInfo> Fill::type(const DimTable& dims, const ValueType& t) {
  using Kind = ValueType::Kind;
  const auto element = t.element ? type(dims, *t.element) : At<fbs::TypeInfo>();
  if (t.kind == Kind::tensor)
    return fbs::CreateTypeInfo(builder, fbs::AnyType_TensorType, tensor_type(dims, t).Union());
  if (t.kind == Kind::sequence) {
    const auto of = fbs::CreateSequenceType(builder, element);
    return fbs::CreateTypeInfo(builder, fbs::AnyType_SequenceType, of.Union());
  }
  require(t.kind == Kind::map, ErrorCode::not_implemented,
          "ORT format cannot represent a type that is neither tensor, sequence nor map; save the model as ONNX");
  const auto held = t.element ? element : type(dims, ValueType::tensor(t.dtype));
  const auto of = fbs::CreateMapType(builder, int32_t(t.key), held);
  return fbs::CreateTypeInfo(builder, fbs::AnyType_MapType, of.Union());
}

}  // namespace retort::ort_format
