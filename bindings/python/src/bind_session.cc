// What Python sees of Session, and of what a session tells about itself.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "binding.h"
#include "gil_lock.h"
#include "numpy.h"
#include "rooms.h"
#include "run.h"
#include "session.h"

namespace nb = nanobind;

namespace retort::python {

void bind_ports(nb::module_& m);

namespace {

using Class = nb::class_<Session>;

// C.OrtEpAssignedNode and C.OrtEpAssignedSubgraph: copies.
struct AssignedNode {
  std::string name, domain, op_type;
};
struct AssignedSubgraph {
  std::string provider;
  std::vector<AssignedNode> nodes;
};

std::vector<AssignedSubgraph> assignment(const Session& session) {
  needs(24, "get_provider_graph_assignment_info()");
  const OrtEpAssignedSubgraph* const* parts = nullptr;
  size_t count = 0;
  check(api().Session_GetEpGraphAssignmentInfo(session.get(), &parts, &count));
  std::vector<AssignedSubgraph> result(count);
  for (size_t i = 0; i < count; ++i) {
    const char* text = nullptr;
    check(api().EpAssignedSubgraph_GetEpName(parts[i], &text));
    result[i].provider = text;
    const OrtEpAssignedNode* const* nodes = nullptr;
    size_t node_count = 0;
    check(api().EpAssignedSubgraph_GetNodes(parts[i], &nodes, &node_count));
    for (size_t n = 0; n < node_count; ++n) {
      const char *name = nullptr, *domain = nullptr, *op = nullptr;
      check(api().EpAssignedNode_GetName(nodes[n], &name));
      check(api().EpAssignedNode_GetDomain(nodes[n], &domain));
      check(api().EpAssignedNode_GetOperatorType(nodes[n], &op));
      result[i].nodes.push_back({name, domain, op});
    }
  }
  return result;
}

using MemoryQuestion = decltype(OrtApi::SessionGetMemoryInfoForInputs);

nb::list memory_infos(const Session& session, const Ports& ports, MemoryQuestion ask) {
  nb::list result;
  std::vector<const OrtMemoryInfo*> infos(ports.size());
  if (!infos.empty()) {
    check(ask(session.get(), infos.data(), infos.size()));
  }
  for (const OrtMemoryInfo* info : infos) {
    result.append(info ? nb::cast(MemoryInfo(info)) : nb::none());
  }
  return result;
}

nb::list ep_devices_of(const Session& session, const Ports& ports, bool inputs) {
  nb::list result;
  std::vector<const OrtEpDevice*> devices(ports.size());
  if (!devices.empty()) {
    check((inputs ? api().SessionGetEpDeviceForInputs : api().SessionGetEpDeviceForOutputs)(
        session.get(), devices.data(), devices.size()));
  }
  for (const OrtEpDevice* device : devices) {
    result.append(device ? nb::cast(EpDevice{device}) : nb::none());
  }
  return result;
}

std::string end_profiling(Session& session) {
  OrtAllocator* allocator = default_allocator();
  char* path = nullptr;
  check(api().SessionEndProfiling(session.get(), allocator, &path));
  return take_text(allocator, path);
}

uint64_t profiling_start(const Session& session) {
  uint64_t start = 0;
  check(api().SessionGetProfilingStartTimeNs(session.get(), &start));
  return start;
}

void set_dynamic_options(Session& session, const Pairs& options) {
  if (options.empty()) {
    throw std::runtime_error("set_ep_dynamic_options(): no options were given");
  }
  const PairPointers pointers(options);
  OrtStatus* status = nullptr;
  {
    const WithoutGil release;
    status = api().SetEpDynamicOptions(session.get(), pointers.keys.data(), pointers.values.data(), options.size());
  }
  check(status);
}

void release_captured_graph(Session& session, int id) {
  needs(27, "release_captured_graph()");
  check(api().SessionReleaseCapturedGraph(session.get(), id));
}

nb::object new_value(Session& session, const std::vector<int64_t>& shape, Element element, const Device& device) {
  try {
    OrtAllocator* allocator = session.allocator_for(device);
    return wrap(made<OrtValue>(api().CreateTensorAsOrtValue, allocator, shape.data(), shape.size(), element));
  } catch (const Error& error) {
    throw std::runtime_error(std::string("the session cannot allocate there: ") + error.what());
  }
}

// The ledger of copies that the engine made by itself, as the text that retort_tools.h describes.
std::string copies_json(const Session& session) {
  const auto ask = reinterpret_cast<RetortSessionCopies>(get_retort_function("RetortSessionCopies", "copies()"));
  OrtAllocator* allocator = default_allocator();
  char* json = nullptr;
  check(ask(session.get(), allocator, &json));
  return take_text(allocator, json);
}

void set_tuning_results(Session&, nb::list results, bool error_on_invalid) {
  if (error_on_invalid && nb::len(results)) {
    throw Error(ORT_NOT_IMPLEMENTED,
                "set_tuning_results(): the engine has no kernels that are tuned at run time; give an empty list");
  }
}

void bind_description(Class& c) {
  c.def_prop_ro(
       "inputs_meta", [](const Session& s) { return node_args(s.inputs()); }, "The inputs of the model.")
      .def_prop_ro(
          "outputs_meta", [](const Session& s) { return node_args(s.outputs()); }, "The outputs.")
      .def_prop_ro(
          "overridable_initializers", [](const Session& s) { return node_args(s.initializers()); },
          "Initializers that a run may replace.")
      .def_prop_ro(
          "model_meta", [](const Session& s) { return metadata_of(s.get()); }, "The model's metadata.")
      .def_prop_ro(
          "session_options", [](const Session& s) { return new SessionOptions(s.options()); },
          nb::rv_policy::take_ownership, "A copy of the options that the session was created with.")
      .def_prop_ro(
          "input_meminfos",
          [](const Session& s) { return memory_infos(s, s.inputs(), api().SessionGetMemoryInfoForInputs); },
          "Memory in which each input is read.")
      .def_prop_ro(
          "output_meminfos",
          [](const Session& s) { return memory_infos(s, s.outputs(), api().SessionGetMemoryInfoForOutputs); },
          "Memory in which each output is made.")
      .def_prop_ro(
          "input_epdevices", [](const Session& s) { return ep_devices_of(s, s.inputs(), true); },
          "Device that reads each input.")
      .def_prop_ro(
          "output_epdevices",
          [](const Session& s) {
            needs(24, "output_epdevices");
            return ep_devices_of(s, s.outputs(), false);
          },
          "Device that makes each output.")
      .def("get_providers", &Session::providers, nb::rv_policy::copy, "The providers, the most preferred one first.")
      .def("get_provider_options", &Session::provider_options, nb::rv_policy::copy, "The options of each provider.")
      .def("get_provider_graph_assignment_info", &assignment,
           "Which provider runs which nodes. Needs the entry session.record_ep_graph_assignment_info = 1.")
      .def(
          "array_copies",
          [](const Session& s) {
            nb::list rows;
            for (const auto& [name, copies] : s.array_copies()) {
              rows.append(nb::make_tuple(name, copies.bytes, copies.times));
            }
            return rows;
          },
          "(input, bytes, times) of arrays that runs had to copy since they do not lie as the engine reads them.")
      .def("copies_json", &copies_json, "The copies that the engine made by itself, as JSON. Only Retort.")
      .def(
          "is_webgpu_graph_capture_enabled", [](const Session&) { return false; },
          "Whether graphs are captured by the WebGPU provider of the official package.")
      .def(
          "webgpu_context_id", [](const Session&) { return -1; }, "-1: no WebGPU provider is built in.");
}

void bind_runs(Class& c) {
  c.def("run", &run, nb::arg("output_names").none(), nb::arg("input_feed").none(),
        nb::arg("run_options").none() = nb::none(),
        "Runs the model on a dict of arrays; a list of the requested outputs.")
      .def("run_with_ort_values", &run_with_values, nb::arg("input_feed"), nb::arg("output_names").none(),
           nb::arg("run_options").none() = nb::none(), "The same with OrtValues.")
      .def(
          "run_with_iobinding", [](const Session& s, Binding& binding, nb::handle options) { binding.run(s, options); },
          nb::arg("iobinding"), nb::arg("run_options").none() = nb::none(), "Runs on what is bound.")
      .def("run_with_ortvaluevector", &run_with_vectors, nb::arg("run_options").none(), nb::arg("feed_names"),
           nb::arg("feeds"), nb::arg("fetch_names"), nb::arg("fetches"), nb::arg("fetch_devices"),
           "Runs on lists of OrtValues; puts the outputs into `fetches`.")
      .def("set_ep_dynamic_options", &set_dynamic_options, nb::arg("options"), "Changes options of the providers.")
      .def("release_captured_graph", &release_captured_graph, nb::arg("graph_annotation_id"),
           "Frees what the provider captured under this number.")
      .def(
          "create_ortvalue_from_shape_and_onnx_type",
          [](Session& s, const std::vector<int64_t>& shape, int element, const Device& device) {
            return new_value(s, shape, static_cast<Element>(element), device);
          },
          nb::arg("shape"), nb::arg("element_type"), nb::arg("device"), nb::keep_alive<0, 1>(),
          "A tensor from the session's allocator.")
      .def(
          "create_ortvalue_from_shape_and_type",
          [](Session& s, const std::vector<int64_t>& shape, nb::handle type, const Device& device) {
            return new_value(s, shape, element_of_dtype(type), device);
          },
          nb::arg("shape"), nb::arg("numpy_type"), nb::arg("device"), nb::keep_alive<0, 1>(),
          "A tensor from the session's allocator.")
      .def("end_profiling", &end_profiling, "Ends the profile; the path of its file.")
      .def_prop_ro("get_profiling_start_time_ns", &profiling_start, "When the profile began, in nanoseconds.")
      .def(
          "get_tuning_results", [](const Session&) { return nb::list(); },
          "Empty: the engine has no kernels that are tuned at run time.")
      .def("set_tuning_results", &set_tuning_results, nb::arg("results"), nb::arg("error_on_invalid"),
           "Ignores results of other engines; NotImplemented for them if error_on_invalid.");
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PyObject*>(Py_TYPE(self)));
  return nb::inst_ready(self) ? nb::inst_ptr<Session>(self)->options().traverse(visit, arg) : 0;
}

}  // namespace

