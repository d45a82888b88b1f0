// retort diff: finds the first node where two engines, or two models, differ.
#include "cli/interrupt.h"
#include "cli/text.h"
#include "diff/diff_text.h"
#include "diff/differ.h"

namespace retort::cli {
namespace {

using nlohmann::json;

void check_options(const DiffOptions& o) {
  if (o.against.empty() && o.against_model.empty() && o.plugins.empty())
    throw WrongUsage("add --against, --against-model or --plugin: there is nothing to compare with");
  if (o.cut.empty()) return;
  refuse_dash("--cut", o.cut);
  check_can_write(o.cut, false);
}

void diff(const DiffOptions& o) {
  check_options(o);
  catch_interrupt();
  const json report = find_difference(o);
  if (o.json)
    print_json(report);
  else
    print_difference(clean(report));
  end_if_interrupted();
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
      ->check(existing_file())
      ->type_name("FILE");
  sub->add_option("--tolerance", o->tolerance,
                  "largest difference that counts as equal, relative to the largest absolute value of a tensor")
      ->capture_default_str()
      ->check(real(0, 1e30))
      ->type_name("X");
  sub->add_option("--marks", o->marks,
                  "values inside the model to show in one run; few, because an engine that shows a value "
                  "cannot fuse the nodes around it")
      ->capture_default_str()
      ->check(whole(1, 100000))
      ->type_name("N");
  sub->add_flag("--arbiter", o->arbiter,
                "also run the first model with all floats in float64, and tell which of the two is nearer to that");
  sub->add_option("--cut", o->cut,
                  "if they differ, write the nodes of the first difference as model.onnx into this folder, with their "
                  "inputs as input_0.pb, …")
      ->type_name("DIR");
  o->add_threads(*sub, "threads inside an operator");
  sub->footer(
      "Both run on the same inputs. If outputs differ, values inside the model become outputs, too, a few at a time, "
      "until the first node is found whose output differs although its inputs agree, also in the bodies of If, Loop "
      "and Scan. One engine may be more exact than the other: a lower --tolerance finds where a difference begins. "
      "Exit code 3: they differ.\n\nOnly the first engine uses the plug-in: the second, by default the same library, "
      "runs on its CPU.\n\nExamples: retort diff model.onnx --against libonnxruntime.so.1.32.0 --inputs "
      "test_data_set_0\n          retort diff model.onnx --plugin my=libmy.so");
  sub->callback([o] { diff(*o); });
}

}  // namespace

extern const Command command_diff;
constinit const Command command_diff{50, add_diff};

}  // namespace retort::cli
