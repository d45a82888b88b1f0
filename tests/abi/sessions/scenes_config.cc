// How sessions and runs react to values of configuration keys.
#include "folder.h"
#include "model_maker.h"

using namespace scenes;

namespace {

using Values = std::vector<const char*>;

/// Makes a session with each value of a key, one after the other, and runs those that can be made.
void sessions_with(Scene& s, const char* key, const Values& values) {
  for (const char* value : values) {
    OrtSessionOptions* o = s.options();
    CALL(AddSessionConfigEntry, o, key, value);
    OrtSession* session = nullptr;
    s.note("value", value);
    CALL(CreateSession, s.env(), model_path("dense").c_str(), o, &session);
    s.note("session", session);
    s.api.ReleaseSession(session);
    s.api.ReleaseSessionOptions(o);
  }
}

void runs_with(Scene& s, const char* key, const Values& values) {
  OrtSession* session = open(s, "dense");
  OrtAllocator* a = s.allocator();
  char *in = nullptr, *out = nullptr;
  CALL(SessionGetInputName, session, 0, a, &in);
  CALL(SessionGetOutputName, session, 0, a, &out);
  float data[3] = {1, 2, 3};
  OrtValue* x = floats(s, data, {1, 3});
  for (const char* value : values) {
    OrtRunOptions* o = nullptr;
    CALL(CreateRunOptions, &o);
    CALL(AddRunConfigEntry, o, key, value);
    s.note("value", value);
    OrtValue* y = nullptr;
    CALL(Run, session, o, &in, &x, 1, &out, 1, &y);
    s.note("y", y);
    s.api.ReleaseRunOptions(o);
  }
}

}  // namespace

SCENE(config, switches_take_any_text) {
  for (const char* key :
       {"session.disable_prepacking", "session.intra_op.allow_spinning", "session.inter_op.allow_spinning",
        "session.force_spinning_stop", "session.set_denormal_as_zero", "session.disable_qdq_constant_folding",
        "session.use_external_initializer_file_buffers_directly", "session.use_ort_model_bytes_directly",
        "session.use_env_allocators", "session.disable_quant_qdq", "session.prepack.enable_parallel"}) {
    sessions_with(s, key, {"0", "1", "", "2", "true", "maybe"});
  }
}

SCENE(config, unknown_keys) {
  for (const char* key : {"session.dissable_prepacking", "sesion.strict", "my_app.tag", "verbose", "ep.mine.level"}) {
    sessions_with(s, key, {"1", ""});
    runs_with(s, key, {"1"});
  }
}

SCENE(config, keys_of_other_places) {
  sessions_with(s, "gpu_graph_id", {"abc"});
  runs_with(s, "session.gqa_value_layout", {"abc"});
}

SCENE(config, choices) {
  sessions_with(s, "session.gqa_value_layout", {"BNSH", "BNHS", "bnsh", "", "abc", "BNSH "});
  sessions_with(s, "optimization.minimal_build_optimizations", {"", "save", "apply", "Save", "1"});
}

SCENE(config, numbers) {
  const Values values{"0", "1", "12", "-1", "abc", ""};
  for (const char* key : {"session.function_expansion_byte_limit", "session.function_expansion_node_limit",
                          "ep.cuda.gqa_workspace_max_total_sequence_length", "session.graph_optimizations_loop_level",
                          "session.dynamic_block_base", "session.qdq_matmulnbits_block_size"}) {
    sessions_with(s, key, values);
  }
  sessions_with(s, "session.qdq_matmulnbits_accuracy_level", {"0", "4", "abc", "-1"});
  for (const char* key :
       {"session.intra_op.spin_duration_us", "session.inter_op.spin_duration_us", "session.intra_op.spin_backoff_max",
        "session.inter_op.spin_backoff_max", "optimization.constant_folding_max_output_size_in_bytes"}) {
    sessions_with(s, key, values);
  }
}

