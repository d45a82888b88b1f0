// Talks with a language model: questions are lines of the standard input, answers appear token by token.
//
//   chat FOLDER [options]
#include <charconv>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>

#include "conversation.h"

namespace {

constexpr char kUsage[] =
    R"(usage: chat FOLDER [options]
  FOLDER             model.onnx, tokenizer.json and genai_config.json, as bench/llm makes them
  --system TEXT      tells the model who it is
  --cache FILE       keeps what the model computed of that text, for the next start
  --tokens N         the most tokens of an answer (256)
  --temperature X    0: always the most probable token (0)
  --top-k N          chooses among the N most probable tokens (0: all)
  --top-p X          chooses among the most probable tokens that have this probability together (1)
  --seed N           the same seed gives the same answers (0)
  --threads N        (one per core)
  --room N           the longest conversation, in tokens (2048)
  --timing           prints tokens per second to the standard error
)";

struct Options {
  chat::DecoderOptions decoder{.folder = {}, .room = 2048};
  chat::Sampling sampling;
  std::string system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
  std::filesystem::path cache;
  size_t tokens = 256;
  bool timing = false;
};

template <typename T>
std::function<void(const std::string&)> number(T& to) {
  return [&to](const std::string& text) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (error != std::errc() || end != text.data() + text.size() || to < T(0))
      throw std::invalid_argument("'" + text + "' is not a number from 0 on");
  };
}

Options parse(int argc, char** argv) {
  Options o;
  const std::map<std::string, std::function<void(const std::string&)>> known = {
      {"--system", [&](const std::string& text) { o.system = text; }},
      {"--cache", [&](const std::string& text) { o.cache = text; }},
      {"--tokens", number(o.tokens)},
      {"--temperature", number(o.sampling.temperature)},
      {"--top-k", number(o.sampling.top_k)},
      {"--top-p", number(o.sampling.top_p)},
      {"--seed", number(o.sampling.seed)},
      {"--threads", number(o.decoder.threads)},
      {"--room", number(o.decoder.room)}};
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--timing") {
      o.timing = true;
    } else if (!name.starts_with("--")) {
      o.decoder.folder = name;
    } else if (!known.contains(name)) {
      throw std::invalid_argument("unknown option " + name);
    } else if (++i == argc) {
      throw std::invalid_argument(name + " needs a value");
    } else {
      known.at(name)(argv[i]);
    }
  }
  if (o.decoder.folder.empty()) throw std::invalid_argument("no FOLDER");
  return o;
}

void print(std::string_view piece) {
  std::fwrite(piece.data(), 1, piece.size(), stdout);
  std::fflush(stdout);
}

void talk(const Options& o) {
  chat::Decoder decoder(o.decoder);
  const chat::Tokenizer tokenizer(o.decoder.folder / "tokenizer.json");
  chat::Conversation conversation(decoder, tokenizer, o.system, o.cache);
  chat::Sampler sampler(o.sampling);
  for (std::string question; std::getline(std::cin, question);) {
    const chat::Timing t = conversation.ask(question, sampler, o.tokens, print);
    print("\n");
    if (!o.timing) continue;
    std::fprintf(stderr, "prompt: %zu tokens, %.0f tokens/s; answer: %zu tokens, %.0f tokens/s\n", t.prompt_tokens,
                 double(t.prompt_tokens) / t.prompt_seconds, t.answer_tokens,
                 double(t.answer_tokens) / t.answer_seconds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    talk(parse(argc, argv));
  } catch (const std::invalid_argument& e) {
    std::fprintf(stderr, "chat: %s\n%s", e.what(), kUsage);
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "chat: %s\n", e.what());
    return 1;
  }
}
