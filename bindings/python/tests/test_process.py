"""Logging, threads of the process, and what the library tells about itself. Each case has a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

from retort import _native as C

HERE = str(Path(__file__).resolve().parent)
PRELUDE = f"""
import sys, warnings
sys.path.insert(0, {HERE!r})
import numpy as np
import retort
from models import add, endless, model
from onnx import helper
FEED = {{"x": np.ones(4, np.float32), "y": np.ones(4, np.float32)}}
def warn_once():
    # Setting an entry twice is a message of the engine's, as is an unused option.
    options = retort.SessionOptions()
    options.log_severity_level = 0
    retort.InferenceSession(add(), options)
"""


def run(code: str) -> tuple[str, str]:
    program = PRELUDE + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode() + done.stdout.decode()
    return done.stdout.decode(), done.stderr.decode()


def test_messages_go_to_stderr() -> None:
    out, err = run("retort.set_default_logger_severity(0); warn_once()")
    assert out == "" and len(err.splitlines()) >= 1 and ("[retort:" in err or ":onnxruntime:" in err)


def test_messages_can_be_silenced() -> None:
    out, err = run("""
        retort.set_default_logger_severity(4)
        retort.InferenceSession(add()).run(None, FEED)
    """)
    assert out == err == ""


def test_messages_go_to_a_function() -> None:
    out, err = run("""
        seen = []
        retort.set_default_logger_callback(lambda *message: seen.append(message), 0)
        warn_once()
        assert seen and all(len(message) == 5 and isinstance(message[0], int) for message in seen), seen
        assert all(isinstance(text, str) for message in seen for text in message[1:])
        count = len(seen)
        retort.set_default_logger_callback(None)
        warn_once()
        assert len(seen) == count
        try:
            retort.set_default_logger_callback(5)
            raise SystemExit("no error")
        except TypeError:
            pass
    """)
    assert out == "" and err != ""


def test_a_function_that_fails_does_not_stop_messages() -> None:
    _, err = run("""
        reported = []
        sys.unraisablehook = lambda args: reported.append(args.exc_value)
        def fail(*_):
            raise ValueError("mine")
        retort.set_default_logger_callback(fail, 0)
        warn_once()
        assert reported and str(reported[0]) == "mine"
    """)
    assert "[retort:" in err or ":onnxruntime:" in err


def test_severities_are_checked() -> None:
    run("""
        for call in (retort.set_default_logger_severity, lambda s: retort.set_default_logger_callback(None, s)):
            for severity in (-1, 5):
                try:
                    call(severity)
                    raise SystemExit("no error")
                except RuntimeError:
                    pass
        retort.set_default_logger_verbosity(1)
    """)


def test_sessions_share_the_threads_of_the_process() -> None:
    run("""
        retort.capi.onnxruntime_pybind11_state.set_global_thread_pool_sizes(2, 1)
        options = retort.SessionOptions()
        options.use_per_session_threads = False
        for _ in range(3):
            session = retort.InferenceSession(add(), options)
            assert session.run(None, FEED)[0].tolist() == [2] * 4
    """)


def test_thread_sizes_that_come_too_late_are_a_warning() -> None:
    run("""
        retort.InferenceSession(add())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            retort.capi.onnxruntime_pybind11_state.set_global_thread_pool_sizes(2, 1)
        assert len(caught) == 1 and "before" in str(caught[0].message)
    """)


def test_what_the_library_tells() -> None:
    assert C.get_version_string().startswith("1.") and C.get_build_info() and C.get_device() == "CPU"
    assert C.get_available_providers()[-1] == "CPUExecutionProvider"
    assert C.get_all_providers()[-1] == "CPUExecutionProvider" and len(C.get_all_providers()) == 19
    assert C.has_collective_ops() is False
    C.enable_telemetry_events()
    C.disable_telemetry_events()


def test_a_profile_is_written(tmp_path: Path) -> None:
    prefix = str(tmp_path / "profile_")
    run(f"""
        import json
        options = retort.SessionOptions()
        options.enable_profiling, options.profile_file_prefix = True, {prefix!r}
        session = retort.InferenceSession(add(), options)
        session.run(None, FEED)
        assert session.get_profiling_start_time_ns() > 0
        path = session.end_profiling()
        assert path.startswith({prefix!r}), path
        assert any(event.get("cat") == "Node" for event in json.load(open(path, encoding="utf-8")))
        assert retort.InferenceSession(add()).end_profiling() == ""
    """)


def test_options_that_the_model_has() -> None:
    run("""
        import onnx
        proto = onnx.load_from_string(add())
        helper.set_model_props(proto, {"ort_config": '{"session_options": {"intra_op_num_threads": 2}}'})
        data = proto.SerializeToString()
        session = retort.InferenceSession(data, read_config_from_model=1)
        assert session.get_session_options().intra_op_num_threads == 2
        assert retort.InferenceSession(data).get_session_options().intra_op_num_threads == 0
        assert session.run(None, FEED)[0].tolist() == [2] * 4
    """)


def test_a_second_interpreter_gets_one_sentence() -> None:
    """And the process lives on."""
    out, _ = run("""
        try:
            import _interpreters as interpreters  # 3.13
        except ImportError:
            import _xxsubinterpreters as interpreters
        second = interpreters.create()
        lines = ["import sys", f"sys.path[:] = {sys.path!r}", "try:", "    import retort", "except ImportError as error:"]
        attempt = chr(10).join([*lines, "    print(error, flush=True)"])
        (interpreters.exec if hasattr(interpreters, "exec") else interpreters.run_string)(second, attempt)
        interpreters.destroy(second)
        print(retort.InferenceSession(add()).run(None, FEED)[0].tolist())
    """)
    sentence, result = out.splitlines()
    assert "main interpreter only" in sentence or "subinterpreters" in sentence  # the latter is Python's own, from 3.12 on
    assert result == "[2.0, 2.0, 2.0, 2.0]"


def test_the_process_ends_while_other_threads_run() -> None:
    """Python stops threads that come back while it shuts down; they may be in the middle of the engine."""
    out, _ = run("""
        import threading
        session = retort.InferenceSession(endless())
        short = {"steps": np.array(5_000, np.int64), "start": np.zeros(256, np.float32)}
        done = threading.Semaphore(0)
        def work():
            while True:
                session.run(None, short)
                done.release()
        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        for _ in range(8):
            done.acquire()
        print("ends")
    """)
    assert out == "ends\n"


def test_the_package_can_be_imported_again() -> None:
    run("""
        first, before = retort, retort.InferenceSession(add())
        for name in [name for name in sys.modules if name.partition(".")[0] == "retort"]:
            del sys.modules[name]
        import retort
        assert retort is not first and retort.SessionOptions is first.SessionOptions
        again = retort.InferenceSession(add(), retort.SessionOptions())
        for session in (before, again):
            assert session.run(None, FEED)[0].tolist() == [2] * 4
        try:
            again.run(None, {"x": FEED["x"], "y": np.ones(4)})
        except first.errors.InvalidArgument as error:
            assert isinstance(error, retort.errors.InvalidArgument)
    """)
