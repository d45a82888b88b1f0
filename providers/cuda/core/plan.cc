#include "plan.h"

#include <algorithm>

#include "common/sizes.h"
#include "planner.h"

namespace providers::cuda {
namespace {

/// A kernel's launch with room for its arguments. It serves one run at a time, like its plan.
class Launch {
 public:
  Launch(Kernel kernel, const Grid& grid, const std::vector<Argument>& arguments)
      : kernel_(std::move(kernel)), grid_(grid) {
    std::vector<size_t> offsets;
    for (const Argument& a : arguments) {
      offsets.push_back(round_up(bytes_.size(), 16));
      bytes_.resize(offsets.back() + a.size());
      if (a.operand())
        operands_.push_back({offsets.back(), *a.operand()});
      else
        std::memcpy(bytes_.data() + offsets.back(), a.bytes().data(), a.size());
    }
    offsets_ = std::move(offsets);
  }

  void operator()(const Run& run) {
    for (const auto& [offset, operand] : operands_) {
      const Address address = run(operand);
      std::memcpy(bytes_.data() + offset, &address, sizeof address);
    }
    parameters_.resize(offsets_.size());
    for (size_t i = 0; i < offsets_.size(); ++i) parameters_[i] = bytes_.data() + offsets_[i];
    submit(kernel_, grid_, parameters_.data(), run.stream);
  }

