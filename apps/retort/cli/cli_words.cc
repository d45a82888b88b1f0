#include "cli/cli_words.h"

#include <sstream>

namespace retort::cli {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

/// The list that has the values of an option, by what it says of its value.
std::string list_of(const std::string& value) {
  if (value == "KEY=VALUE") return "keys";
  if (value == "PASS") return "passes";
  return value == "OPERATOR|MODEL" ? "operators" : "";
}

OptionWords words_of(const CLI::Option& option) {
  OptionWords w;
  for (const std::string& name : option.get_lnames()) w.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) w.names.push_back("-" + name);
  w.description = option.get_description();
  w.required = option.get_required();
  w.value = option.get_type_size() == 0 ? "" : option.get_type_name();
  if (w.names.empty() && w.value.empty()) w.value = option.get_name(true);
  const bool lower = !w.value.empty() && std::islower(static_cast<unsigned char>(w.value[0]));
  if (lower && w.value.find('|') != std::string::npos) {
    w.kind = WordKind::choice;
    w.choices = split(w.value, '|');
  } else if (const std::string list = list_of(w.value); !list.empty()) {
    w.kind = WordKind::listed;
    w.list = list;
  } else if (w.names.empty() ? w.value != "NAME" : w.value.find("FILE") != std::string::npos) {
    w.kind = WordKind::file;
  } else if (w.value == "DIR") {
    w.kind = WordKind::folder;
  } else {
    w.kind = w.value.empty() ? WordKind::none : WordKind::other;
  }
  return w;
}

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
  std::string all;
  for (const std::string& w : words) all += (all.empty() ? "" : between) + w;
  return all;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

/// Puts the text into single quotes for a shell; fish has its own rule for quotes inside.
std::string quoted(const std::string& text, bool fish = false) {
  return "'" + (fish ? replaced(replaced(text, "\\", "\\\\"), "'", "\\'") : replaced(text, "'", "'\\''")) + "'";
}

/// The words that the value may follow: the option's names; for a choice without a name, the command.
std::vector<std::string> said_before(const OptionWords& o, const CommandWords& c) {
  return o.names.empty() && o.kind == WordKind::choice ? std::vector{c.name} : o.names;
}

/// The first clause, since completions show one line.
std::string brief(const std::string& text) {
  const std::string clause = text.substr(0, text.find_first_of(";:("));
  return clause.substr(0, clause.find_last_not_of(' ') + 1);
}

}  // namespace

std::vector<CommandWords> command_words(const CLI::App& app) {
  std::vector<CommandWords> all;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->get_group().empty()) continue;  // hidden
    CommandWords c{sub->get_name(), sub->get_description(), sub->get_footer(), {}};
    for (const CLI::Option* option : sub->get_options()) c.options.push_back(words_of(*option));
    all.push_back(std::move(c));
  }
  return all;
}

std::string bash_completion(const std::vector<CommandWords>& commands) {
  std::vector<std::string> names{"--help", "--version"};
  std::string values, options, arguments;
  for (const CommandWords& c : commands) {
    names.push_back(c.name);
    std::vector<std::string> own;
    for (const OptionWords& o : c.options) {
      own.insert(own.end(), o.names.begin(), o.names.end());
      if (o.kind == WordKind::none || o.kind == WordKind::file) continue;
      const std::string how = o.kind == WordKind::folder   ? "compgen -d -- \"$cur\""
                              : o.kind == WordKind::choice ? "compgen -W '" + joined(o.choices) + "' -- \"$cur\""
                              : o.kind == WordKind::listed
                                  ? "compgen -W \"$(\"${COMP_WORDS[0]}\" words " + o.list + " 2>/dev/null)\" " +
                                        (o.names.empty() ? "-f " : "") + "-- \"$cur\""
                                  : "";
      const std::string after = o.list == "keys" ? "compopt -o nospace 2>/dev/null; " : "";
      if (o.names.empty() && o.kind == WordKind::listed)  // of which there may be several, anywhere
        arguments += "      " + c.name + ") COMPREPLY=($(" + how + ")); return ;;\n";
      for (const std::string& name : said_before(o, c))
        values += "    '" + c.name + " " + name + "') " + (how.empty() ? "" : "COMPREPLY=($(" + how + ")); ") + after +
                  "return ;;\n";
    }
    options += "    " + c.name + ") COMPREPLY=($(compgen -W '" + joined(own) + "' -- \"$cur\")) ;;\n";
  }
  return "# Completion of retort for bash.\n_retort() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W '" +
         joined(names) + "' -- \"$cur\"))\n    return\n  fi\n  case \"$command $prev\" in\n" + values +
         "  esac\n  if [[ $cur != -* ]]; then\n    case $command in\n" + arguments +
         "    esac\n    COMPREPLY=($(compgen -f -- \"${cur##*=}\"))\n    return\n  fi\n"
         "  case $command in\n" +
         options + "  esac\n}\ncomplete -o filenames -F _retort retort\n";
}

