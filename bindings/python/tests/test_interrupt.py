"""Ctrl-C during runs and loading. Each case has a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest
from process_tools import PRELUDE, run


def test_ctrl_c_ends_a_run_and_the_session_stays_usable() -> None:
    out = run("""
        session = retort.InferenceSession(endless())
        for attempt in range(3):
            press(0.3)
            try:
                session.run(None, LONG)
                print("not interrupted")
            except KeyboardInterrupt:
                print(f"{(time.perf_counter() - pressed) * 1000:.1f}")
            assert session.run(None, SHORT)[0][0] == 2
    """)
    times = [float(line) for line in out.split()]
    assert len(times) == 3 and max(times) < 500, out  # the figure for a quiet machine is measured by the benchmark


@pytest.mark.retort_only("official ONNX Runtime ends runs between nodes, and has no threads in a child")
def test_ctrl_c_ends_one_long_node() -> None:
    """Official ONNX Runtime ends runs between nodes only."""
    out = run("""
        n = 4096
        options = retort.SessionOptions()
        options.intra_op_num_threads = 1
        session = retort.InferenceSession(product(n), options)
        a = np.ones((n, n), np.float32)
        press(0.3)
        start = time.perf_counter()
        try:
            session.run(None, {"a": a, "b": a})
            print("whole", time.perf_counter() - start)
        except KeyboardInterrupt:
            print(f"{(time.perf_counter() - pressed) * 1000:.1f}")
    """)
    assert float(out) < 500, out


def test_ctrl_c_with_options_and_bindings_of_the_program() -> None:
    run("""
        session, options = retort.InferenceSession(endless()), retort.RunOptions()
        press(0.3)
        try:
            session.run(None, LONG, options)
            raise SystemExit("not interrupted")
        except KeyboardInterrupt:
            pass
        assert options.terminate is False
        assert session.run(None, SHORT, options)[0][0] == 2
        binding = session.io_binding()
        for name, value in LONG.items():
            binding.bind_cpu_input(name, value)
        binding.bind_output("end")
        press(0.3)
        try:
            session.run_with_iobinding(binding)
            raise SystemExit("not interrupted")
        except KeyboardInterrupt:
            pass
        for name, value in SHORT.items():
            binding.bind_cpu_input(name, value)
        session.run_with_iobinding(binding)
        assert binding.copy_outputs_to_cpu()[0][0] == 2
    """)


def test_ctrl_c_ends_loading_and_the_options_stay_usable() -> None:
    """A function that loading calls hides the exception. The engine still ends this attempt, and the next one succeeds."""
    run("""
        attempts = []
        def choose(devices, *_):
            attempts.append(1)
            if len(attempts) == 1:
                try:
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(10)
                    raise SystemExit("not interrupted")
                except KeyboardInterrupt:
                    pass
            return devices[:1]
        options = retort.SessionOptions()
        options.set_provider_selection_policy_delegate(choose)
        session = retort.InferenceSession(add(), options)
        assert len(attempts) == 2, attempts
        assert session.run(None, FEED)[0].tolist() == [2] * 4
    """)


@pytest.mark.parametrize("what", ["KeyboardInterrupt", "SystemExit"])
def test_an_interrupt_in_a_function_that_loading_calls(what: str) -> None:
    run(f"""
        def choose(devices, *_):
            raise {what}
        options = retort.SessionOptions()
        options.set_provider_selection_policy_delegate(choose)
        try:
            retort.InferenceSession(add(), options)
            raise ValueError("not interrupted")
        except KeyboardInterrupt:
            pass
    """)


def test_ctrl_c_in_a_function_that_loading_calls() -> None:
    run("""
        def choose(devices, *_):
            press(0.1)
            time.sleep(10)
            return devices[:1]
        options = retort.SessionOptions()
        options.set_provider_selection_policy_delegate(choose)
        try:
            retort.InferenceSession(add(), options)
            raise SystemExit("not interrupted")
        except KeyboardInterrupt:
            pass
    """, timeout=60)


def test_a_handler_of_the_program_is_left_alone() -> None:
    """It runs after the run, which is not ended, as it may not raise."""
    run("""
        caught = []
        signal.signal(signal.SIGINT, lambda *_: caught.append(1))
        session = retort.InferenceSession(endless())
        press(0.05)
        steps = {"steps": np.array(3000000), "start": np.zeros(256, np.float32)}
        session.run(None, steps)
        time.sleep(0.2)
        assert caught == [1]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        time.sleep(0.05)
        press(0.3)
        try:
            session.run(None, LONG)
            raise SystemExit("not interrupted")
        except KeyboardInterrupt:
            pass
    """)


def test_ctrl_c_outside_runs_and_in_other_threads() -> None:
    run("""
        session = retort.InferenceSession(endless())
        session.run(None, SHORT)
        press(0.1)
        try:
            time.sleep(5)
            raise SystemExit("not interrupted")
        except KeyboardInterrupt:
            pass
        results = []
        steps = {"steps": np.array(300000), "start": np.zeros(256, np.float32)}
        thread = threading.Thread(target=lambda: results.append(session.run(None, steps)[0][0]))
        thread.start()
        press(0.02)
        try:
            time.sleep(5)
            raise SystemExit("not interrupted")
        except KeyboardInterrupt:
            pass
        thread.join()
        assert results == [300000], results  # Ctrl-C is for the main thread
    """)


@pytest.mark.retort_only("official ONNX Runtime looks at the flag between the steps of loading")
def test_loading_ends_at_any_point_when_it_is_cancelled() -> None:
    """Reading, folding, and packing of each kind. The figure for a quiet machine is less than 50 ms."""
    out = run("""
        from onnx import numpy_helper
        number = np.resize(np.arange(1009, dtype=np.float32) / 1000 - 0.5, 16 << 20)
        def weight(name, *shape, kind=np.float32):
            return numpy_helper.from_array(np.resize(number, shape).astype(kind), name)
        node, free = helper.make_node, {"y": None}
        lstm = [weight("w", 1, 4096, 512), weight("r", 1, 4096, 1024)]
        square, filters = [weight("w", 4096, 4096)], [weight("w", 1024, 1024, 3, 3)]
        codes, sums = [weight("w", 4096, 4096, kind=np.int8)], {"y": (6, ["n", 4096])}
        rows, product = {"x": ["n", 4096]}, [node("MatMul", ["x", "t"], ["y"])]
        models = {
            "MatMul": model([node("MatMul", ["x", "w"], ["y"])], rows, free, weights=square),
            "Conv": model([node("Conv", ["x", "w"], ["y"])], {"x": [1, 1024, 9, 9]}, free, weights=filters),
            "fold": model([node("Exp", ["w"], ["e"]), node("Transpose", ["e"], ["t"]), *product], rows, free, weights=square),
            "LSTM": model([node("LSTM", ["x", "w", "r"], ["y"], hidden_size=1024)], {"x": ["n", 1, 512]}, free, weights=lstm),
            "codes": model([node("MatMulInteger", ["x", "w"], ["y"])], {"x": (3, ["n", 4096])}, sums, weights=codes),
        }
        def load(data, options):
            try:
                retort.InferenceSession(data, options)
            except retort.errors.ModelLoadCanceled:
                ended.append(1)
            return time.perf_counter()
        for name, data in models.items():
            begun = time.perf_counter()
            load(data, retort.SessionOptions())
            seconds, ended, worst = time.perf_counter() - begun, [], 0
            for part in range(4):
                options, back = retort.SessionOptions(), []
                thread = threading.Thread(target=lambda: back.append(load(data, options)))
                thread.start()
                time.sleep(seconds * part / 4)
                options.set_load_cancellation_flag(True)
                cancelled = time.perf_counter()
                thread.join()
                worst = max(worst, back[0] - cancelled)
            assert ended, name
            print(name, f"{worst * 1000:.1f}")
    """)
    times = {name: float(value) for name, value in (line.split() for line in out.splitlines())}
    assert len(times) == 5 and max(times.values()) < 500, times


@pytest.mark.parametrize("number", [signal.SIGINT])
def test_ctrl_c_from_a_terminal(number: int) -> None:
    """A process that is killed by a real Ctrl-C ends as one without the package does."""
    code = PRELUDE + "session = retort.InferenceSession(endless()); print('ready', flush=True); session.run(None, LONG)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.5)
        process.send_signal(number)
        process.wait(30)
        assert process.returncode == -number and b"KeyboardInterrupt" in process.stderr.read()
