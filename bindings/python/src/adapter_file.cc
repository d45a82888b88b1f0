#include "adapter_file.h"

#include <cstring>
#include <limits>

#include "engine.h"

namespace retort::python {
namespace {

constexpr std::string_view kIdentifier = "TORT";
constexpr int32_t kFormat = 1;
constexpr size_t kHead = 8;  // offset of the root, identifier
// Fields of the tables, in the order of the schema.
enum AdapterField { kFormatVersion, kAdapterVersion, kModelVersion, kParameters };
enum ParameterField { kName, kDims, kDataType, kRawData };

[[noreturn]] void broken() {
  throw Misuse(ORT_INVALID_ARGUMENT,
               "The buffer does not appear to be a valid lora parameter format; write it with "
               "AdapterFormat.export_adapter()");
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T at(size_t position) const {
    if (position > bytes_.size() || bytes_.size() - position < sizeof(T)) {
      broken();
    }
    T value;
    std::memcpy(&value, bytes_.data() + position, sizeof value);
    return value;
  }

  // Where the offset at `position` leads.
  size_t follow(size_t position) const { return position + at<uint32_t>(position); }

  // The place of a field of a table; 0 if the table lacks it.
  size_t field(size_t table, int index) const {
    const int64_t vtable = static_cast<int64_t>(table) - at<int32_t>(table);
    if (vtable < 0) {
      broken();
    }
    const auto start = static_cast<size_t>(vtable);
    const size_t entry = sizeof(uint16_t) * (2 + static_cast<size_t>(index));
    if (entry + sizeof(uint16_t) > at<uint16_t>(start)) {
      return 0;
    }
    const auto offset = at<uint16_t>(start + entry);
    return offset ? table + offset : 0;
  }

  int32_t number(size_t table, int index) const {
    const size_t place = field(table, index);
    return place ? at<int32_t>(place) : 0;
  }

  // The elements of a vector or string, each of `size` bytes.
  std::string_view elements(size_t table, int index, size_t size) const {
    const size_t place = field(table, index);
    if (!place) {
      return {};
    }
    const size_t vector = follow(place);
    const size_t total = at<uint32_t>(vector) * size;
    const size_t start = vector + sizeof(uint32_t);
    if (bytes_.size() - start < total) {
      broken();
    }
    return bytes_.substr(start, total);
  }

 private:
  std::string_view bytes_;
};

AdapterParameter read_parameter(const Reader& reader, size_t table) {
  AdapterParameter parameter;
  parameter.name = std::string(reader.elements(table, kName, 1));
  parameter.type = reader.number(table, kDataType);
  const std::string_view dims = reader.elements(table, kDims, sizeof(int64_t));
  parameter.shape.resize(dims.size() / sizeof(int64_t));
  if (!dims.empty()) {
    std::memcpy(parameter.shape.data(), dims.data(), dims.size());
  }
  parameter.data = reader.elements(table, kRawData, 1);
  return parameter;
}

class Writer {
 public:
  size_t position() const { return bytes_.size(); }

  template <class T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  void put_text(std::string_view text) { bytes_.append(text); }

  // Pads until the next byte after `before` further ones is at a multiple of `size`.
  void align(size_t size, size_t before = 0) {
    while ((bytes_.size() + before) % size != 0) {
      bytes_.push_back('\0');
    }
  }

  // Writes the distance from `place` to the next byte.
  void set_offset(size_t place) {
    if (bytes_.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
      throw Misuse(ORT_INVALID_ARGUMENT, "AdapterFormat: the file would be larger than 2 GiB; use several adapters");
    }
    const auto distance = static_cast<uint32_t>(bytes_.size() - place);
    std::memcpy(bytes_.data() + place, &distance, sizeof distance);
  }

  void put_vector(size_t place, std::string_view elements, size_t size) {
    constexpr size_t kAlignment = 8;
    align(kAlignment, sizeof(uint32_t));
    set_offset(place);
    put(static_cast<uint32_t>(elements.size() / size));
    put_text(elements);
  }

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Both tables have four fields of four bytes.
constexpr uint16_t kVtableSize = 12, kTableSize = 20;

void put_vtable(Writer& writer) {
  for (const uint16_t entry : {kVtableSize, kTableSize, uint16_t{4}, uint16_t{8}, uint16_t{12}, uint16_t{16}}) {
    writer.put(entry);
  }
}

void put_parameter(Writer& writer, const AdapterParameter& parameter, size_t vtable) {
  const size_t table = writer.position();
  writer.put(static_cast<int32_t>(table - vtable));
  writer.put(uint32_t{0});  // offsets of name and extents, set below
  writer.put(uint32_t{0});
  writer.put(parameter.type);
  writer.put(uint32_t{0});  // offset of the data
  const auto field = [&](int index) { return table + sizeof(uint32_t) * (1 + static_cast<size_t>(index)); };
  writer.put_vector(field(kName), parameter.name, 1);
  writer.put('\0');
  const auto* dims = reinterpret_cast<const char*>(parameter.shape.data());
  writer.put_vector(field(kDims), {dims, parameter.shape.size() * sizeof(int64_t)}, sizeof(int64_t));
  writer.put_vector(field(kRawData), parameter.data, 1);
  writer.align(sizeof(uint32_t));
}

}  // namespace

AdapterContents parse_adapter(std::string_view bytes) {
  const Reader reader(bytes);
  if (bytes.size() < kHead || bytes.substr(sizeof(uint32_t), kIdentifier.size()) != kIdentifier) {
    broken();
  }
  const size_t root = reader.follow(0);
  AdapterContents contents;
  contents.format = reader.number(root, kFormatVersion);
  if (contents.format != kFormat) {
    throw Misuse(ORT_INVALID_ARGUMENT,
                 "version " + std::to_string(contents.format) + " of the adapter format is not supported, only 1 is");
  }
  contents.version = reader.number(root, kAdapterVersion);
  contents.model_version = reader.number(root, kModelVersion);
  const size_t offsets = reader.elements(root, kParameters, sizeof(uint32_t)).size();
  const size_t first = offsets ? reader.follow(reader.field(root, kParameters)) + sizeof(uint32_t) : 0;
  for (size_t at = 0; at < offsets; at += sizeof(uint32_t)) {
    contents.parameters.push_back(read_parameter(reader, reader.follow(first + at)));
  }
  return contents;
}

std::string write_adapter(const AdapterContents& contents) {
  Writer writer;
  writer.put(uint32_t{0});
  writer.put_text(kIdentifier);
  const size_t vtable = writer.position();
  put_vtable(writer);
  writer.set_offset(0);
  writer.put(int32_t{kVtableSize});  // back to the vtable
  writer.put(contents.format);
  writer.put(contents.version);
  writer.put(contents.model_version);
  const size_t list = writer.position();
  writer.put(uint32_t{0});
  writer.set_offset(list);
  writer.put(static_cast<uint32_t>(contents.parameters.size()));
  const size_t first = writer.position();
  for (size_t i = 0; i < contents.parameters.size(); ++i) {
    writer.put(uint32_t{0});
  }
  for (size_t i = 0; i < contents.parameters.size(); ++i) {
    writer.set_offset(first + i * sizeof(uint32_t));
    put_parameter(writer, contents.parameters[i], vtable);
  }
  return writer.take();
}

}  // namespace retort::python
