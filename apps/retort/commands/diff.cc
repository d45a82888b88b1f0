// retort diff: finds the first node where two engines, or two models, differ.
#include <cmath>
#include <filesystem>

#include "cli/terminal.h"
#include "diff/diff_place.h"
#include "engine/tools_library.h"
#include "measure/stats.h"

namespace retort::cli {
namespace {

using nlohmann::json;

struct DiffOptions : Common {
  std::string against_model;
  double tolerance = 1e-3;
  size_t marks = 4;
};

/// One of the two engines or models.
struct DiffSide {
  std::unique_ptr<EngineLibrary> engine;
  std::string model, bytes, folder;

  DiffSide(const std::string& library, const std::string& file)
      : engine(std::make_unique<EngineLibrary>(library)), model(file), bytes(read_model_file(file)) {
    folder = std::filesystem::absolute(file).parent_path().string();
  }
  /// The outputs of a run in which these values are outputs, too.
  HostValues run(const std::vector<Mark>& shown, const Common& o, HostValues& inputs) const try {
    EngineSession session(*engine, with_outputs(bytes, shown), folder, o.settings(o.threads.at(0)));
    if (inputs.empty()) inputs = o.read_inputs(session.inputs());
    BoundRun bound(session, inputs);
    bound.run();
    return bound.values();
  } catch (const Failure& e) {
    throw Failure(engine->name() + " with '" + model + "': " + e.what());
  }
};

const HostTensor& part_of(const HostValue& value, const Difference& d) {
  const HostValue* part = &value;
  for (const size_t i : d.part) part = &part->items.at(i);
  return part->tensor;
}

/// For each sequence around the tensor, "[1,0]" after "[item]".
std::string position(const HostTensor& t, const Difference& d) {
  std::vector<int64_t> at(t.shape.size());
  size_t index = d.index;
  for (size_t i = t.shape.size(); i-- > 0; index /= size_t(t.shape[i])) at[i] = int64_t(index % size_t(t.shape[i]));
  std::string text;
  for (const size_t item : d.part) text += "[" + std::to_string(item) + "]";
  text += "[";
  for (size_t i = 0; i < at.size(); ++i) text += (i ? "," : "") + std::to_string(at[i]);
  return text + "]";
}

/// JSON has no infinity: null.
json finite(double number) { return std::isfinite(number) ? json(number) : json(nullptr); }

json element(const HostTensor& t, size_t i) {
  return t.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING ? json(t.strings[i]) : finite(number(t, i));
}

class Diff {
 public:
  explicit Diff(const DiffOptions& o)
      : o_(o),
        theirs_options_(o),
        ours_(default_library(o.library), o.model),
        theirs_(o.against.empty() ? default_library(o.library) : o.against,
                o.against_model.empty() ? o.model : o.against_model),
        described_(ToolsLibrary(o.library).describe(o)),
        main_(list_place(described_["graph"], {}, ours_.bytes, theirs_.bytes)) {
    theirs_options_.disabled.clear();
    if (!o.plugins.empty()) theirs_options_.providers.clear();  // the CPU is compared with the plug-in
    theirs_options_.plugins.clear();
    while (ours_.bytes.find(prefix_) != std::string::npos || theirs_.bytes.find(prefix_) != std::string::npos)
      prefix_ += "_";
  }

  json run() {
    json report = {{"model", o_.model},
                   {"engines", {ours_.engine->name(), theirs_.engine->name()}},
                   {"tolerance", o_.tolerance},
                   {"outputs", json::array()}};
    say("running both: " + ours_.engine->name() + " and " + theirs_.engine->name());
    show(main_, {});
    std::optional<size_t> suspect;
    report["agree"] = true;
    for (const size_t id : described_["graph"]["outputs"]) {
      const std::string name = described_["graph"]["values"][id]["name"];
      if (!a_.contains(name) || !b_.contains(name)) {
        say("output '" + name + "' is not compared: only one of the models has it");
        continue;
      }
      const Difference d = compare(a_[name], b_[name]);
      report["outputs"].push_back({{"name", name}, {"difference", finite(d.scaled)}});
      if (d.scaled <= o_.tolerance) continue;
      report["agree"] = false;
      const auto found = main_.index.find(name);
      if (found != main_.index.end()) suspect = std::min(suspect.value_or(found->second), found->second);
    }
    if (report["outputs"].empty()) throw Failure("the models have no output in common: there is nothing to compare");
    if (suspect) report["first"] = find_first(main_, *suspect);
    return report;
  }

