#include "decoder.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace chat {
namespace api = retort::api;
namespace {

constexpr char kFormat[] = "retort chat cache 1";

nlohmann::json read_json(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error("cannot read " + file.string() + "; bench/llm writes it beside the model");
  return nlohmann::json::parse(stream);
}

api::SessionOptions session_options(int threads) {
  api::SessionOptions options;
  options.threads(threads);
  // In Retort, a copy of the cache is then an error; other engines ignore the entry.
  options.config("session.disallow_implicit_copies", "1");
  return options;
}

size_t bytes_of(ONNXTensorElementDataType type) {
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return 4;
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16) return 2;
  throw std::runtime_error("the cache has the element type " + std::to_string(int(type)) +
                           ", expected float32, float16 or bfloat16");
}

// Tells models apart: the size of the file, and the CRC-32 of its last bytes, which are weights.
std::string fingerprint(const std::filesystem::path& file) {
  const auto size = std::filesystem::file_size(file), n = std::min<std::uintmax_t>(size, 1 << 20);
  std::string tail(n, 0);
  std::ifstream stream(file, std::ios::binary);
  stream.seekg(std::streamoff(size - n));
  stream.read(tail.data(), std::streamsize(n));
  uint32_t crc = ~0u;
  for (const char c : tail) {
    crc ^= uint8_t(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return std::to_string(size) + "-" + std::to_string(~crc);
}

}  // namespace

Decoder::Decoder(const DecoderOptions& options)
    : model_(options.folder / "model.onnx"),
      session_(env_, model_, session_options(options.threads)),
      binding_(session_) {
  const auto config = read_json(options.folder / "genai_config.json").at("model");
  const int64_t most = config.at("context_length").get<int64_t>();
  room_ = options.room > 0 ? std::min(options.room, most) : most;
  mask_.assign(size_t(room_), 1);
  logits_.resize(config.at("vocab_size").get<size_t>());
  for (const api::Port& port : session_.inputs())
    if (port.name.starts_with("past_key_values.")) add_cache(port);
  binding_.output("logits", api::Value::wrap(logits_, {1, 1, int64_t(logits_.size())}));
}

// Each step reads the rows of all tokens so far and writes its own behind them, in the same memory.
void Decoder::add_cache(const api::Port& port) {
  heads_ = port.tensor.shape.at(1);
  row_bytes_ = size_t(port.tensor.shape.at(3)) * bytes_of(port.tensor.type);
  const std::string present = "present." + port.name.substr(std::string("past_key_values.").size());
  Cache& cache = caches_.emplace_back(Cache{port.name, present, {}});
  cache.rows.resize(size_t(heads_ * room_) * row_bytes_);
  const int64_t shape[] = {1, heads_, room_, port.tensor.shape.at(3)};
  const api::Value value =
      api::Value::wrap(api::MemoryInfo::cpu(), cache.rows.data(), cache.rows.size(), shape, port.tensor.type);
  binding_.input(cache.past.c_str(), value);
  binding_.output(cache.present.c_str(), value);
}

std::span<const float> Decoder::append(std::span<const int64_t> tokens) {
  const auto count = int64_t(tokens.size()), total = int64_t(tokens_.size()) + count;
  if (total > room_) {
    throw std::runtime_error("the sequence would have " + std::to_string(total) + " tokens, there is room for " +
                             std::to_string(room_) + "; begin a new conversation");
  }
  binding_.input("input_ids", api::Value::wrap(tokens, {1, count}));
  binding_.input("attention_mask", api::Value::wrap(std::span(mask_).first(size_t(total)), {1, total}));
  binding_.run();
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  return logits_;
}

std::string Decoder::header(size_t tokens) const {
  const nlohmann::json head = {
      {"format", kFormat},        {"model", fingerprint(model_)},
      {"row", row_bytes_},        {"heads", heads_},
      {"caches", caches_.size()}, {"tokens", std::vector<int64_t>(tokens_.begin(), tokens_.begin() + int64_t(tokens))}};
  return head.dump() + "\n";
}

// Calls f(first row of a head) for all caches and heads.
template <typename F>
void Decoder::for_each_head(const F& f) const {
  for (const Cache& cache : caches_)
    for (int64_t h = 0; h < heads_; ++h) f(cache.rows.data() + size_t(h * room_) * row_bytes_);
}

void Decoder::save(const std::filesystem::path& file) const {
  std::ofstream stream(file, std::ios::binary);
  stream << header(tokens_.size());
  const auto bytes = std::streamsize(tokens_.size() * row_bytes_);
  for_each_head([&](const std::byte* rows) { stream.write(reinterpret_cast<const char*>(rows), bytes); });
  if (!stream.flush()) throw std::runtime_error("cannot write " + file.string());
}

void Decoder::load(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string line;
  if (!std::getline(stream, line)) throw std::runtime_error("cannot read " + file.string());
  const nlohmann::json head = nlohmann::json::parse(line, nullptr, false);
  if (!head.is_object() || head.value("format", "") != kFormat)
    throw std::runtime_error(file.string() + " holds no cache of this program");
  std::vector<int64_t> tokens = head.at("tokens").get<std::vector<int64_t>>();
  if (int64_t(tokens.size()) > room_)
    throw std::runtime_error(file.string() + " has more tokens than there is room for");
  tokens_.swap(tokens);
  if (head != nlohmann::json::parse(header(tokens_.size()))) {
    tokens_.clear();
    throw std::runtime_error(file.string() + " was saved with another model; remove it");
  }
  const auto bytes = std::streamsize(tokens_.size() * row_bytes_);
  for_each_head(
      [&](const std::byte* rows) { stream.read(reinterpret_cast<char*>(const_cast<std::byte*>(rows)), bytes); });
  if (stream) return;
  tokens_.clear();
  throw std::runtime_error(file.string() + " is shorter than its header says; remove it");
}

}  // namespace chat
