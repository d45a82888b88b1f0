"""Small calls: each method of values, bindings and options, of both packages."""
import numpy as np

SHAPE = (2, 3, 4)
SETTINGS = {"graph_optimization_level": None, "intra_op_num_threads": 2, "log_severity_level": 3, "logid": "a", "enable_profiling": False, "execution_mode": None,
            "enable_cpu_mem_arena": True, "optimized_model_filepath": "", "use_deterministic_compute": True}


def of_values(package):
    """Methods of OrtValue."""
    array, other = np.ones(SHAPE, np.float32), np.zeros(SHAPE, np.float32)
    make = package.OrtValue
    value, source = make.ortvalue_from_numpy(array), make.ortvalue_from_numpy(other)
    empty = make.ortvalue_from_shape_and_type(SHAPE, np.float32)
    calls = {f"OrtValue.{name}()": getattr(value, name) for name in
             ("shape", "numpy", "data_ptr", "device_name", "data_type", "element_type", "has_value", "is_tensor", "is_sparse_tensor", "is_tensor_sequence", "tensor_size_in_bytes",
              "__dlpack__", "__dlpack_device__")}
    return calls | {
        "OrtValue.update_inplace(array)": lambda: empty.update_inplace(other),
        "OrtValue.update_inplace(OrtValue)": lambda: empty.update_inplace(source),
        "OrtValue.ortvalue_from_numpy()": lambda: make.ortvalue_from_numpy(array),
        "OrtValue.ortvalue_from_numpy_with_onnx_type()": lambda: make.ortvalue_from_numpy_with_onnx_type(array, 1),
        "OrtValue.ortvalue_from_shape_and_type()": lambda: make.ortvalue_from_shape_and_type(SHAPE, np.float32),
        "OrtValue.ortvalue_from_shape_and_type(number)": lambda: make.ortvalue_from_shape_and_type(SHAPE, 1),
        "OrtValue.from_dlpack()": lambda: make.from_dlpack(array),
        "OrtDevice.make()": lambda: package.OrtDevice.make("cpu", 0),
    }


def of_bindings(package, session):
    """Methods of IOBinding for the model of one Add of four floats."""
    x, y = np.ones(4, np.float32), np.ones(4, np.float32)
    value, result = (package.OrtValue.ortvalue_from_numpy(a) for a in (x, y))
    binding, ran, cleared = session.io_binding(), session.io_binding(), session.io_binding()
    ran.bind_ortvalue_input("x", value)
    ran.bind_output("y")
    session.run_with_iobinding(ran)
    feed = {"x": value}
    return {
        "IOBinding.bind_cpu_input()": lambda: binding.bind_cpu_input("x", x),
        "IOBinding.bind_input()": lambda: binding.bind_input("x", "cpu", 0, np.float32, (4,), x.ctypes.data),
        "IOBinding.bind_ortvalue_input()": lambda: binding.bind_ortvalue_input("x", value),
        "IOBinding.bind_output()": lambda: binding.bind_output("y"),
        "IOBinding.bind_output(address)": lambda: binding.bind_output("y", "cpu", 0, np.float32, (4,), y.ctypes.data),
        "IOBinding.bind_ortvalue_output()": lambda: binding.bind_ortvalue_output("y", result),
        "IOBinding.get_outputs()": ran.get_outputs,
        "IOBinding.get_outputs_as_ortvaluevector()": ran.get_outputs_as_ortvaluevector,
        "IOBinding.copy_outputs_to_cpu()": ran.copy_outputs_to_cpu,
        "IOBinding.synchronize_inputs()": ran.synchronize_inputs,
        "IOBinding.synchronize_outputs()": ran.synchronize_outputs,
        "IOBinding.clear_binding_inputs()": cleared.clear_binding_inputs,
        "IOBinding.clear_binding_outputs()": cleared.clear_binding_outputs,
        "InferenceSession.io_binding()": session.io_binding,
        "InferenceSession.run_with_ort_values()": lambda: session.run_with_ort_values(None, feed),
        "InferenceSession.get_inputs()": session.get_inputs,
        "InferenceSession.get_providers()": session.get_providers,
        "InferenceSession.get_modelmeta()": session.get_modelmeta,
        "NodeArg.name, .shape, .type": lambda a=session.get_inputs()[0]: (a.name, a.shape, a.type),
    }


def of_options(package):
    """Properties and methods of SessionOptions and RunOptions."""
    calls = {"SessionOptions()": package.SessionOptions, "RunOptions()": package.RunOptions}
    options, run = package.SessionOptions(), package.RunOptions()
    for name, value in SETTINGS.items():
        wanted = getattr(options, name) if value is None else value
        calls[f"SessionOptions.{name}"] = lambda name=name: getattr(options, name)
        calls[f"SessionOptions.{name} ="] = lambda name=name, wanted=wanted: setattr(options, name, wanted)
    options.add_session_config_entry("session.intra_op.allow_spinning", "1")
    run.add_run_config_entry("disable_synchronize_execution_providers", "1")
    return calls | {
        "SessionOptions.add_session_config_entry()": lambda: options.add_session_config_entry("session.intra_op.allow_spinning", "1"),
        "SessionOptions.get_session_config_entry()": lambda: options.get_session_config_entry("session.intra_op.allow_spinning"),
        "RunOptions.log_severity_level": lambda: run.log_severity_level,
        "RunOptions.terminate =": lambda: setattr(run, "terminate", False),
        "RunOptions.add_run_config_entry()": lambda: run.add_run_config_entry("disable_synchronize_execution_providers", "1"),
        "RunOptions.get_run_config_entry()": lambda: run.get_run_config_entry("disable_synchronize_execution_providers"),
    }


def all_of(package, session):
    """{name: call without arguments} of one package."""
    return of_values(package) | of_bindings(package, session) | of_options(package)