 private:
  /// Prints the step on standard error, whether it is a terminal or not: each one takes as long as loading and running
  /// two models.
  static void say(const std::string& step) { std::fprintf(stderr, "retort diff: %s\n", step.c_str()); }

  /// Runs both with these values as outputs. Values whose shape changes between iterations cannot be stacked, so they
  /// are listed.
  void show(const DiffPlace& place, const std::vector<size_t>& shown) {
    if (place.path.empty()) return show(place, shown, false);
    std::string stacked;
    if (!(listed_ && can_list(place.path))) try {
        return show(place, shown, false);
      } catch (const Failure& e) {
        stacked = e.what();
      }
    if (!can_list(place.path))
      throw Failure("values whose shape changes can only be shown inside a single Loop and no Scan; here: " + stacked);
    listed_ = true;
    try {
      show(place, shown, true);
    } catch (const Failure& e) {
      const int opset = described_["opsets"].value("ai.onnx", 0);
      throw Failure((opset < 13 ? "its shapes change, and a Loop can list them only from opset 13 on; this model has " +
                                      std::to_string(opset) + ": "
                                : "its shapes change, and listing them failed: ") +
                    e.what());
    }
  }

  void show(const DiffPlace& place, const std::vector<size_t>& shown, bool listed) {
    std::vector<Mark> marks;
    for (const size_t v : shown) {
      if (!place.path.empty() || !is_output(place.names[v])) marks.push_back(place.mark(v, key(place, v), listed));
    }
    a_ = ours_.run(marks, o_, inputs_);
    b_ = theirs_.run(marks, theirs_options_, inputs_);
  }

  std::string key(const DiffPlace& place, size_t v) const {
    return place.path.empty() ? place.names[v] : prefix_ + std::to_string(v);
  }

  /// The value as it was shown, limited to the iterations of the place.
  HostValue shown_value(const HostValues& all, const DiffPlace& place, size_t v) const {
    HostValue value = all.at(key(place, v));
    for (const json& step : place.within) {
      if (step.contains("iteration")) value = turn(value, step["iteration"]);
    }
    return value;
  }

  Difference difference(const DiffPlace& place, size_t v) const {
    return compare(shown_value(a_, place, v), shown_value(b_, place, v));
  }

  std::set<size_t> look(const DiffPlace& place, const std::vector<size_t>& shown) {
    show(place, shown);
    std::set<size_t> bad;
    for (const size_t v : shown) {
      if (!(difference(place, v).scaled <= o_.tolerance)) bad.insert(v);
    }
    return bad;
  }

  bool is_output(const std::string& name) const {
    const json& graph = described_["graph"];
    return std::any_of(graph["outputs"].begin(), graph["outputs"].end(),
                       [&](const json& id) { return graph["values"][id.get<size_t>()]["name"] == name; });
  }

  json find_first(const DiffPlace& place, size_t suspect) {
    const auto found = DiffSearch::run(place.graph, suspect, o_.marks, [&](const std::vector<size_t>& shown) {
      say("run " + std::to_string(++looks_) + ": " + std::to_string(shown.size()) + " values from node '" +
          place.maker(shown.front()) + "' to '" + place.maker(shown.back()) + "'");
      return look(place, shown);
    });
    say("run again with the output of '" + place.maker(found.value) + "' alone");
    look(place, {found.value});  // with no other value shown, so that fused nodes stay fused
    json first = describe_first(place, found);
    if (!place.makers[found.value]->contains("bodies")) return first;
    try {
      const json inside = find_inside(place, found.value);
      return inside.is_null() ? first : inside;
    } catch (const Failure& e) {
      first["inside_unseen"] = e.what();
      return first;
    }
  }