std::string zsh_completion(const std::vector<CommandWords>& commands) {
  const auto plain = [](const std::string& text) {
    std::string out;
    for (const char c : brief(text))
      out += c == '[' || c == ']' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return out;
  };
  const auto argument = [](const std::string& text) { return " \\\n        " + quoted("*" + text); };
  std::string list, cases;
  for (const CommandWords& c : commands) {
    list += "    " + quoted(c.name + ":" + brief(c.description)) + "\n";
    cases += "    " + c.name + ")\n      _arguments";
    for (const OptionWords& o : c.options) {
      const std::string action =
          o.kind == WordKind::file     ? "_files"
          : o.kind == WordKind::folder ? "_files -/"
          : o.kind == WordKind::choice ? "(" + joined(o.choices) + ")"
          : o.list == "keys"           ? "{compadd -S \"\" -- $($program words keys 2>/dev/null)}"
          : o.kind == WordKind::listed
              ? "{compadd -- $($program words " + o.list + " 2>/dev/null)" + (o.names.empty() ? "; _files" : "") + "}"
              : " ";
      const std::string value =
          o.kind == WordKind::none ? "" : ":" + replaced(replaced(o.value, ":", "\\:"), "[", "\\[") + ":" + action;
      if (o.names.empty()) cases += argument(value);
      const std::string rest = "[" + plain(o.description) + "]" + value;
      for (const std::string& name : o.names) cases += argument(name + rest);
    }
    cases += "\n      ;;\n";
  }
  return "#compdef retort\n# Completion of retort for zsh.\n_retort() {\n  local -a commands\n  commands=(\n" + list +
         "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n  local "
         "command=$words[2] program=$words[1]\n"
         "  shift words\n  ((CURRENT--))\n  case $command in\n" +
         cases + "  esac\n}\n_retort \"$@\"\n";
}

std::string fish_completion(const std::vector<CommandWords>& commands) {
  std::string text =
      "# Completion of retort for fish.\n"
      "function __retort_words\n  set -l line (commandline -poc)\n  $line[1] words $argv 2>/dev/null\nend\n"
      "complete -c retort -n __fish_use_subcommand -f\n"
      "complete -c retort -n __fish_use_subcommand -l help -d 'how to use it'\n"
      "complete -c retort -n __fish_use_subcommand -l version -d 'the version'\n";
  for (const CommandWords& c : commands) {
    text +=
        "complete -c retort -n __fish_use_subcommand -a " + c.name + " -d " + quoted(brief(c.description), true) + "\n";
    for (const OptionWords& o : c.options) {
      if (o.names.empty() && o.kind != WordKind::choice && o.kind != WordKind::listed) continue;
      text += "complete -c retort -n '__fish_seen_subcommand_from " + c.name + "'";
      for (const std::string& name : o.names)
        text += name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (o.kind == WordKind::choice) text += " -x -a " + quoted(joined(o.choices), true);
      if (o.kind == WordKind::listed)
        text += std::string(o.names.empty() ? "" : " -x") + " -a '(__retort_words " + o.list + ")'";
      if (o.kind == WordKind::folder) text += " -x -a '(__fish_complete_directories)'";
      if (o.kind == WordKind::file) text += " -r -F";
      if (o.kind == WordKind::other) text += " -x";
      text += " -d " + quoted(brief(o.description), true) + "\n";
    }
  }
  return text;
}

}  // namespace retort::cli
