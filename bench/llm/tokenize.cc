// Prints the tokens of texts: llm_tokenize TOKENIZER.JSON. Each line of the standard input is a text as JSON.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tokenizer.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: llm_tokenize TOKENIZER.JSON\n", stderr);
    return 2;
  }
  try {
    const chat::Tokenizer tokenizer(argv[1]);
    for (std::string line; std::getline(std::cin, line);)
      std::cout << nlohmann::json(tokenizer.encode(nlohmann::json::parse(line).get<std::string>())).dump() << "\n";
  } catch (const std::exception& e) {
    std::fprintf(stderr, "llm_tokenize: %s\n", e.what());
    return 1;
  }
}