  json describe_first(const DiffPlace& place, const DiffSearch::Result& found) const {
    const HostValue mine = shown_value(a_, place, found.value), other = shown_value(b_, place, found.value);
    const Difference d = compare(mine, other);
    json first = {{"value", place.names[found.value]},
                  {"node", place.maker(found.value)},
                  {"op", place.operators[found.value]},
                  {"difference", finite(d.scaled)},
                  {"looks", looks_},
                  {"what", d.what},
                  {"ours", value_json(mine)},
                  {"theirs", value_json(other)},
                  {"agreeing", json::array()}};
    if (const HostTensor& t = part_of(mine, d); d.what.empty() && !is_complex(t.type) && d.index < t.count())
      first.update({{"at", position(t, d)}, {"values", {element(t, d.index), element(part_of(other, d), d.index)}}});
    for (const size_t v : found.hidden) first["only_fused_with"].push_back(place.maker(v));
    for (const size_t v : found.agreeing) first["agreeing"].push_back(place.names[v]);
    if (!place.within.empty()) first["inside"] = place.within;
    if (const json fused = runs_within(first["node"]); !fused.is_null()) first["runs_within"] = fused;
    return first;
  }

  /// The first value that differs inside the node that makes `v`; null if no difference is found.
  json find_inside(const DiffPlace& place, size_t v) {
    const json& node = *place.makers[v];
    // Its values have an additional axis of batches in front.
    if (node["op"] == "Scan" && node["version"] < 9) return nullptr;
    for (const auto& [attribute, body] : node["bodies"].items()) {
      std::vector<BodyStep> path = place.path;
      path.push_back({place.names[v], attribute, node["op"]});
      DiffPlace inner = list_place(body, std::move(path), ours_.bytes, theirs_.bytes);
      inner.within = place.within;
      std::set<size_t> ends;
      for (const size_t id : body["outputs"]) {
        const auto end = inner.index.find(body["values"][id]["name"]);
        if (end != inner.index.end()) ends.insert(end->second);
      }
      if (ends.empty()) continue;
      say("look " + std::to_string(++looks_) + ": inside '" + place.maker(v) + "', what its " + attribute + " gives");
      show(inner, {ends.begin(), ends.end()});
      json step = {{"node", place.maker(v)}, {"op", node["op"]}, {"body", attribute}};
      const auto suspect = node["op"] == "If" ? first_of(inner, ends) : first_turn(inner, ends, step);
      if (!suspect) continue;
      inner.within.push_back(step);
      return find_first(inner, *suspect);
    }
    return nullptr;
  }

  std::optional<size_t> first_of(const DiffPlace& place, const std::set<size_t>& ends) const {
    const auto bad = std::find_if(ends.begin(), ends.end(),
                                  [&](size_t v) { return !(difference(place, v).scaled <= o_.tolerance); });
    return bad == ends.end() ? std::nullopt : std::optional(*bad);
  }

  /// The result of the first iteration in which one differs; the iteration is written to `step`.
  std::optional<size_t> first_turn(const DiffPlace& place, const std::set<size_t>& ends, json& step) const {
    size_t count = SIZE_MAX;
    for (const size_t v : ends) {
      for (const HostValues* all : {&a_, &b_}) count = std::min(count, turns(shown_value(*all, place, v)));
    }
    DiffPlace at = place;
    at.within.push_back(step);
    for (size_t i = 0; i < count; ++i) {
      at.within.back()["iteration"] = step["iteration"] = i;
      if (const auto bad = first_of(at, ends)) return bad;
    }
    return {};
  }