void bind_session(nb::module_& m) {
  prepare_interrupts();
  bind_ports(m);
  nb::class_<AssignedNode>(m, "OrtEpAssignedNode", "A node of the model and its operator.")
      .def_ro("name", &AssignedNode::name, "The node's name.")
      .def_ro("domain", &AssignedNode::domain, "The operator's domain.")
      .def_ro("op_type", &AssignedNode::op_type, "The operator.");
  nb::class_<AssignedSubgraph>(m, "OrtEpAssignedSubgraph", "Nodes that one provider runs together.")
      .def_ro("ep_name", &AssignedSubgraph::provider, "The provider.")
      .def(
          "get_nodes", [](const AssignedSubgraph& s) { return s.nodes; }, "The nodes.");
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {0, nullptr}};
  Class c(m, "InferenceSession", nb::type_slots(slots), nb::is_weak_referenceable(),
          "A model that is loaded and can be run. Any number of threads may run it at the same time.");
  c.def(nb::init<const SessionOptions&, nb::object, bool, bool>(), nb::arg("sess_options"), nb::arg("path_or_bytes"),
        nb::arg("is_path"), nb::arg("read_config_from_model"))
      .def("initialize_session", &Session::initialize, nb::arg("providers"), nb::arg("provider_options"),
           nb::arg("disabled_optimizers"), "Loads the model.");
  bind_description(c);
  bind_runs(c);
  c.def("run_async", &run_async, nb::arg("output_names").none(), nb::arg("input_feed"), nb::arg("callback"),
        nb::arg("user_data").none(), nb::arg("run_options").none() = nb::none(),
        "Runs on another thread, which calls callback(results, user_data, error) when it is done.");
  m.def("end_async_runs", &end_async_runs, "Ends all runs of run_async() and waits for them; later ones are refused.");
  nb::module_::import_("atexit").attr("register")(m.attr("end_async_runs"));
}

}  // namespace retort::python
