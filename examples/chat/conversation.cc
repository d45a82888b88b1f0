#include "conversation.h"

#include <chrono>

namespace chat {
namespace {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

Conversation::Conversation(Decoder& decoder, const Tokenizer& tokenizer, const std::string& system,
                           const std::filesystem::path& cache)
    : decoder_(decoder),
      tokenizer_(tokenizer),
      start_(tokenizer.special("<|im_start|>")),
      end_(tokenizer.special("<|im_end|>")) {
  begin("system", system);
  end();
  if (cache.empty()) return;
  if (std::filesystem::exists(cache)) decoder_.load(cache);
  if (decoder_.tokens() != pending_) {
    decoder_.cut(0);
    decoder_.append(pending_);
    decoder_.save(cache);
  }
  pending_.clear();
}

void Conversation::add(const std::string& text) {
  const std::vector<int64_t> tokens = tokenizer_.encode(text);
  pending_.insert(pending_.end(), tokens.begin(), tokens.end());
}
void Conversation::begin(const std::string& role, const std::string& text) {
  pending_.push_back(start_);
  add(role + "\n" + text);
}
void Conversation::end() {
  pending_.push_back(end_);
  add("\n");
}

Timing Conversation::ask(const std::string& question, Sampler& sampler, size_t most,
                         const std::function<void(std::string_view)>& print) {
  begin("user", question);
  end();
  begin("assistant");
  Timing timing{.prompt_tokens = pending_.size()};
  const Stopwatch prompt;
  std::span<const float> logits = decoder_.append(pending_);
  timing.prompt_seconds = prompt.seconds();
  pending_.clear();
  const Stopwatch answer;
  while (timing.answer_tokens < most) {
    const int64_t token = sampler.choose(logits);
    if (token == end_) break;
    print(tokenizer_.bytes(token));
    ++timing.answer_tokens;
    logits = decoder_.append(std::span(&token, 1));
  }
  timing.answer_seconds = answer.seconds();
  end();
  return timing;
}

}  // namespace chat
