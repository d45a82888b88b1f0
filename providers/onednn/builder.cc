#include "operators.h"

#include <algorithm>

namespace onednn {

using providers::Error;
using providers::shape_text;
using providers::text;

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

int64_t count_of(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

Dims broadcast(const Dims& a, const Dims& b) {
  Dims c(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < c.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      throw Error(text("shapes ", shape_text(a), " and ", shape_text(b), " do not fit; sizes must be equal or 1"),
                  ORT_INVALID_ARGUMENT);
    c[c.size() - 1 - i] = x == 1 ? y : x;
  }
  return c;
}

Desc last_channels(const Dims& dims, DataType type) {
  Dims last{dims[0]};
  last.insert(last.end(), dims.begin() + 2, dims.end());
  last.push_back(dims[1]);
  std::vector<int> to(dims.size());
  for (size_t i = 0; i < to.size(); ++i) to[i] = i == 0 ? 0 : int(i) + 1;
  to.back() = 1;
  return plain(last, type).permute_axes(to);
}

bool channels_last(const Desc& desc) {
  const Dims dims = desc.dims();
  return dims.size() > 2 && desc != plain(dims, desc.data_type()) && desc == last_channels(dims, desc.data_type());
}

Builder::Builder(const Program& program, const std::vector<Dims>& shapes)
    : program_(program), instance_(std::make_unique<Instance>()), tensors_(program.values.size()) {
  instance_->shapes = shapes;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const int id = program.inputs[i];
    if (id < 0) continue;  // of another part
    const Slot& slot = program.values[size_t(id)];
    Block block;
    block.input = int(i);
    block.readers = slot.uses;
    instance_->blocks.push_back(block);
    tensors_[size_t(id)] = Tensor{shapes[i], plain(shapes[i], data_type(slot.type)), int(instance_->blocks.size()) - 1};
  }
}

const Tensor& Builder::value(int id) const {
  const auto& t = tensors_.at(size_t(id));
  if (!t)
    throw Error(
        text("value '", program_.values[size_t(id)].name, "' does not exist; this is an error of the provider"));
  return *t;
}

Tensor Builder::weights(int id, const Desc& form, const Desc& view) {
  return weights(*program_.values[size_t(id)].constant, form, view);
}

Tensor Builder::weights(Weights& constant, const Desc& form, const Desc& view) {
  Block block;
  block.constant = constant.in(form, view);
  instance_->blocks.push_back(block);
  return {form.dims(), form, int(instance_->blocks.size()) - 1};
}

Tensor Builder::fresh(const Dims& dims, const Desc& desc) {
  Block block;
  block.bytes = desc.get_size();
  instance_->blocks.push_back(block);
  return {dims, desc, int(instance_->blocks.size()) - 1};
}

void Builder::made(const Operation& op, Tensor tensor) { made(op.out, std::move(tensor)); }

void Builder::made(int id, Tensor tensor) {
  const Slot& slot = program_.values[size_t(id)];
  // Strides of axes of size 1 may have any value, but the library chooses its code by them.
  const Desc straight = plain(tensor.desc.dims(), tensor.type());
  if (tensor.desc == straight) tensor.desc = straight;
  instance_->blocks[size_t(tensor.block)].readers += slot.uses + (slot.output >= 0);
  tensors_[size_t(id)] = std::move(tensor);
}

bool Builder::empty(const Operation& op, const Dims& dims, DataType type) {
  if (count_of(dims)) return false;
  made(op, Posts::steps(*this, op, fresh(dims, plain(dims, type)), 0));
  return true;
}

bool Builder::dies(const Tensor& t, int uses) const {
  const Block& b = instance_->blocks[size_t(t.block)];
  return b.input < 0 && !b.constant && b.readers <= uses;
}

Argument Builder::use(const Tensor& t, int step) {
  Block& block = instance_->blocks[size_t(t.block)];
  if (block.first < 0) block.first = step;
  block.last = step;
  const Argument argument{t.block, dnnl::memory(t.desc, engine(), DNNL_MEMORY_NONE)};
  if (block.input >= 0) instance_->outward.emplace_back(block.input, argument);
  return argument;
}

void Builder::step(const dnnl::primitive& primitive, const Arguments& arguments, const Desc& scratch) {
  const int number = int(instance_->steps.size());
  Step& s = instance_->steps.emplace_back();
  s.primitive = primitive;
  const auto add = [&](int name, const Tensor& t) {
    s.memories.push_back(use(t, number));
    s.arguments.emplace(name, s.memories.back().memory);
  };
  for (const auto& [name, tensor] : arguments) add(name, tensor);
  if (scratch.get_size()) add(DNNL_ARG_SCRATCHPAD, fresh({}, scratch));
}

void Builder::work(std::vector<Tensor> tensors, std::function<void(const std::vector<char*>&)> f) {
  const int number = int(instance_->steps.size());
  Step& s = instance_->steps.emplace_back();
  s.work = std::move(f);
  for (const Tensor& t : tensors) s.memories.push_back(use(t, number));
}

Tensor Builder::in(const Tensor& t, const Desc& desc) {
  if (t.desc == desc) return {t.dims, desc, t.block};
  Tensor to = fresh(t.dims, desc);
  if (count_of(t.dims) == 0) return to;
  const dnnl::reorder::primitive_desc pd(engine(), t.desc, engine(), desc, attributes());
  step_of(pd, {{DNNL_ARG_FROM, t}, {DNNL_ARG_TO, to}});
  return to;
}

Tensor Builder::plain_of(const Tensor& t) { return plain_of(t, t.type()); }
Tensor Builder::plain_of(const Tensor& t, DataType type) { return in(t, plain(t.desc.dims(), type)); }

Tensor Builder::reshaped(const Tensor& t, const Dims& dims) {
  Tensor made = t.desc.dims() == dims ? t : plain_of(t);
  if (t.desc.dims() != dims) made.desc = plain(dims, t.type());
  made.dims = dims;
  return made;
}

Tensor Builder::eltwise(const Tensor& t, const PostOp& f, bool over) {
  const Tensor to = over ? t : fresh(t.dims, t.desc);
  if (count_of(t.dims) == 0) return to;
  const dnnl::eltwise_forward::desc desc(dnnl::prop_kind::forward_inference, f.function, t.desc, f.alpha, f.beta);
  step_of(dnnl::eltwise_forward::primitive_desc(desc, attributes(), engine()), {{DNNL_ARG_SRC, t}, {DNNL_ARG_DST, to}});
  return to;
}

namespace {

Dims padded(const Dims& dims, size_t rank) {
  Dims all(rank - std::min(rank, dims.size()), 1);
  all.insert(all.end(), dims.begin(), dims.end());
  return all;
}

// The strides of a tensor of shape `from` that broadcasts to shape `to`: 0 along axes where it has one element.
std::vector<int64_t> steps_over(const Dims& from, const Dims& to) {
  std::vector<int64_t> steps(to.size(), 0);
  int64_t step = 1;
  for (size_t i = to.size(); i-- > 0;) {
    if (from[i] != 1) steps[i] = step;
    step *= from[i];
  }
  return steps;
}

// Layouts that the library's code for two operands supports: blocks of channels, row-major, or channels last.
bool common(const Desc& desc) {
  return desc.data.format_desc.blocking.inner_nblks || desc == plain(desc.dims(), desc.data_type()) ||
         channels_last(desc);
}

}  // namespace

// The library broadcasts only the second operand; if both need it, the first one is expanded before.
Tensor Builder::expanded(const Tensor& t, const Dims& dims) {
  const Tensor source = plain_of(t, DataType::f32);
  const Tensor to = fresh(dims, plain(dims, DataType::f32));
  const std::vector<int64_t> steps = steps_over(padded(t.desc.dims(), dims.size()), dims);
  work({source, to}, [dims, steps](const std::vector<char*>& p) {
    const auto* from = reinterpret_cast<const float*>(p[0]);
    auto* target = reinterpret_cast<float*>(p[1]);
    Dims at(dims.size(), 0);
    const int64_t count = count_of(dims);
    for (int64_t i = 0, offset = 0; i < count; ++i) {
      target[i] = from[offset];
      for (size_t d = dims.size(); d-- > 0;) {
        offset += steps[d];
        if (++at[d] < dims[d]) break;
        offset -= steps[d] * dims[d];
        at[d] = 0;
      }
    }
  });
  return to;
}

Tensor Builder::binary(dnnl::algorithm f, const Tensor& a, const Tensor& b, bool over_a) {
  const Dims dims = broadcast(a.dims, b.dims);
  if (count_of(dims) == 0) return fresh(dims, plain(dims, a.type()));
  const size_t rank = std::max<size_t>(dims.size(), 1);
  const Dims wide = padded(dims, rank);
  const auto fit = [&](const Tensor& t) {
    const Dims own = padded(t.dims, rank);
    Tensor fitted = t.desc.dims() == own ? t : reshaped(t, own);
    return fitted;
  };
  Tensor x = fit(a), y = fit(b);
  if (x.desc.dims() != wide)
    x = expanded(x, wide);
  else if (!common(x.desc))
    x = plain_of(x);
  const bool over = over_a && x.block == a.block;
  if (y.desc.dims() == wide) y = in(y, Desc(x.desc));
  Tensor to = over ? x : fresh(dims, x.desc);
  to.dims = dims;
  const dnnl::binary::desc desc(f, x.desc, y.desc, to.desc);
  step_of(dnnl::binary::primitive_desc(desc, attributes(), engine()),
          {{DNNL_ARG_SRC_0, x}, {DNNL_ARG_SRC_1, y}, {DNNL_ARG_DST, to}});
  return to;
}

void Builder::build_one(const Operation& op) {
  try {
    for (const int id : op.in) {
      if (id < 0 || tensors_[size_t(id)]) continue;
      if (Weights* w = constant(id); w && w->type() != DataType::undef) {
        Tensor t = weights(id, plain(w->dims(), w->type()), plain(w->dims(), w->type()));
        t.dims = w->dims();
        tensors_[size_t(id)] = t;
      }
    }
    op.build(*this);
  } catch (const std::exception& e) {
    const auto* own = dynamic_cast<const Error*>(&e);
    std::string shapes;
    for (const int id : op.in)
      if (id >= 0 && tensors_[size_t(id)])
        shapes +=
            text(shapes.empty() ? "'" : ", '", program_.values[size_t(id)].name, "' ", shape_text(value(id).dims));
    throw Error(text(op.who, ": ", e.what(), "; check its inputs ", shapes), own ? own->code() : ORT_EP_FAIL);
  }
  for (const int id : op.in)
    if (id >= 0 && tensors_[size_t(id)]) --instance_->blocks[size_t(tensors_[size_t(id)]->block)].readers;
}

void Builder::deliver(int output, Tensor t) {
  const Slot& slot = program_.values[size_t(program_.outputs[size_t(output)])];
  const Desc wanted = plain(t.dims, data_type(slot.type));
  t = t.desc.dims() == wanted.dims() ? in(t, wanted) : in(reshaped(t, wanted.dims()), wanted);
  Block& block = instance_->blocks[size_t(t.block)];
  const bool takes = block.input < 0 && !block.constant && block.output < 0 && block.bytes == wanted.get_size();
  if (!takes) {  // it is an input, or also another output
    const Tensor copy = fresh(t.dims, wanted);
    if (count_of(t.dims)) {
      const dnnl::reorder::primitive_desc pd(engine(), t.desc, engine(), wanted, attributes());
      step_of(pd, {{DNNL_ARG_FROM, t}, {DNNL_ARG_TO, copy}});
    }
    t = copy;
  }
  instance_->blocks[size_t(t.block)].output = output;
  instance_->outputs[size_t(output)] = t.dims;
}

void Builder::deliver() {
  instance_->outputs.resize(program_.outputs.size());
  for (size_t i = 0; i < program_.outputs.size(); ++i) deliver(int(i), value(program_.outputs[i]));
}

std::unique_ptr<Instance> Builder::build() {
  for (const auto& op : program_.operations) build_one(*op);
  deliver();
  instance_->finish();
  return std::move(instance_);
}

}  // namespace onednn
