#include "containers.h"

#include <array>
#include <mutex>
#include <string>

#include "gil_lock.h"

namespace retort::python {
namespace {

// Fields of ONNX's Protocol Buffers messages.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

// Numbers below 128, in fields below 16.
std::string field(int number, int value) { return {static_cast<char>(number << 3), static_cast<char>(value)}; }

// A model with one node, SequenceEmpty, and one output, "s".
std::string empty_sequence_model(Element element) {
  const int proto = proto_of_element(element);
  constexpr int kOpset = 17, kIrVersion = 8, kAttributeInt = 2;
  const std::string type_field = {static_cast<char>(0xA0), 0x01, kAttributeInt};  // field 20
  const std::string attribute = field(1, std::string("dtype")) + field(3, proto) + type_field;
  const std::string node = field(2, std::string("s")) + field(4, std::string("SequenceEmpty")) + field(5, attribute);
  const std::string tensor = field(1, field(1, proto));
  const std::string output = field(1, std::string("s")) + field(2, field(4, field(1, tensor)));
  const std::string graph = field(1, node) + field(2, std::string("g")) + field(12, output);
  return field(1, kIrVersion) + field(7, graph) + field(8, field(2, kOpset));
}

// Sessions that make empty sequences; never released.
OrtSession* empty_sequence_session(Element element) {
  static std::mutex lock;
  static std::array<OrtSession*, kElementCount> sessions{};
  const auto guard = lock_without_gil(lock);
  OrtSession*& session = sessions[static_cast<size_t>(element)];
  if (!session) {
    const std::string model = empty_sequence_model(element);
    const auto options = made<OrtSessionOptions>(api().CreateSessionOptions);
    check(api().SetIntraOpNumThreads(options.get(), 1));
    check(api().CreateSessionFromArray(&env(), model.data(), model.size(), options.get(), &session));
  }
  return session;
}

}  // namespace

Owned<OrtValue> container_of(ONNXType kind, const std::vector<const OrtValue*>& values) {
  return made<OrtValue>(api().CreateValue, values.data(), values.size(), kind);
}

Owned<OrtValue> empty_sequence(Element element) {
  const char* const output = "s";
  OrtValue* result = nullptr;
  check(api().Run(empty_sequence_session(element), nullptr, nullptr, nullptr, 0, &output, 1, &result));
  return Owned<OrtValue>(result);
}

size_t count_of(const OrtValue* container) {
  size_t count = 0;
  check(api().GetValueCount(container, &count));
  return count;
}

Owned<OrtValue> value_at(const OrtValue* container, size_t index) {
  return made<OrtValue>(api().GetValue, container, static_cast<int>(index), default_allocator());
}

}  // namespace retort::python
