// retort help: the same texts as --help.
#include <algorithm>
#include <cstdio>

#include "cli/help.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/usage.h"

namespace retort::cli {
namespace {

std::string help_of(const CLI::App& app, const std::string& name) {
  if (name.empty()) return help_of_program(app, terminal_width());
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->get_group().empty()) continue;
    names.push_back(sub->get_name());
    if (sub->get_name() == name) return help_of_command(*sub, terminal_width());
  }
  const std::string near = likely(name, names);
  throw WrongUsage("'" + name + "' is not a command" + (near.empty() ? "" : "; did you mean " + near + "?"));
}

void add_help(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("help", "show how to use the program or a command, as --help does");
  const auto name = std::make_shared<std::string>();
  std::string all;  // this command is the last one
  for (const CLI::App* other : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!other->get_group().empty() && other != sub) all += (all.empty() ? "" : "|") + other->get_name();
  }
  sub->add_option("COMMAND", *name, "the command to explain; without it, the program")->type_name(all);
  sub->footer("Example: retort help run");
  const auto o = std::make_shared<Common>();
  o->add_json(*sub);
  sub->callback([&app, name, o] {
    const std::string text = help_of(app, *name);
    if (o->json) return print_json({{"command", *name}, {"text", text}});
    std::fputs(text.c_str(), stdout);
  });
}

}  // namespace

extern const Command command_help;
constinit const Command command_help{110, add_help};

}  // namespace retort::cli
