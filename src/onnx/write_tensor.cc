#include "base/checked.h"
#include "onnx/write_context.h"

namespace retort::onnx {
namespace {

std::string_view data_of(const Tensor& t) { return {t.data<char>(), t.count() ? t.bytes() : 0}; }

/// Writes dims, type and name.
MessageWriter write_head(const Tensor& t, const std::string& name) {
  require(t.space().host_readable(), ErrorCode::invalid_argument, "tensor '{}' is not in host memory", name);
  MessageWriter m;
  for (int64_t d : t.shape()) m.integer(tag::tensor::dims, d);
  m.integer(tag::tensor::data_type, int64_t(t.dtype()));
  m.text(tag::tensor::name, name);
  return m;
}

void write_data(MessageWriter& m, const Tensor& t) {
  if (t.dtype() == DType::string) {
    for (size_t i = 0; i < t.count(); ++i) m.bytes(tag::tensor::string_data, t.data<std::string>()[i]);
  } else if (t.bytes() < kAlignFrom) {
    m.bytes(tag::tensor::raw_data, data_of(t));
  } else {
    m.view(tag::tensor::raw_data, data_of(t));
  }
}

MessageWriter write_placed_tensor(const Tensor& t, const std::string& name, const ConstantPlace& place) {
  MessageWriter m = write_head(t, name);
  m.message(tag::tensor::external_data, write_entry("location", place.location));
  m.message(tag::tensor::external_data, write_entry("offset", std::to_string(place.offset)));
  m.message(tag::tensor::external_data, write_entry("length", std::to_string(t.bytes())));
  m.integer(tag::tensor::data_location, 1);
  return m;
}

}  // namespace

MessageWriter write_entry(const std::string& key, const std::string& value) {
  MessageWriter m;
  m.bytes(tag::entry::key, key);
  m.bytes(tag::entry::value, value);
  return m;
}

MessageWriter write_tensor(const Tensor& t, const std::string& name) {
  MessageWriter m = write_head(t, name);
  write_data(m, t);
  return m;
}

// A doc_string of blanks moves the data to an aligned position. It takes at least two bytes, so one byte of padding is
// made with a doc_string of 65.
void write_aligned_tensor(MessageWriter& to, uint32_t field, size_t position, const Tensor& t,
                          const std::string& name) {
  if (t.dtype() == DType::string || t.bytes() < kAlignFrom) return to.message(field, write_tensor(t, name));
  for (size_t padding = 0; padding < kWeightAlignment + 2; ++padding) {
    if (padding == 1) continue;
    MessageWriter m = write_head(t, name);
    if (padding) m.bytes(tag::tensor::doc, std::string(padding - 2, ' '));
    write_data(m, t);
    const size_t header = varint_size(uint64_t(field) << 3) + varint_size(m.size());
    if ((position + header + m.size() - t.bytes()) % kWeightAlignment == 0) return to.message(field, m);
  }
}

MessageWriter write_external_tensor(const Tensor& t, const std::string& name, const WriteOptions& options,
                                    WrittenModel& to) {
  const size_t alignment = t.bytes() >= options.external_aligned_from ? options.external_alignment : kExternalElement;
  const size_t offset = checked_add(to.external_size, alignment - 1, "size of external data") & ~(alignment - 1);
  to.external.push_back({offset, data_of(t)});
  to.external_size = checked_add(offset, t.bytes(), "size of external data");
  return write_placed_tensor(t, name, {options.external_file, offset});
}

std::optional<MessageWriter> write_located_tensor(const Tensor& t, const std::string& name,
                                                  const WriteOptions& options) {
  if (!options.locate || t.dtype() == DType::string) return std::nullopt;
  const std::optional<ConstantPlace> place = options.locate(name, t);
  return place ? std::optional(write_placed_tensor(t, name, *place)) : std::nullopt;
}

}  // namespace retort::onnx
