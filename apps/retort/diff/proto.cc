#include "diff/proto.h"

#include "engine/engine.h"

namespace retort::cli {

std::vector<data_view> fields(data_view message, Tag tag) {
  std::vector<data_view> all;
  for (protozero::pbf_reader p(message); p.next(tag, protozero::pbf_wire_type::length_delimited);)
    all.push_back(p.get_view());
  return all;
}

std::string text(data_view message, Tag tag) {
  const auto all = fields(message, tag);
  return all.empty() ? "" : all.back().to_string();
}

data_view find_graph(const std::string& model) try {
  const auto graphs = fields(data_view(model), kModelGraph);
  if (graphs.size() != 1)
    throw Failure(graphs.empty() ? "it is not an ONNX file: it has no graph" : "it has two graphs");
  return graphs[0];
} catch (const protozero::exception&) {
  throw Failure("it is not an ONNX file");
}

std::string changed(data_view message, const Change& change, const ChangeNumber& number) {
  std::string out;
  protozero::pbf_reader p(message);
  for (size_t begin = 0; p.next();) {
    const Tag tag = p.tag();  // a reader may forget it when the value is read
    std::optional<std::string> other;
    std::optional<int64_t> other_number;
    if (p.wire_type() == protozero::pbf_wire_type::length_delimited)
      other = change(tag, p.get_view());
    else if (number && p.wire_type() == protozero::pbf_wire_type::varint)
      other_number = number(tag, p.get_int64());
    else
      p.skip();
    const size_t end = message.size() - p.length();
    if (other)
      protozero::pbf_writer(out).add_message(tag, *other);
    else if (other_number)
      protozero::pbf_writer(out).add_int64(tag, *other_number);
    else
      out.append(message.data() + begin, end - begin);
    begin = end;
  }
  return out;
}

std::string without(data_view message, Tag tag) {
  std::string out;
  protozero::pbf_reader p(message);
  for (size_t begin = 0; p.next();) {
    const bool goes = p.tag() == tag;
    p.skip();
    const size_t end = message.size() - p.length();
    if (!goes) out.append(message.data() + begin, end - begin);
    begin = end;
  }
  return out;
}

std::string node_of(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
  std::string node;
  protozero::pbf_writer p(node);
  for (const std::string& in : inputs) p.add_string(kNodeInput, in);
  p.add_string(kNodeOutput, output);
  p.add_string(kNodeOperator, op);
  return node;
}

std::string int_attribute(const std::string& name, int64_t value) {
  std::string attribute;
  protozero::pbf_writer a(attribute);
  a.add_string(kAttributeName, name);
  a.add_int64(kAttributeInt, value);
  a.add_int32(kAttributeType, kIntAttribute);
  return attribute;
}

}  // namespace retort::cli
