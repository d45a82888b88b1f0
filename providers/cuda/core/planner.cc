#include "planner.h"

#include <algorithm>
#include <numeric>

#include "common/sizes.h"
#include "known.h"
#include "known_data.h"
#include "transfer.h"

namespace providers::cuda {
namespace {

constexpr size_t kAlignment = 256;  // of buffers: that of the driver's own blocks

// Blocks of 32 x 32 elements of each matrix.
Grid tiles(int64_t rows, int64_t columns, int64_t batches) {
  Grid grid;
  grid.blocks = {unsigned(ceil_div(columns, 32) * ceil_div(rows, 32)), unsigned(std::min<int64_t>(batches, 65535)), 1};
  grid.threads = {32, 8, 1};
  return grid;
}

/// Stands for the planner itself where it adds a launch.
struct Nobody : Op {
  void emit(Emitter&) const override {}
};

}  // namespace

Layout plain_layout(const Dims& dims, Layout layout) {
  if (layout == Layout::rows || dims.size() < 3) return Layout::rows;
  const int64_t places = std::accumulate(dims.begin() + 2, dims.end(), int64_t{1}, std::multiplies<>());
  return dims[1] == 1 || places == 1 ? Layout::rows : layout;
}

PlanState::PlanState(const Program& program, Device& device, CUstream stream)
    : program_(program), device_(device), stream_(stream), values_(program.values.size()), outputs_(program.outputs) {}

std::unique_ptr<Plan> PlanState::make(const std::vector<Operand>& inputs) {
  for (size_t v = 0; v < program_.values.size(); ++v) {
    const ProgramValue& value = program_.values[v];
    if (value.input >= 0) {
      values_[v] = inputs[size_t(value.input)];
      // What the host knows may lie in its memory, or change place: it becomes a table if the device needs it.
      if (!values_[v].known) values_[v].buffer = add_buffer(Place::input, size_t(value.input), values_[v].bytes());
    } else if (value.constant >= 0) {
      values_[v] = program_.constants[size_t(value.constant)].operand;
      values_[v].buffer = add_buffer(Place::constant, size_t(value.constant), values_[v].bytes());
    }
  }
  CompileAhead kernels;
  for (const auto& op : program_.ops) plan_op(*op);
  copy_to_outputs();
  kernels.wait();
  return finish();
}

int PlanState::add_buffer(Place place, size_t index, size_t bytes) {
  buffers_.push_back({place, index, bytes});
  return int(buffers_.size()) - 1;
}

Operand& PlanState::value(const Op& op, const std::vector<int>& numbers, size_t i, const char* what) {
  if (i >= numbers.size() || numbers[i] < 0) throw Error(text(op.who, ": ", what, " ", i, " is omitted, but needed"));
  return values_[size_t(numbers[i])];
}

Operand& PlanState::on_device(int number) {
  Operand& v = values_[size_t(number)];
  if (v.buffer >= 0 || v.count() == 0) return v;
  if (!v.known)
    throw Error(text("value '", program_.values[size_t(number)].name, "' is read before any node has made it"));
  if (std::max(v.known->integers.size(), v.known->reals.size()) != v.count())
    throw Error(text("value '", program_.values[size_t(number)].name, "' of shape ", shape_text(v.dims), " has ",
                     std::max(v.known->integers.size(), v.known->reals.size()), " elements on the host"));
  std::vector<char> bytes(v.bytes());
  store_known(*v.known, v.type, bytes.data());
  const Operand made = table(bytes.data(), bytes.size());
  v.buffer = made.buffer;
  v.offset = made.offset;
  return v;
}

Operand PlanState::as_layout(int number, Layout layout) {
  Operand& v = on_device(number);
  const Layout wanted = plain_layout(v.dims, layout);
  if (v.layout == wanted) return v;
  const auto at = others_.find({number, wanted});
  if (at != others_.end()) return at->second;
  Operand made = v;
  made.layout = wanted;
  made.offset = 0;
  made.buffer = add_buffer(Place::memory, 0, v.bytes());
  convert(v, made);
  return others_[{number, wanted}] = made;
}

// Between the layouts, each image is a matrix of channels and places that is transposed.
void PlanState::convert(const Operand& from, const Operand& to) {
  if (from.count() == 0) return;
  const int64_t channels = from.dims[1];
  const int64_t places = int64_t(from.count()) / (from.dims[0] * channels);
  const bool to_rows = to.layout == Layout::rows;
  const int64_t rows = to_rows ? channels : places, columns = to_rows ? places : channels;  // of the target
  const Kernel kernel =
      device_.kernels().get("layout.cu", "transpose_batch", {{"WORD", text("u", 8 * size_of(from.type))}});
  const Nobody nobody;
  Emitter(*this, nobody).launch(kernel, tiles(rows, columns, from.dims[0]), {from, to, rows, columns, from.dims[0]});
}

Operand PlanState::table(const void* bytes, size_t size) {
  Operand made;
  made.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
  made.dims = {int64_t(size)};
  const size_t begin = round_up(tables_.size(), 16);
  made.buffer = add_buffer(Place::table, begin, size);
  tables_.resize(begin + size);
  if (size) std::memcpy(tables_.data() + begin, bytes, size);
  return made;
}

void PlanState::set_output(int number, const Operand& made) {
  values_[size_t(number)] = made;
  const int output = program_.values[size_t(number)].output;
  if (output >= 0) outputs_[size_t(output)] = made;
}

bool PlanState::evaluate_on_host(const Op& op) {
  if (!op.known) return false;
  std::vector<const Operand*> in;
  for (const int number : op.known_in) in.push_back(number < 0 ? nullptr : &values_[size_t(number)]);
  std::vector<KnownResult> results;
  if (!evaluate(*op.known, in, results)) return false;
  for (size_t i = 0; i < op.out.size() && i < results.size(); ++i) {
    if (op.out[i] < 0) continue;
    Operand made;
    made.type = results[i].type;
    made.dims = results[i].dims;
    made.known = std::make_shared<const Known>(std::move(results[i].values));
    set_output(op.out[i], made);
  }
  return true;
}

void PlanState::plan_op(const Op& op) {
  try {
    if (evaluate_on_host(op)) return;
    Emitter emitter(*this, op);
    op.emit(emitter);
  } catch (const Error& e) {
    const std::string what = e.what();
    throw what.find(op.who) == std::string::npos ? Error(op.who + ": " + what, e.code()) : e;
  }
}

void PlanState::add_step(const std::vector<Operand>& uses, Step step) {
  const int at = int(steps_.size());
  for (const Operand& operand : uses) {
    if (operand.buffer < 0) continue;
    Buffer& buffer = buffers_[size_t(operand.buffer)];
    if (buffer.first < 0) buffer.first = at;
    buffer.last = at;
  }
  steps_.push_back(std::move(step));
}

void PlanState::add_copy(const Operand& from, const Operand& to) {
  const size_t bytes = from.bytes();
  if (bytes == 0) return;
  add_step({from, to}, [from, to, bytes](const Run& run) {
    if (run(from) != run(to)) check(driver().copy_on_device(run(to), run(from), bytes, run.stream), "copying");
  });
}

// Outputs that are views of other values, that only the host knows or whose channels come last are copied when all is
// computed.
void PlanState::copy_to_outputs() {
  for (size_t v = 0; v < program_.values.size(); ++v) {
    const int output = program_.values[v].output;
    if (output < 0) continue;
    const Operand from = on_device(int(v));
    Operand to = from;
    to.layout = Layout::rows;
    const bool direct = from.buffer >= 0 && buffers_[size_t(from.buffer)].place == Place::output &&
                        buffers_[size_t(from.buffer)].index == size_t(output);
    if (!direct) {
      to.buffer = add_buffer(Place::output, size_t(output), from.bytes());
      to.offset = 0;
      from.layout == Layout::rows ? add_copy(from, to) : convert(from, to);
    }
    outputs_[size_t(output)] = to;
  }
}

// The largest first, each at the lowest place: buffers that are alive at the same time do not overlap.
size_t PlanState::place_buffers() {
  std::vector<Buffer*> placed, open;
  for (Buffer& b : buffers_)
    if (b.place == Place::memory && b.first >= 0) open.push_back(&b);
  std::stable_sort(open.begin(), open.end(), [](const Buffer* a, const Buffer* b) { return a->bytes > b->bytes; });
  size_t total = 0;
  for (Buffer* b : open) {
    std::vector<std::pair<size_t, size_t>> busy;
    for (const Buffer* p : placed)
      if (p->first <= b->last && b->first <= p->last) busy.push_back({p->offset, p->offset + p->bytes});
    std::sort(busy.begin(), busy.end());
    size_t at = 0;
    for (const auto& [begin, end] : busy) {
      if (at + b->bytes <= begin) break;
      at = std::max(at, round_up(end, kAlignment));
    }
    b->offset = at;
    total = std::max(total, at + b->bytes);
    placed.push_back(b);
  }
  return total;
}

std::unique_ptr<Plan> PlanState::finish() {
  auto plan = std::make_unique<Plan>();
  const size_t bytes = place_buffers();
  if (bytes) plan->memory_ = Block(device_, bytes, stream_);
  if (!tables_.empty()) {
    plan->tables_ = Block(device_, tables_.size(), stream_);
    upload(plan->tables_.address(), tables_.data(), tables_.size(), device_, stream_);
  }
  plan->base_.assign(buffers_.size(), 0);
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& b = buffers_[i];
    if (b.place == Place::input) plan->input_buffers_.push_back({int(i), b.index});
    if (b.place == Place::output) plan->output_buffers_.push_back({int(i), b.index});
    if (b.place == Place::constant) plan->base_[i] = program_.constants[b.index].memory.address();
    if (b.place == Place::table) plan->base_[i] = plan->tables_.address() + b.index;
    if (b.place == Place::memory) plan->base_[i] = plan->memory_.address() + b.offset;
  }
  plan->outputs_ = std::move(outputs_);
  plan->steps_ = std::move(steps_);
  return plan;
}

void Plan::submit(Device& device, CUstream stream, const std::vector<Address>& inputs,
                  const std::vector<Address>& outputs) {
  for (const auto& [buffer, input] : input_buffers_) base_[size_t(buffer)] = inputs[input];
  for (const auto& [buffer, output] : output_buffers_) base_[size_t(buffer)] = outputs[output];
  const Run run{device, stream, base_.data()};
  for (const Step& step : steps_) step(run);
}

}  // namespace providers::cuda
