#include "bench/decode_run.h"

#include <cstring>
#include <string_view>
#include <utility>

namespace retort::cli {
namespace {

constexpr std::string_view kPresent = "present";

/// Appends an entry to each row of 64-bit integers, equal to the row's last.
void append_last(HostTensor& mask) {
  std::vector<std::byte> longer;
  const auto width = size_t(mask.shape.back()), rows = mask.count() / width;
  const size_t entry = sizeof(int64_t);
  for (size_t r = 0; r < rows; ++r) {
    const auto* row = mask.bytes.data() + r * width * entry;
    longer.insert(longer.end(), row, row + width * entry);
    longer.insert(longer.end(), row + (width - 1) * entry, row + width * entry);
  }
  ++mask.shape.back();
  mask.bytes = std::move(longer);
}

void count_on(HostTensor& positions) {
  for (size_t i = 0; i < positions.count(); ++i) {
    int64_t position = 0;
    std::memcpy(&position, positions.bytes.data() + i * sizeof position, sizeof position);
    ++position;
    std::memcpy(positions.bytes.data() + i * sizeof position, &position, sizeof position);
  }
}

}  // namespace

DecodeRun::DecodeRun(EngineSession& session, HostValues& inputs) : session_(session), inputs_(inputs) {
  for (size_t i = 0; i < session.outputs().size(); ++i) {
    const std::string& name = session.outputs()[i].name;
    if (!name.starts_with(kPresent)) continue;
    for (const char* past : {"past_key_values", "past"}) {
      const std::string input = past + name.substr(kPresent.size());
      if (inputs.contains(input)) caches_.push_back({input, i});
    }
  }
  if (caches_.empty())
    throw Failure(
        "--hand-back needs a decoder: outputs present… and inputs past… or past_key_values… whose names continue "
        "in the same way; this model has none");
  restart();
}

void DecodeRun::restart() {
  bound_.reset();
  counters_.clear();
  for (const char* name : {"attention_mask", "position_ids"}) {
    const auto given = inputs_.find(name);
    if (given == inputs_.end()) continue;
    const HostTensor& tensor = given->second.tensor;
    if (tensor.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 && !tensor.shape.empty() && tensor.shape.back() > 0)
      counters_.insert(*given);
  }
  bound_ = std::make_unique<BoundRun>(session_, inputs_);
  stale_ = false;
}

void DecodeRun::advance() {
  for (auto& [name, value] : counters_) {
    name == "position_ids" ? count_on(value.tensor) : append_last(value.tensor);
    bound_->give(name, value);
  }
}

void DecodeRun::run() {
  if (std::exchange(stale_, true)) bound_->forget_outputs();  // not at the end: values() returns those of this step
  bound_->run();
  const std::vector<Handle<OrtValue>> made = bound_->outputs();
  for (const Cache& c : caches_) bound_->give(c.past, made[c.output].get());
  advance();
}

}  // namespace retort::cli
