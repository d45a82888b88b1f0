// retort manual: the manual page, generated from the definitions of the commands.
#include <nlohmann/json.hpp>

#include <cstdio>

#include "cli/cli_words.h"
#include "cli/commands.h"
#include "cli/text.h"

namespace retort::cli {
namespace {

/// Escapes text for roff: no line begins with a request, and hyphens and backslashes are literal.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '-')
      out += "\\-";
    else if (c == '\\')
      out += "\\e";
    else
      out += c;
  }
  return out;
}

std::string option_entry(const OptionWords& o) {
  std::string names;
  for (const std::string& name : o.names) names += (names.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  if (!o.value.empty()) names += (names.empty() ? "\\fI" : " \\fI") + roff(o.value) + "\\fR";
  return ".TP\n" + names + "\n" + roff(o.description) + "\n";
}

/// Unchanged lines, for examples.
std::string verbatim(const std::string& text) { return text.empty() ? "" : ".PP\n.nf\n" + roff(text) + "\n.fi\n"; }

nlohmann::json commands_json(const std::vector<CommandWords>& commands) {
  nlohmann::json all = nlohmann::json::array();
  for (const CommandWords& c : commands) {
    nlohmann::json options = nlohmann::json::array();
    for (const OptionWords& o : c.options) {
      options.push_back(
          {{"names", o.names}, {"value", o.value}, {"required", o.required}, {"description", o.description}});
      if (!o.choices.empty()) options.back()["choices"] = o.choices;
    }
    all.push_back({{"name", c.name}, {"description", c.description}, {"footer", c.footer}, {"options", options}});
  }
  return all;
}

std::string manual_page(const CLI::App& app, const std::vector<CommandWords>& commands) {
  std::string text = ".TH RETORT 1 \"\" \"retort " RETORT_VERSION "\" \"User Commands\"\n.SH NAME\nretort \\- " +
                     roff("run and examine ONNX models") +
                     "\n.SH SYNOPSIS\n.B retort\n.I COMMAND\n.RI [ OPTIONS ]\n.SH DESCRIPTION\n" +
                     roff(app.get_description()) + "\n" + verbatim(app.get_footer()) + ".SH COMMANDS\n";
  for (const CommandWords& c : commands) {
    text += ".SS retort " + c.name + "\n" + roff(c.description) + ".\n";
    for (const OptionWords& o : c.options) text += option_entry(o);
    text += verbatim(c.footer);
  }
  text +=
      ".SH EXIT STATUS\n.TP\n0\nsuccess\n.TP\n1\nthe engine or a file reported an error; standard error has the "
      "reason\n.TP\n2\nwrong usage\n.TP\n3\nresults differ: \\fBretort diff\\fR, \\fBretort run "
      "\\-\\-expected\\fR\n.TP\n129, 130, 143\ninterrupted by SIGHUP, by Ctrl\\-C, by SIGTERM, after partial "
      "results\n.SH "
      "ENVIRONMENT\n.TP\nRETORT_LIBRARY\nthe engine to use if "
      "\\fB\\-\\-library\\fR is not given\n.TP\nNO_COLOR\nif set and not empty: no colours\n.TP\nTERM\nif it is "
      "\\fBdumb\\fR: neither colours nor progress bars\n";
  return text;
}

void add_manual(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("manual", "print the manual page, or the commands and options as data");
  const auto o = std::make_shared<Common>();
  o->add_json(*sub);
  sub->footer("Example: retort manual | man -l -");
  sub->callback([&app, o] {
    const auto commands = command_words(app);
    if (o->json) return print_json({{"version", RETORT_VERSION}, {"commands", commands_json(commands)}});
    std::fputs(manual_page(app, commands).c_str(), stdout);
  });
}

}  // namespace

extern const Command command_manual;
constinit const Command command_manual{100, add_manual};

}  // namespace retort::cli
