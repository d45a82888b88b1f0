// retort diff: the first node where two engines, or two models, part.
#include <filesystem>

#include "diff_search.h"
#include "mark.h"
#include "stats.h"
#include "terminal.h"
#include "tools_library.h"

namespace retort::cli {
namespace {

using nlohmann::json;
using Tensors = std::map<std::string, HostTensor>;

struct DiffOptions : Common {
  std::string against_model;
  double tolerance = 1e-3;
  size_t marks = 4;
};

/// One of the two that are compared.
struct DiffSide {
  std::unique_ptr<EngineLibrary> engine;
  std::string bytes, folder;

  DiffSide(const std::string& library, const std::string& model)
      : engine(std::make_unique<EngineLibrary>(library)), bytes(read_model_file(model)) {
    folder = std::filesystem::absolute(model).parent_path().string();
  }
  /// The outputs of a run that shows these values besides the model's own outputs.
  Tensors run(const std::vector<std::string>& shown, const DiffOptions& o, Tensors& inputs) const {
    EngineSession session(*engine, with_outputs(bytes, shown), folder, o.settings(o.threads.at(0)));
    if (inputs.empty()) inputs = o.read_inputs(session.inputs());
    BoundRun bound(session, inputs);
    bound.run();
    return bound.outputs();
  }
};

/// What can be looked at: tensors of numbers that nodes of the main graph make in both models.
struct Values {
  std::vector<std::string> names;
  std::vector<size_t> makers;  ///< index of the node
  std::map<std::string, size_t> index;
  ValueGraph graph;
};

bool is_numbers(const std::string& type) {
  const std::string element = type.substr(0, type.find('['));
  return type.find('[') != std::string::npos && element != "string" && element.find('(') == std::string::npos;
}

Values list_values(const json& graph, const DiffSide& a, const DiffSide& b) {
  const auto in_a = made_values(a.bytes), in_b = made_values(b.bytes);
  const std::set<std::string> first(in_a.begin(), in_a.end()), second(in_b.begin(), in_b.end());
  Values v;
  std::map<size_t, std::set<size_t>> roots;  // of each value of the graph: the values that can be looked at behind it
  for (size_t n = 0; n < graph["nodes"].size(); ++n) {
    const json& node = graph["nodes"][n];
    std::set<size_t> from;
    for (const int in : node["inputs"]) {
      if (in >= 0) from.insert(roots[size_t(in)].begin(), roots[size_t(in)].end());
    }
    for (const int out : node["outputs"]) {
      if (out < 0) continue;
      const json& value = graph["values"][size_t(out)];
      const std::string name = value["name"];
      roots[size_t(out)] = from;
      if (!first.contains(name) || !second.contains(name) || !is_numbers(value["type"])) continue;
      v.index[name] = v.names.size();
      roots[size_t(out)] = {v.names.size()};
      v.names.push_back(name);
      v.makers.push_back(n);
      v.graph.made_from.emplace_back(from.begin(), from.end());
    }
  }
  return v;
}

std::string position(const HostTensor& t, size_t index) {
  std::vector<int64_t> at(t.shape.size());
  for (size_t i = t.shape.size(); i-- > 0; index /= size_t(t.shape[i])) at[i] = int64_t(index % size_t(t.shape[i]));
  std::string text = "[";
  for (size_t i = 0; i < at.size(); ++i) text += (i ? "," : "") + std::to_string(at[i]);
  return text + "]";
}

class Diff {
 public:
  explicit Diff(const DiffOptions& o)
      : o_(o),
        ours_(default_library(o.library), o.model),
        theirs_(o.against.empty() ? default_library(o.library) : o.against,
                o.against_model.empty() ? o.model : o.against_model),
        described_(ToolsLibrary(o.library).describe(o)),
        values_(list_values(described_["graph"], ours_, theirs_)) {}

