// A conversation in the form on which the model was trained (ChatML).
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "decoder.h"
#include "sampler.h"
#include "tokenizer.h"

namespace chat {

/// Numbers and seconds of an answer.
struct Timing {
  size_t prompt_tokens = 0, answer_tokens = 0;
  double prompt_seconds = 0, answer_seconds = 0;
};

class Conversation {
 public:
  /// `system` tells the model who it is. With a file as cache, its rows are read from there, if it holds the same text;
  /// otherwise they are computed and written there.
  Conversation(Decoder& decoder, const Tokenizer& tokenizer, const std::string& system,
               const std::filesystem::path& cache = {});

  /// Calls `print` with each piece of the answer as soon as it is there, at most `most` tokens.
  Timing ask(const std::string& question, Sampler& sampler, size_t most,
             const std::function<void(std::string_view)>& print);

 private:
  void add(const std::string& text);
  void begin(const std::string& role, const std::string& text = "");
  void end();

  Decoder& decoder_;
  const Tokenizer& tokenizer_;
  int64_t start_, end_;
  std::vector<int64_t> pending_;  // tokens that the model has not seen
};

}  // namespace chat
