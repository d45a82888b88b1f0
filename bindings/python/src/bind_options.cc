// What Python sees of SessionOptions, and the enumerations of its properties.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "enums.h"
#include "options.h"
#include "rooms.h"

namespace nb = nanobind;

namespace retort::python {

void bind_run_options(nb::module_& m);
void bind_ep_context(nb::module_& m);

namespace {

using S = SessionOptions;
using Class = nb::class_<S>;

void bind_enums(nb::module_& m) {
  nb::enum_<GraphOptimizationLevel> level(m, "GraphOptimizationLevel", nb::is_arithmetic());
  level.value("ORT_DISABLE_ALL", ORT_DISABLE_ALL)
      .value("ORT_ENABLE_BASIC", ORT_ENABLE_BASIC)
      .value("ORT_ENABLE_EXTENDED", ORT_ENABLE_EXTENDED)
      .value("ORT_ENABLE_LAYOUT", ORT_ENABLE_LAYOUT)
      .value("ORT_ENABLE_ALL", ORT_ENABLE_ALL);
  finish_enum(level);
  nb::enum_<ExecutionMode> mode(m, "ExecutionMode", nb::is_arithmetic());
  mode.value("ORT_SEQUENTIAL", ORT_SEQUENTIAL).value("ORT_PARALLEL", ORT_PARALLEL);
  finish_enum(mode);
  nb::enum_<ExecutionOrder> order(m, "ExecutionOrder", nb::is_arithmetic());
  order.value("DEFAULT", ExecutionOrder::kDefault)
      .value("PRIORITY_BASED", ExecutionOrder::kPriorityBased)
      .value("MEMORY_EFFICIENT", ExecutionOrder::kMemoryEfficient);
  finish_enum(order);
  nb::enum_<OrtExecutionProviderDevicePolicy> policy(m, "OrtExecutionProviderDevicePolicy", nb::is_arithmetic());
  policy.value("DEFAULT", OrtExecutionProviderDevicePolicy_DEFAULT)
      .value("PREFER_CPU", OrtExecutionProviderDevicePolicy_PREFER_CPU)
      .value("PREFER_NPU", OrtExecutionProviderDevicePolicy_PREFER_NPU)
      .value("PREFER_GPU", OrtExecutionProviderDevicePolicy_PREFER_GPU)
      .value("MAX_PERFORMANCE", OrtExecutionProviderDevicePolicy_MAX_PERFORMANCE)
      .value("MAX_EFFICIENCY", OrtExecutionProviderDevicePolicy_MAX_EFFICIENCY)
      .value("MIN_OVERALL_POWER", OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER);
  finish_enum(policy);
}

// A property that is a member of SessionSettings.
template <class T>
void bind_setting(Class& c, const char* name, T SessionSettings::*member, const char* doc) {
  c.def_prop_rw(
      name, [member](const S& s) { return s.settings.*member; },
      [member](S& s, T value) { s.settings.*member = std::move(value); }, nb::lock_self(), doc);
}

// bool(value), as the official package converts: numbers and None, not texts.
void bind_flag(Class& c, const char* name, bool SessionSettings::*member, const char* doc) {
  c.def_prop_rw(
      name, [member](const S& s) { return s.settings.*member; },
      [member, name](S& s, nb::handle value) {
        const bool number = PyBool_Check(value.ptr()) || value.is_none() || PyIndex_Check(value.ptr());
        const int truth = number ? PyObject_IsTrue(value.ptr()) : -1;
        if (truth < 0) {
          PyErr_Clear();
          throw nb::type_error((std::string("SessionOptions.") + name + " takes True or False").c_str());
        }
        s.settings.*member = truth != 0;
      },
      nb::for_setter(nb::arg("value").none()), nb::lock_self(), doc);
}

void bind_settings(Class& c) {
  using V = SessionSettings;
  bind_flag(c, "enable_cpu_mem_arena", &V::cpu_arena,
            "Whether the memory of large results is kept for later results after they are released. Default True.");
  bind_flag(c, "enable_mem_pattern", &V::memory_pattern,
            "For the library of official ONNX Runtime: whether memory is planned ahead from shapes that are known. "
            "Default True. Retort plans the memory of each run from its shapes, and keeps the plan of the last shapes "
            "alone, so there is nothing to switch off: False has no effect, and is logged as information.");
  bind_flag(c, "enable_mem_reuse", &V::memory_reuse,
            "Whether tensors take the memory of tensors that are no longer needed. Default True. False is for looking "
            "at memory: it has no effect on the library of official ONNX Runtime, since the C interface has no "
            "function for it.");
  bind_flag(c, "enable_profiling", &V::profiling, "Whether runs are recorded in a profile. Default False.");
  bind_flag(c, "use_deterministic_compute", &V::deterministic,
            "Whether results have the same bits in each run. Default False.");
  bind_flag(c, "use_per_session_threads", &V::own_threads,
            "Whether the session has threads of its own, rather than those of set_global_thread_pool_sizes(). "
            "Default True.");
  bind_setting(c, "execution_mode", &V::mode, "Whether nodes may run beside each other. Default ORT_SEQUENTIAL.");
  bind_setting(
      c, "execution_order", &V::order,
      "In which order nodes run that may run in several. DEFAULT: that of the model. PRIORITY_BASED: Shape and "
      "Size first, as soon as their inputs exist. MEMORY_EFFICIENT: always the node after which the least "
      "memory is in use. It has no effect on the library of official ONNX Runtime, since the C interface has "
      "no function for it.");
  bind_setting(c, "graph_optimization_level", &V::level, "How much the graph is optimized. Default ORT_ENABLE_ALL.");
  bind_setting(c, "inter_op_num_threads", &V::inter_threads,
               "Threads that run nodes beside each other. 0 (default): the engine decides.");
  bind_setting(c, "intra_op_num_threads", &V::intra_threads,
               "Threads that share the work of one node. 0 (default): the engine decides by the processors that the "
               "process may use.");
  bind_setting(c, "log_severity_level", &V::log_severity,
               "Least severity that is logged: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal; -1 (default): as set by "
               "set_default_logger_severity().");
  bind_setting(c, "log_verbosity_level", &V::log_verbosity, "Detail of verbose messages in debug builds. Default 0.");
  bind_setting(c, "logid", &V::log_id, "Name of the session in log messages.");
  bind_setting(c, "optimized_model_filepath", &V::optimized_path,
               "Where to write the optimized model, in the format of the entry session.save_model_format, or ORT if "
               "the name ends in .ort. Empty (default): it is not written.");
  bind_setting(c, "profile_file_prefix", &V::profile_prefix, "How the name of the profile begins; the time follows.");
}

std::string get_entry(const S& s, const std::string& key) {
  const std::string* value = s.config_entry(key);
  if (!value) {
    throw std::runtime_error("SessionOptions does not have configuration with key: " + key);  // official text
  }
  return *value;
}

void bind_configuration(Class& c) {
  c.def("add_session_config_entry", &S::add_config_entry, nb::arg("key"), nb::arg("value"), nb::lock_self(),
        "Sets one entry of the configuration; replaces an older value.")
      .def("get_session_config_entry", &get_entry, nb::arg("key"), nb::lock_self(),
           "The value of an entry. RuntimeError if it is not set.")
      .def(
          "add_free_dimension_override_by_name",
          [](S& s, const std::string& name, int64_t extent) { s.add_free_dimension(name, extent, false); },
          nb::arg("name"), nb::arg("extent"), nb::lock_self(), "Fixes a named extent of the inputs' shapes.")
      .def(
          "add_free_dimension_override_by_denotation",
          [](S& s, const std::string& name, int64_t extent) { s.add_free_dimension(name, extent, true); },
          nb::arg("denotation"), nb::arg("extent"), nb::lock_self(), "Fixes the extents with a denotation.")
      .def("register_custom_ops_library", &S::register_custom_ops, nb::arg("path"), nb::lock_self(),
           "Adds the custom operators of a shared library.")
      .def("set_load_cancellation_flag", &S::set_cancelled, nb::arg("cancel"),
           "True ends the creation of sessions with these options, on whichever thread it runs; it raises "
           "ModelLoadCanceled. Later sessions fail until it is False again.");
}

void bind_initializers(Class& c) {
  c.def("add_initializer", &S::add_initializer, nb::arg("name"), nb::arg("value"), nb::lock_self(),
        "Replaces an initializer of the model by an OrtValue, whose memory sessions share.")
      .def("add_external_initializers", &S::add_external_initializers, nb::arg("names"), nb::arg("values"),
           nb::lock_self(), "Gives initializers whose data the model keeps in other files, as OrtValues.")
      .def("add_external_initializers_from_files_in_memory", &S::add_external_files, nb::arg("names"),
           nb::arg("buffers"), nb::arg("lengths"), nb::lock_self(),
           "Gives the contents of files that the model keeps data in: their names in the model, bytes-like objects, "
           "and how many bytes of each to use.");
}

void bind_providers(Class& c) {
  c.def("add_provider", &S::add_provider, nb::arg("name"), nb::arg("options"), nb::lock_self(),
        "Adds an execution provider with its options. Earlier ones come first.")
      .def("add_provider_for_devices", &S::add_devices, nb::arg("ep_devices"), nb::arg("options"), nb::lock_self(),
           "Adds the execution provider of these devices, which all have the same one.")
      .def("has_providers", &S::has_providers, nb::lock_self(),
           "Whether providers, devices, a policy or a delegate are set.")
      .def("set_provider_selection_policy", &S::set_policy, nb::arg("policy"), nb::lock_self(),
           "Lets the engine choose devices. Used only if no provider is added.")
      .def("set_provider_selection_policy_delegate", &S::set_delegate, nb::arg("delegate").none(), nb::lock_self(),
           "Lets a function choose devices: delegate(ep_devices, model_metadata, runtime_metadata, max_selections) "
           "returns a list of the chosen ones. Used only if no provider is added.")
      .def("set_ep_context_data_read_func", &S::set_read_function, nb::arg("read_func"), nb::arg("max_data_size"),
           nb::lock_self(),
           "Lets read_func(name, buffer) give data of EPContext nodes that are outside the model: it calls "
           "buffer.allocate(size), then buffer.write(data, offset). It may run on any thread.")
      .def("clear_ep_context_data_read_func", &S::clear_read_function, nb::lock_self(),
           "Removes the function of set_ep_context_data_read_func().");
}

int traverse(PyObject* self, visitproc visit, void* arg) {
#if PY_VERSION_HEX >= 0x03090000
  Py_VISIT(reinterpret_cast<PyObject*>(Py_TYPE(self)));
#endif
  return nb::inst_ready(self) ? nb::inst_ptr<S>(self)->traverse(visit, arg) : 0;
}

int clear(PyObject* self) {
  nb::inst_ptr<S>(self)->clear();
  return 0;
}

}  // namespace

void bind_options(nb::module_& m) {
  bind_ep_context(m);
  bind_enums(m);
  bind_run_options(m);
  static PyType_Slot slots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};
  Class c(m, "SessionOptions", nb::type_slots(slots), nb::is_weak_referenceable(),
          "Options of a session. A session takes a copy when it is created.");
  c.def(nb::init<>());
  bind_settings(c);
  bind_configuration(c);
  bind_initializers(c);
  bind_providers(c);
  c.def("__getstate__", &S::state, nb::lock_self()).def("__setstate__", [](S& self, nb::dict state) {
    new (&self) S();
    self.set_state(state);
  });
  m.def(
      "get_default_session_options", [] { return new S(); }, nb::rv_policy::take_ownership,
      "New options, all at their defaults.");
}

}  // namespace retort::python
