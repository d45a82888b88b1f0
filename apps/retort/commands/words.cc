// retort words: what completion scripts ask for while someone types. Not shown in the help.
#include <cstdio>

#include "engine/tools_library.h"

namespace retort::cli {
namespace {

void print_words(const std::string& kind) {
  const ToolsLibrary library("");
  if (kind == "operators") {
    for (const auto& op : library.operators()) std::printf("%s\n", op["name"].get<std::string>().c_str());
    return;
  }
  const auto names = library.names();
  for (const std::string name : names[kind == "passes" ? "passes" : "config_keys"])
    std::printf(kind == "passes" ? "%s\n" : "%s=\n", name.c_str());
}

void add_words(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("words", "print names that options take, for completion scripts");
  const auto kind = std::make_shared<std::string>();
  sub->group("");
  sub->add_option("KIND", *kind, "which names")
      ->required()
      ->check(one_of({"keys", "passes", "operators"}))
      ->type_name("keys|passes|operators");
  sub->callback([kind] { print_words(*kind); });
}

}  // namespace

extern const Command command_words;
constinit const Command command_words{120, add_words};

}  // namespace retort::cli