  json run() {
    json report = {{"model", o_.model},
                   {"engines", {ours_.engine->name(), theirs_.engine->name()}},
                   {"tolerance", o_.tolerance},
                   {"outputs", json::array()}};
    say("running both: " + ours_.engine->name() + " and " + theirs_.engine->name());
    compare_shown({});
    std::optional<size_t> suspect;
    for (const size_t id : described_["graph"]["outputs"]) {
      const std::string name = described_["graph"]["values"][id]["name"];
      if (!a_.contains(name) || !b_.contains(name)) continue;
      const Difference d = compare(a_[name], b_[name]);
      report["outputs"].push_back({{"name", name}, {"difference", finite(d.scaled)}});
      const auto found = values_.index.find(name);
      if (!(d.scaled <= o_.tolerance) && found != values_.index.end())
        suspect = std::min(suspect.value_or(found->second), found->second);
    }
    report["agree"] = std::all_of(report["outputs"].begin(), report["outputs"].end(), [&](const json& out) {
      return !out["difference"].is_null() && out["difference"] <= o_.tolerance;
    });
    if (suspect) report["first"] = describe_first(*suspect);
    return report;
  }

 private:
  /// Each step takes as long as two models need to load and run: what it is, on standard error, terminal or not.
  static void say(const std::string& step) { std::fprintf(stderr, "retort diff: %s\n", step.c_str()); }

  /// JSON has no infinity: null.
  static json finite(double number) { return std::isfinite(number) ? json(number) : json(nullptr); }

  void compare_shown(const std::vector<std::string>& shown) {
    a_ = ours_.run(shown, o_, inputs_);
    b_ = theirs_.run(shown, o_, inputs_);
  }

  std::set<size_t> look(const std::vector<size_t>& shown) {
    std::vector<std::string> names;
    for (const size_t v : shown) {
      if (!is_output(values_.names[v])) names.push_back(values_.names[v]);
    }
    compare_shown(names);
    std::set<size_t> bad;
    for (const size_t v : shown) {
      const std::string& name = values_.names[v];
      if (!(compare(a_.at(name), b_.at(name)).scaled <= o_.tolerance)) bad.insert(v);
    }
    return bad;
  }

  bool is_output(const std::string& name) const {
    const json& graph = described_["graph"];
    return std::any_of(graph["outputs"].begin(), graph["outputs"].end(),
                       [&](const json& id) { return graph["values"][id.get<size_t>()]["name"] == name; });
  }

  const json& maker(size_t value) const { return described_["graph"]["nodes"][values_.makers[value]]; }

  json describe_first(size_t suspect) {
    const auto found = DiffSearch::run(values_.graph, suspect, o_.marks, [&](const std::vector<size_t>& shown) {
      say("look " + std::to_string(++looks_) + ": " + std::to_string(shown.size()) + " values from node '" +
          maker(shown.front())["name"].get<std::string>() + "' to '" + maker(shown.back())["name"].get<std::string>() +
          "'");
      return look(shown);
    });
    say("look again, at nothing else, at what '" + maker(found.value)["name"].get<std::string>() + "' makes");
    look({found.value});  // with nothing else shown, so that what is fused stays so
    const std::string& name = values_.names[found.value];
    const HostTensor &mine = a_.at(name), &other = b_.at(name);
    const Difference d = compare(mine, other);
    const json& node = maker(found.value);
    json first = {
        {"value", name},   {"node", node["name"]}, {"op", node["op"]},          {"difference", finite(d.scaled)},
        {"looks", looks_}, {"what", d.what},       {"ours", tensor_json(mine)}, {"theirs", tensor_json(other)}};
    if (d.what.empty() && is_real(mine.type))
      first.update({{"at", position(mine, d.index)},
                    {"values", {finite(number(mine, d.index)), finite(number(other, d.index))}}});
    for (const size_t v : found.hidden) first["only_fused_with"].push_back(maker(v)["name"]);
    first["agreeing"] = json::array();
    for (const size_t v : found.agreeing) first["agreeing"].push_back(values_.names[v]);
    if (const json fused = runs_within(node["name"]); !fused.is_null()) first["runs_within"] = fused;
    return first;
  }

  /// The node of Retort's optimised graph that the model's node became a part of.
  json runs_within(const std::string& node) const {
    if (!described_.contains("optimized")) return nullptr;
    for (const json& n : described_["optimized"]["nodes"]) {
      const json origins = n.value("origins", json::array());
      if (origins.size() > 1 && std::find(origins.begin(), origins.end(), node) != origins.end())
        return {{"op", n["op"]}, {"origins", origins}};
    }
    return nullptr;
  }