SCENE(config, numbers_of_kernel_libraries) {
  sessions_with(s, "mlas.kleidiai.conv_igemm_max_work", {"0", "12"});
  sessions_with(s, "mlas.nchwc_pointwise_conv_max_input_channel_batch", {"0", "12"});
}

SCENE(config, numbers_of_kernel_libraries_that_are_none) {
  sessions_with(s, "mlas.kleidiai.conv_igemm_max_work", {"abc"});
}

SCENE(config, forms) {
  sessions_with(s, "session.max_shape_override", {"", "x:[1,2]", "x", "x:[1,2"});
  sessions_with(s, "session.resource_cuda_partitioning_settings", {"", "abc"});
  sessions_with(s, "session.layer_assignment_settings", {"", "abc"});
  sessions_with(s, "session.name_based_layer_assignment", {"", "abc"});
}

SCENE(config, experts_are_counted) {
  for (const char* key : {"session.enable_moe_expert_counting", "session.enable_moe_expert_statistics"}) {
    sessions_with(s, key, {"0", "1", "2", "abc", ""});
  }
}

SCENE(config, declared_shapes_that_are_not_made) {
  for (const char* strict : {"0", "1"}) {
    for (const int64_t rows : {2, 3}) {
      OrtSessionOptions* o = s.options();
      CALL(AddSessionConfigEntry, o, "session.strict_shape_type_inference", strict);
      s.note("session", Maker()
                            .floats_in("x", {2, 4})
                            .node("Relu", {"x"}, {"r"})
                            .node("Neg", {"r"}, {"y"})
                            .floats_out("y", {rows, "n"})
                            .open(s, o));
    }
  }
}

SCENE(config, of_runs) {
  runs_with(s, "gpu_graph_id", {"", "0", "-1", "7", "abc", "cpu:0"});
  runs_with(s, "memory.enable_memory_arena_shrinkage", {"", "cpu:0", "gpu:0", "cpu:1", "abc"});
  runs_with(s, "disable_synchronize_execution_providers", {"0", "1", "", "abc"});
  runs_with(s, "qnn.htp_perf_mode", {"burst", "abc"});
}

SCENE(config, entries_that_are_options) {
  const Values numbers = {"3", "-1", "03", " 3", "+3", "", "banana", "3x", "0x10", "99999999999", "-2147483649"};
  const Values flags = {"0", "1", "true", "False", "TRUE", "", "2", "yes", " 1"};
  const Values modes = {"sequential", "PARALLEL", "ort_sequential", "ort_parallel", "0", ""};
  const Values levels = {"disable_all", "ENABLE_BASIC", "enable_extended", "enable_layout", "enable_all", "99", ""};
  const std::pair<const char*, const Values*> all[] = {
      {"session.intra_op_num_threads", &numbers},  {"session.inter_op_num_threads", &numbers},
      {"session.log_severity_level", &numbers},    {"session.log_verbosity_level", &numbers},
      {"session.use_per_session_threads", &flags}, {"session.use_deterministic_compute", &flags},
      {"session.enable_cpu_mem_arena", &flags},    {"session.enable_mem_pattern", &flags},
      {"session.execution_mode", &modes},          {"session.graph_optimization_level", &levels}};
  s.env();
  for (const auto& [key, values] : all) {
    OrtSessionOptions* o = s.options();
    for (const char* value : *values) {
      s.note(key, value);
      CALL(AddSessionConfigEntry, o, key, value);
      int has = -1, pattern = -1;
      ExecutionMode mode = ORT_SEQUENTIAL;
      CALL(HasSessionConfigEntry, o, key, &has);
      CALL(GetMemPatternEnabled, o, &pattern);
      CALL(GetSessionExecutionMode, o, &mode);
      s.note("state", has * 100 + pattern * 10 + int(mode));
    }
  }
}

