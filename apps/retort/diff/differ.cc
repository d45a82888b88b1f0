#include "diff/differ.h"

#include <cmath>

#include "cli/interrupt.h"
#include "contents/model_file.h"
#include "diff/cut.h"
#include "diff/diff_place.h"
#include "diff/diff_side.h"

namespace retort::cli {
namespace {

using nlohmann::json;

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

/// The user has interrupted the search.
struct Stopped {};

class Diff {
 public:
  explicit Diff(const DiffOptions& o)
      : o_(o),
        theirs_options_(o),
        ours_(default_library(o.library), o.model),
        theirs_(o.against.empty() ? default_library(o.library) : o.against,
                o.against_model.empty() ? o.model : o.against_model, o.against.empty()),
        described_(ToolsLibrary(o.library).describe(o)),
        main_(list_place(described_["graph"], {}, ours_.bytes, theirs_.bytes)) {
    if (o.arbiter || !o.cut.empty()) whole_ = whole_model(ToolsLibrary(o.library), o.model);
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
      if (o_.arbiter) report["outputs"].back()["arbiter"] = judged(name);
      if (d.scaled <= o_.tolerance) continue;
      report["agree"] = false;
      const auto found = main_.index.find(name);
      if (found != main_.index.end()) suspect = std::min(suspect.value_or(found->second), found->second);
    }
    if (report["outputs"].empty()) throw Failure("the models have no output in common: there is nothing to compare");
    if (!suspect) return report;
    try {
      report["first"] = find_first(main_, *suspect);
      if (!o_.cut.empty()) report["cut"] = write_cut();
    } catch (const Stopped&) {
      report["stopped"] = {{"looks", looks_}};
    }
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
    if (interrupted()) throw Stopped{};
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
    remember(place, found);
    if (o_.arbiter) first["arbiter"] = judged(place, found.value);
    if (!place.makers[found.value]->contains("bodies")) return first;
    const auto around = cut_;
    try {
      const json inside = find_inside(place, found.value);
      return inside.is_null() ? first : inside;
    } catch (const Failure& e) {
      first["inside_unseen"] = e.what();
      cut_ = around;
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

  /// Runs the arbiter once without other outputs than the model's.
  const Arbiter& arbiter() {
    if (arbiter_) return *arbiter_;
    if (!no_arbiter_.empty()) throw Failure(no_arbiter_);
    say("running the arbiter: the model in float64");
    try {
      auto made = std::make_unique<Arbiter>(o_.library, whole_);
      exact_ = made->run({}, inputs_);
      arbiter_ = std::move(made);
    } catch (const Failure& e) {
      no_arbiter_ = e.what();
      throw;
    }
    return *arbiter_;
  }

  /// What the arbiter says about an output.
  json judged(const std::string& name) try {
    arbiter();
    return judge(a_.at(name), b_.at(name), exact_.at(name));
  } catch (const Failure& e) {
    return {{"unknown", e.what()}};
  }

  /// The same for a value of a place, in the iterations that the place is about.
  json judged(const DiffPlace& place, size_t v) try {
    const std::string name = key(place, v);
    if (place.path.empty() && is_output(name)) return judged(name);
    const HostValues exact = arbiter().run({place.mark(v, name, !place.path.empty() && listed_)}, inputs_);
    return judge(shown_value(a_, place, v), shown_value(b_, place, v), shown_value(exact, place, v));
  } catch (const Failure& e) {
    return {{"unknown", e.what()}};
  }

  /// Remembers the nodes to cut out: those that make the value and those that it is fused with.
  void remember(const DiffPlace& place, const DiffSearch::Result& found) {
    cut_ = {{place.path, {place.names[found.value]}, place.names[found.value]}, place.within};
    for (const size_t v : found.hidden) cut_.place.made.insert(place.names[v]);
  }

  /// Values by name that the first side computes at the place of the cut, in its iterations, or gets as inputs.
  HostValues values_of(std::set<std::string> names) {
    HostValues all;
    for (const auto& [name, value] : inputs_) {
      if (names.erase(name)) all[name] = value;
    }
    const auto types = readable_tensors(described_["graph"], cut_.place.path);
    DiffPlace seen{.path = cut_.place.path, .within = cut_.within};
    std::vector<size_t> shown;
    for (const std::string& name : names) {
      if (!types.contains(name)) throw Failure("the nodes cannot be cut out: '" + name + "' is not a tensor");
      shown.push_back(seen.names.size());
      seen.names.push_back(name);
      seen.types.push_back(types.at(name));
    }
    show(seen, shown);
    for (const size_t v : shown) all[seen.names[v]] = shown_value(a_, seen, v);
    return all;
  }

  /// Writes the nodes of the difference as a model with its inputs, and tells whether the sides still differ there.
  json write_cut() try {
    std::set<std::string> names = cut_inputs(whole_, cut_.place);
    names.insert(cut_.place.output);
    const HostValues values = values_of(names);
    const CutModel first = cut(whole_, cut_.place, values);
    HostValues inputs;
    for (const std::string& name : first.inputs) inputs[name] = values.at(name);
    write_cut_files(o_.cut, first, inputs);
    const std::string library = o_.against.empty() ? default_library(o_.library) : o_.against;
    std::string second = first.bytes;
    if (!o_.against_model.empty()) {
      second = cut(whole_model(ToolsLibrary(o_.library), o_.against_model), cut_.place, values).bytes;
      write_file(o_.cut + "/second_model.onnx", second);
    }
    const DiffSide ours(default_library(o_.library), "the cut model", first.bytes),
        theirs(library, "the cut model", second);
    const Difference d = compare(ours.run({}, o_, inputs).at(cut_.place.output),
                                 theirs.run({}, theirs_options_, inputs).at(cut_.place.output));
    return {{"folder", o_.cut},
            {"nodes", first.nodes},
            {"inputs", first.inputs},
            {"difference", finite(d.scaled)},
            {"differs", !(d.scaled <= o_.tolerance)}};
  } catch (const Failure& e) {
    return {{"failed", e.what()}};
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
  std::string whole_;  ///< the first model with its weights inside, for the arbiter and the cut
  std::unique_ptr<Arbiter> arbiter_;
  HostValues exact_;        ///< the arbiter's outputs
  std::string no_arbiter_;  ///< why the arbiter cannot run; empty: it can, or was not tried
  struct {
    CutPlace place;
    json within;  ///< as in DiffPlace
  } cut_;
  size_t looks_ = 0;
  bool listed_ = false;  ///< whether some values had to be listed: others then probably as well
};

}  // namespace

json find_difference(const DiffOptions& options) { return Diff(options).run(); }

}  // namespace retort::cli
