// One of the two sides of a comparison, and the arbiter between them.
#pragma once
#include <filesystem>

#include "diff/mark.h"
#include "diff/widen.h"
#include "engine/tools_library.h"
#include "measure/stats.h"

namespace retort::cli {

/// An engine with a model.
struct DiffSide {
  std::unique_ptr<EngineLibrary> engine;
  std::string model, bytes, folder;

  /// `devices`: those that the command line declares exist for this side. Throws Failure if the file is not a model.
  DiffSide(const std::string& library, const std::string& file, bool devices = true);
  /// A side with a model that is in memory alone.
  DiffSide(const std::string& library, std::string name, std::string content)
      : engine(std::make_unique<EngineLibrary>(library, false)), model(std::move(name)), bytes(std::move(content)) {}
  /// The outputs of a run in which these values are outputs, too.
  HostValues run(const std::vector<Mark>& shown, const Common& o, HostValues& inputs) const try {
    EngineSession session(*engine, with_outputs(bytes, shown), folder, o.settings(o.threads.at(0)));
    if (inputs.empty()) inputs = o.read_inputs(session.inputs());
    BoundRun bound(session, inputs);
    bound.run();
    return bound.values();
  } catch (const WrongUsage&) {
    throw;
  } catch (const Failure& e) {
    throw Failure(engine->name() + " with '" + model + "': " + e.what());
  }
};

/// Retort with the model in float64, by kernels without shortcuts: what both sides should have computed.
class Arbiter {
 public:
  /// `model` is an ONNX file with its weights inside.
  Arbiter(const std::string& library, const std::string& model);
  /// The outputs, with these values among them, for the inputs of the other sides.
  HostValues run(std::vector<Mark> shown, const HostValues& inputs) const;

 private:
  DiffSide side_;
};

/// How far both are from the exact value: {first, second: difference divided by the scale, null: infinite; closer:
/// "first", "second" or "both", if neither is four times as far as the other}.
nlohmann::json judge(const HostValue& first, const HostValue& second, const HostValue& exact);

}  // namespace retort::cli
