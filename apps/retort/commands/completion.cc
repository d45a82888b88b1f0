// retort completion: scripts for shells, generated from the definitions of the commands.
#include <nlohmann/json.hpp>

#include <cstdio>

#include "cli/cli_words.h"
#include "cli/commands.h"
#include "cli/text.h"

namespace retort::cli {
namespace {

void add_completion(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("completion", "print a script that completes commands and options in a shell");
  const auto shell = std::make_shared<std::string>();
  const auto o = std::make_shared<Common>();
  sub->add_option("SHELL", *shell, "the shell to write for")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}))
      ->type_name("bash|zsh|fish");
  o->add_json(*sub);
  sub->footer("Example: source <(retort completion bash)");
  sub->callback([&app, shell, o] {
    const auto commands = command_words(app);
    const std::string text = *shell == "bash"  ? bash_completion(commands)
                             : *shell == "zsh" ? zsh_completion(commands)
                                               : fish_completion(commands);
    if (o->json) {
      print_json({{"shell", *shell}, {"script", text}});
      return;
    }
    std::fputs(text.c_str(), stdout);
  });
}

}  // namespace

extern const Command command_completion;
constinit const Command command_completion{90, add_completion};

}  // namespace retort::cli
