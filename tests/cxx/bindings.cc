// Values and bindings of the C++ interface.
#include <array>

#define RETORT_API_DLOPEN
#include "cxx_test.h"

namespace api = retort::api;

namespace cxx_test {
namespace {

using Floats = std::vector<float>;

void values() {
  std::array<float, 4> memory{1, 2, 3, 4};
  const api::Value wrapped = api::Value::wrap(memory, {2, 2});
  expect(wrapped.raw() == memory.data(), "wrapped memory is used where it lies");
  expect(wrapped.shape() == std::vector<int64_t>({2, 2}) && wrapped.bytes() == 16, "its shape and size");
  expect(wrapped.where().host_can_read() && wrapped.where().device() == OrtMemoryInfoDeviceType_CPU,
         "it is the host's");

  const api::Value made = api::Value::tensor<int64_t>(api::default_allocator(), {3});
  expect(made.count() == 3 && made.has_value(), "a tensor of an allocator");
  expect_error(ORT_INVALID_ARGUMENT, "was asked for", "elements of another type", [&] { (void)made.data<float>(); });

  const api::Value again = api::Value::wrap(memory, {4});
  const OrtValue* both[] = {wrapped, again};
  const api::Value sequence = api::Value::sequence(both);
  const std::vector<api::Value> items = sequence.items();
  expect(sequence.kind() == ONNX_TYPE_SEQUENCE && items.size() == 2, "a sequence");
  expect(items.size() == 2 && elements<float>(items[1]) == Floats({1, 2, 3, 4}), "its items");

  std::array<int64_t, 2> keys{7, 8};
  const api::Value key_tensor = api::Value::wrap(keys, {2});
  const api::Value number = api::Value::wrap(std::span(memory).first(2), {2});
  const api::Value map = api::Value::map(key_tensor, number);
  expect(map.kind() == ONNX_TYPE_MAP && elements<int64_t>(map.items()[0]) == std::vector<int64_t>({7, 8}), "a map");

  const std::vector<std::string> two{"a", "b"};
  expect_error(ORT_INVALID_ARGUMENT, "there are 2 texts", "texts that do not fill the shape",
               [&] { (void)api::Value::strings(two, {3}); });
}

void loop_over_one_buffer() {
  api::Env env;
  api::Session session(env, model("step.onnx"));
  Floats x{1, 2, 3, 4}, state(4), other(4);
  api::IoBinding binding(session);
  binding.input("x", api::Value::wrap(x, {4}));
  for (int step = 0; step < 3; ++step) {  // the result of a step is the state of the next
    binding.input("state", api::Value::wrap(state, {4}));
    binding.output("state_out", api::Value::wrap(other, {4}));
    binding.run();
    std::swap(state, other);
  }
  expect(state == Floats({3, 6, 9, 12}), "a loop over two buffers");
  expect(binding.output_names() == std::vector<std::string>{"state_out"}, "names of bound values");
  binding.clear_outputs();
  expect(binding.output_names().empty() && binding.outputs().empty(), "nothing is bound after clearing");
  expect_error(ORT_INVALID_ARGUMENT, "", "a run without outputs", [&] { binding.run(); });
  expect_error(ORT_FAIL, "", "an input that does not exist",
               [&] { api::IoBinding(session).input("nothing", api::Value::wrap(x, {4})); });
}

void shapes_that_follow_from_data() {
  api::Env env;
  api::Session session(env, model("nonzero.onnx"));
  Floats x{0, 5, 0, 6, 7};
  const api::MemoryInfo host = api::MemoryInfo::cpu();
  api::Value kept;
  {
    api::IoBinding binding(session);
    binding.input("x", api::Value::wrap(x, {5}));
    binding.output("idx", host);
    binding.run();
    binding.synchronize_outputs();
    kept = std::move(binding.outputs()[0]);
    x = {1, 0, 0, 0, 0};
    binding.output("idx", host.view());
    binding.run();
    expect(elements<int64_t>(binding.outputs()[0]) == std::vector<int64_t>{0}, "the second run");
  }
  expect(elements<int64_t>(kept) == std::vector<int64_t>({1, 3, 4}), "a result outlives its binding and later runs");
}

void owners_move() {
  api::Env env;
  api::Session session(env, model("step.onnx"));
  api::IoBinding one(session);
  api::IoBinding two = std::move(one);
  expect(!one.get() && two.get(), "a moved owner is empty");  // NOLINT: this is tested
  one = std::move(two);
  expect(one.get() != nullptr, "and may be assigned to");
  api::Block block(api::default_allocator(), 100);
  api::Block taken = std::move(block);
  expect(taken.data() && taken.bytes() == 100 && !block.data(), "blocks move, too");  // NOLINT: as above
}

}  // namespace

void bindings() {
  values();
  loop_over_one_buffer();
  shapes_that_follow_from_data();
  owners_move();
}

}  // namespace cxx_test