SCENE(config, entries_that_are_options_change_sessions) {
  // The environment has no threads of its own to share.
  OrtSessionOptions* o = s.options();
  OrtSession* session = nullptr;
  for (const char* own : {"0", "1"}) {
    CALL(AddSessionConfigEntry, o, "session.use_per_session_threads", own);
    CALL(CreateSession, s.env(), model_path("dense").c_str(), o, &session);
    s.note("session", session);
    s.api.ReleaseSession(session);
    session = nullptr;
  }
  o = s.options();
  const Folder folder;
  const std::string saved = folder / "saved.onnx";
  CALL(AddSessionConfigEntry, o, "session.optimized_model_filepath", saved.c_str());
  CALL(AddSessionConfigEntry, o, "session.log_id", "entry");
  CALL(CreateSession, s.env(), model_path("dense").c_str(), o, &session);
  s.note("saved", folder.has("saved.onnx"));
  s.api.ReleaseSession(session);
}

SCENE(config, dynamic_options) {
  OrtSession* session = open(s, "dense");
  const char* keys[] = {"ep.dynamic.workload_type", "ep.dynamic.workload_typ", "nonsense", "", nullptr};
  const char* values[] = {"abc", "Efficient", "1", "1", "1"};
  for (size_t i = 0; i < 4; ++i) CALL(SetEpDynamicOptions, session, keys + i, values, 1);
  CALL(SetEpDynamicOptions, session, keys, values, 4);
}

SCENE(config, keys_of_loaders_and_experts) {
  const Values numbers{"",
                       "0",
                       "1",
                       "-1",
                       "64",
                       "65",
                       "4096",
                       "4097",
                       "1048576",
                       "67108864",
                       "2147483648",
                       "4294967297",
                       "18446744073709551616",
                       "0x1",
                       "1.5",
                       "0.5",
                       "auto",
                       "AUTO",
                       "abc"};
  for (const char* key : {"threads", "pinned_memory_bytes", "chunk_bytes", "min_size_bytes"})
    sessions_with(s, (std::string("session.external_data_loader.") + key).c_str(), numbers);
  for (const char* key :
       {"cpu_threads", "device_expert_bytes", "gpu_budget_bytes", "host_expert_bytes", "device_working_bytes",
        "host_working_bytes", "pinned_bytes", "reserve_device_bytes", "gpu_device_mem_limit", "budget_group",
        "async_max_tokens", "prefill_wave_experts", "popularity_file", "source_root", "derived_cache_dir",
        "min_expert_weight", "tail_substitution_threshold", "tail_substitution_min_rank", "unheard_of"}) {
    // 0x1 is a number between 0 and 1 there, a text here.
    Values given = numbers;
    if (std::string_view(key) == "min_expert_weight") std::erase(given, std::string_view("0x1"));
    sessions_with(s, (std::string("session.moe.offload.") + key).c_str(), given);
  }
  sessions_with(s, "ep.cuda.moe_packed_gpu_experts", numbers);
  sessions_with(s, "ep.cuda.gqa_workspace_max_total_sequence_length", numbers);
  sessions_with(s, "ep.cuda.runtime_fusion.unit_swish", numbers);
  sessions_with(s, "moe.cpu_offload.mode", {"auto", ""});
}

SCENE(config, choices_of_experts) {
  const Values words{"",         "0",       "1",      "2",    "auto",   "Auto",     "disabled", "enabled",
                     "required", "latency", "memory", "safe", "static", "ADAPTIVE", "true",     "False"};
  for (const char* key :
       {"mode", "placement", "cpu_execution", "allow_file_backing", "skip_zero_cold_doorbell", "skip_tail_cold_only"}) {
    sessions_with(s, (std::string("session.moe.offload.") + key).c_str(), words);
  }
  sessions_with(s, "session.kernel_dispatch_policy", words);
  sessions_with(s, "session.moe.offload.node_overrides",
                {"", "a", "a:", "a:x=1", "a:max_resident_slots=4", "a:max_resident_slots=4,device_expert_bytes=100",
                 "a:device_expert_bytes=100;b:max_resident_slots=1"});
}