  const DiffOptions& o_;
  DiffSide ours_, theirs_;
  json described_;
  Values values_;
  Tensors inputs_, a_, b_;
  size_t looks_ = 0;
};

std::string joined_names(const json& names) {
  std::string all;
  for (const std::string name : names) all += (all.empty() ? "'" : ", '") + name + "'";
  return all.empty() ? "none" : all;
}

std::string scale_text(const json& difference) {
  char text[64];
  if (difference.is_null()) return "by infinity, or in type or shape";
  std::snprintf(text, sizeof text, "by %.3g of their scale", difference.get<double>());
  return text;
}

void print_difference(const json& report) {
  for (const json& out : report["outputs"])
    std::printf("output %-24s differs %s\n", out["name"].get<std::string>().c_str(),
                scale_text(out["difference"]).c_str());
  if (report["agree"]) {
    std::printf("%s\n", paint(Paint::green, "the engines agree").c_str());
    return;
  }
  if (!report.contains("first")) {
    std::printf("%s\n",
                paint(Paint::red, "the engines differ, in an output that no node of the main graph makes").c_str());
    return;
  }
  const json& f = report["first"];
  std::printf("\n%s node '%s' (%s), value '%s', %s\n", paint(Paint::red, "they part first at").c_str(),
              f["node"].get<std::string>().c_str(), f["op"].get<std::string>().c_str(),
              f["value"].get<std::string>().c_str(), scale_text(f["difference"]).c_str());
  if (f["what"] != "") std::printf("  %s\n", f["what"].get<std::string>().c_str());
  if (f.contains("at"))
    std::printf("  most at %s: %s here, %s there\n", f["at"].get<std::string>().c_str(), f["values"][0].dump().c_str(),
                f["values"][1].dump().c_str());
  std::printf("  what it is made from agrees: %s\n", joined_names(f["agreeing"]).c_str());
  if (f.contains("only_fused_with"))
    std::printf("  only while it is fused with %s: shown one by one they agree\n",
                joined_names(f["only_fused_with"]).c_str());
  if (f.contains("runs_within"))
    std::printf("  Retort runs it within one %s, made of %s\n", f["runs_within"]["op"].get<std::string>().c_str(),
                joined_names(f["runs_within"]["origins"]).c_str());
}

void diff(const DiffOptions& o) {
  if (o.against.empty() && o.against_model.empty()) throw CLI::RequiredError("--against or --against-model");
  const json report = Diff(o).run();
  if (o.json)
    std::printf("%s\n", report.dump(2).c_str());
  else
    print_difference(report);
  if (!report["agree"]) throw Exit{kDifferent};
}

}  // namespace

void add_diff(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "diff", "find the first node where two engines, or two versions of a model, compute different values");
  const auto o = std::make_shared<DiffOptions>();
  o->add_model(*sub);
  o->add_inputs(*sub);
  o->add_against(*sub);
  sub->add_option("--against-model", o->against_model,
                  "second model; values of the same name are compared. With --against, the second engine runs it")
      ->check(kFile)
      ->type_name("FILE");
  sub->add_option("--tolerance", o->tolerance,
                  "largest difference that counts as equal, as a share of the largest absolute value of a tensor")
      ->capture_default_str()
      ->type_name("X");
  sub->add_option("--marks", o->marks,
                  "values in the middle of the model to look at in one run; few, because an engine that shows a value "
                  "cannot fuse the nodes around it")
      ->capture_default_str()
      ->check(kPositive)
      ->type_name("N");
  o->add_threads(*sub, "threads inside an operator");
  sub->get_option("--threads")->expected(1)->type_name("N");
  sub->footer(
      "Both run on the same inputs. Where outputs differ, values in the middle become outputs too, a few at a time, "
      "until\n"
      "the first one is found that differs while all that it is made from agrees. Exit code 3: they differ.\n\n"
      "Example: retort diff model.onnx --against libonnxruntime.so.1.31.1 --inputs test_data_set_0");
  sub->callback([o] { diff(*o); });
}

}  // namespace retort::cli