 private:
  Kernel kernel_;
  Grid grid_;
  std::vector<std::pair<size_t, Operand>> operands_;
  std::vector<size_t> offsets_;
  std::vector<unsigned char> bytes_;
  std::vector<void*> parameters_;
};

}  // namespace

void submit(const Kernel& kernel, const Grid& grid, void** parameters, CUstream stream) {
  const Extent &b = grid.blocks, &t = grid.threads;
  CUlaunchAttribute overlaps{kProgrammaticSerialization, 0, {1}};
  const CUlaunchConfig config{{b.x, b.y, b.z}, {t.x, t.y, t.z}, unsigned(grid.shared_bytes),
                              stream,          &overlaps,       kernel.waits ? 1u : 0u};
  const CUresult result = driver().launch_with(&config, kernel.function(), parameters, nullptr);
  if (result) check(result, ("launching " + kernel.name).c_str());
}

size_t Operand::count() const {
  size_t n = 1;
  for (const int64_t d : dims) n *= size_t(d);
  return n;
}

size_t Operand::bytes() const { return count() * size_of(type); }

Device& Emitter::device() const { return state_.device_; }
size_t Emitter::inputs() const { return op_.in.size(); }
size_t Emitter::outputs() const { return op_.out.size(); }
bool Emitter::has(size_t i) const { return i < op_.in.size() && op_.in[i] >= 0; }
bool Emitter::has_out(size_t i) const { return i < op_.out.size() && op_.out[i] >= 0; }

Operand Emitter::in(size_t i) {
  look(i);
  return state_.as_layout(op_.in[i], Layout::rows);
}
Operand Emitter::in_any_layout(size_t i) {
  look(i);
  return state_.on_device(op_.in[i]);
}
Operand Emitter::in_channels_last(size_t i) {
  look(i);
  Operand v = state_.as_layout(op_.in[i], Layout::channels_last);
  if (v.rank() > 2) v.layout = Layout::channels_last;  // also where the bytes are the same in both layouts
  return v;
}
const Operand& Emitter::look(size_t i) const { return state_.value(op_, op_.in, i, "input"); }

bool Emitter::is_known(size_t i) const { return has(i) && look(i).known != nullptr; }

bool Emitter::is_constant(size_t i) const { return !has(i) || state_.program_.values[size_t(op_.in[i])].constant >= 0; }

const std::vector<int64_t>& Emitter::integers(size_t i) const {
  const Operand& v = look(i);
  if (v.known) return v.known->integers;
  const ProgramValue& value = state_.program_.values[size_t(op_.in[i])];
  if (!value.sources.empty()) throw NeedsInput{value.sources};
  fail(text("the elements of input ", i, " ('", value.name, "') depend on data of the device, which no shape may"));
}

Operand Emitter::out(size_t i, Type type, const Dims& dims, Layout layout) {
  if (!has_out(i)) fail(text("there is no output ", i));
  const ProgramValue& value = state_.program_.values[size_t(op_.out[i])];
  size_t bytes = size_of(type);
  for (const int64_t d : dims)
    if (d < 0 || __builtin_mul_overflow(bytes, size_t(d), &bytes) || bytes > size_t(INT64_MAX))
      fail(text("output ", i, " of shape ", shape_text(dims), " cannot be made"));
  Operand made;
  made.type = type;
  made.dims = dims;
  made.layout = plain_layout(dims, layout);
  const bool direct = value.output >= 0 && made.layout == Layout::rows;
  made.buffer = direct ? state_.add_buffer(PlanState::Place::output, size_t(value.output), made.bytes())
                       : state_.add_buffer(PlanState::Place::memory, 0, made.bytes());
  state_.set_output(op_.out[i], made);
  if (layout == Layout::channels_last && dims.size() > 2) made.layout = layout;  // as the caller asked
  return made;
}

void Emitter::alias(size_t i, const Operand& of, const Dims& dims) {
  if (!has_out(i)) fail(text("there is no output ", i));
  Operand made = of;
  made.dims = dims;
  made.known = nullptr;
  if (made.layout != Layout::rows) fail("a view of a tensor whose channels come last");
  if (made.count() != of.count() && made.buffer >= 0 && made.offset == 0 && made.count() > of.count())
    fail(text("shape ", shape_text(dims), " has other elements than ", shape_text(of.dims)));
  state_.set_output(op_.out[i], made);
}

Operand Emitter::scratch(size_t bytes) {
  Operand made;
  made.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
  made.dims = {int64_t(bytes)};
  made.buffer = state_.add_buffer(PlanState::Place::memory, 0, bytes);
  return made;
}

Operand Emitter::table(const void* bytes, size_t size) { return state_.table(bytes, size); }

void Emitter::launch(const Kernel& kernel, const Grid& grid, const std::vector<Argument>& arguments) {
  const Extent &b = grid.blocks, &t = grid.threads;
  if (b.x == 0 || b.y == 0 || b.z == 0 || t.x == 0) return;
  if (b.x > 0x7fffffffu || b.y > 65535 || b.z > 65535 || t.x * t.y * t.z > 1024)
    fail(text("kernel ", kernel.name, " cannot be launched with ", b.x, "x", b.y, "x", b.z, " blocks of ",
              t.x * t.y * t.z, " threads"));
  std::vector<Operand> uses;
  for (const Argument& a : arguments)
    if (a.operand()) uses.push_back(*a.operand());
  // A std::function can be copied, and its call is const: the launch is shared and changes only its own arguments.
  const auto launch = std::make_shared<Launch>(kernel, grid, arguments);
  state_.add_step(uses, [launch](const Run& run) { (*launch)(run); });
}

void Emitter::call(const std::vector<Operand>& uses, std::function<void(const Run&)> step) {
  state_.add_step(uses, std::move(step));
}

void Emitter::copy(const Operand& from, const Operand& to) { state_.add_copy(from, to); }

Kernel Emitter::kernel(const std::string& file, const std::string& entry, const Defines& defines,
                       size_t shared_bytes) const {
  return device().kernels().get(file, entry, defines, shared_bytes);
}

void Emitter::fail(const std::string& why) const {
  std::string line = op_.who + ": " + why + "; inputs:";
  for (size_t i = 0; i < op_.in.size(); ++i) {
    if (op_.in[i] < 0) continue;
    const Operand& v = state_.values_[size_t(op_.in[i])];
    line += text(" ", name_of(v.type), shape_text(v.dims));
  }
  throw Error(line);
}

const char* kernel_type(Type type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return "float";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return "f16";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      return "bf16";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN:
      return "e4m3";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2:
      return "e5m2";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      return "double";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return "i8";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return "u8";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
      return "i16";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
      return "u16";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return "int";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
      return "u32";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      return "i64";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
      return "u64";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
      return "u8";
    default:
      throw Error(text("kernels have no elements of type ", name_of(type)));
  }
}

Grid flat_grid(size_t count, unsigned threads, size_t each) {
  Grid grid;
  grid.threads.x = threads;
  grid.blocks.x = unsigned(ceil_div(int64_t(count), int64_t(threads * each)));
  return grid;
}

}  // namespace providers::cuda