  /// The node of Retort's optimised graph that contains the model's node.
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
  Common theirs_options_;
  DiffSide ours_, theirs_;
  json described_;
  DiffPlace main_;
  std::string prefix_ = "retort_diff_";
  HostValues inputs_, a_, b_;
  size_t looks_ = 0;
  bool listed_ = false;  ///< whether some values had to be listed: others then probably as well
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

std::string step_text(const json& step) {
  std::string text = "inside " + step["op"].get<std::string>() + " '" + step["node"].get<std::string>() + "', in its " +
                     step["body"].get<std::string>();
  if (step.contains("iteration")) text += ", in iteration " + step["iteration"].dump() + " (the first is 0)";
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
                paint(Paint::red, "the engines differ in an output that no node of the main graph computes").c_str());
    return;
  }
  const json& f = report["first"];
  std::printf("\n%s node '%s' (%s), value '%s', %s\n", paint(Paint::red, "they first differ at").c_str(),
              f["node"].get<std::string>().c_str(), f["op"].get<std::string>().c_str(),
              f["value"].get<std::string>().c_str(), scale_text(f["difference"]).c_str());
  for (const json& step : f.value("inside", json::array())) std::printf("  %s\n", step_text(step).c_str());
  if (f.contains("inside_unseen"))
    std::printf("  the place inside is unknown: %s\n", f["inside_unseen"].get<std::string>().c_str());
  if (const auto what = f["what"].get<std::string>(); !what.empty()) std::printf("  %s\n", what.c_str());
  if (f.contains("at"))
    std::printf("  the largest difference is at %s: %s in the first, %s in the second\n",
                f["at"].get<std::string>().c_str(), f["values"][0].dump().c_str(), f["values"][1].dump().c_str());
  std::printf("  its inputs agree: %s\n", joined_names(f["agreeing"]).c_str());
  if (f.contains("only_fused_with"))
    std::printf("  only while it is fused with %s: if shown one by one, they agree\n",
                joined_names(f["only_fused_with"]).c_str());
  if (f.contains("runs_within"))
    std::printf("  Retort runs it inside a %s that replaces %s\n", f["runs_within"]["op"].get<std::string>().c_str(),
                joined_names(f["runs_within"]["origins"]).c_str());
}

void diff(const DiffOptions& o) {
  if (o.against.empty() && o.against_model.empty() && o.plugins.empty())
    throw CLI::RequiredError("--against, --against-model or --plugin");
  const json report = Diff(o).run();
  if (o.json)
    std::printf("%s\n", report.dump(2).c_str());
  else
    print_difference(report);
  if (!report["agree"]) throw Exit{kDifferent};
}

void add_diff(CLI::App& app) {
  CLI::App* sub = app.add_subcommand(
      "diff", "find the first node where two engines, or two versions of a model, compute different values");
  const auto o = std::make_shared<DiffOptions>();
  o->add_model(*sub);
  o->add_inputs(*sub);
  o->add_against(*sub);
  o->add_disable(*sub);
  sub->get_option("--disable")->description("in the first engine, " + sub->get_option("--disable")->get_description());
  sub->add_option("--against-model", o->against_model,
                  "second model; values of the same name are compared. With --against, the second engine runs it")
      ->check(kFile)
      ->type_name("FILE");
  sub->add_option("--tolerance", o->tolerance,
                  "largest difference that counts as equal, relative to the largest absolute value of a tensor")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber.description(""))
      ->type_name("X");
  sub->add_option("--marks", o->marks,
                  "values inside the model to show in one run; few, because an engine that shows a value "
                  "cannot fuse the nodes around it")
      ->capture_default_str()
      ->check(kPositive)
      ->type_name("N");
  o->add_threads(*sub, "threads inside an operator");
  sub->get_option("--threads")->expected(1)->type_name("N");
  sub->footer(
      "Both run on the same inputs. If outputs differ, values inside the model become outputs, too, a few at a time, "
      "until\n"
      "the first one is found that differs although all its inputs agree, also in the bodies of If, Loop and "
      "Scan.\n"
      "One engine may be more exact than the other: a lower --tolerance finds where a difference begins. Exit code 3: "
      "they "
      "differ.\n\n"
      "Only the first engine uses the plug-in: the second, by default the same library, runs on its CPU.\n\n"
      "Examples: retort diff model.onnx --against libonnxruntime.so.1.32.0 --inputs test_data_set_0\n"
      "          retort diff model.onnx --plugin my=libmy.so");
  sub->callback([o] { diff(*o); });
}

}  // namespace

extern const Command command_diff;
constinit const Command command_diff{50, add_diff};

}  // namespace retort::cli
