"""The GIL, threads, fork and asynchronous runs. Each case has a process of its own."""

from __future__ import annotations

import time

import pytest
from process_tools import run


def test_the_lock_is_released_by_runs_and_loading() -> None:
    run("""
        session = retort.InferenceSession(endless())
        options = retort.RunOptions()
        ticks = 0
        def count():
            global ticks
            for _ in range(20):
                time.sleep(0.01)
                ticks += 1
            options.terminate = True
        threading.Thread(target=count).start()
        try:
            session.run(None, LONG, options)
        except retort.capi.onnxruntime_pybind11_state.Fail:
            pass
        assert ticks == 20, ticks
        # Loading calls this function, which waits for a thread that needs the lock.
        def choose(devices, *_):
            done = []
            thread = threading.Thread(target=lambda: done.append(1))
            thread.start()
            thread.join(10)
            assert done
            return devices[:1]
        options = retort.SessionOptions()
        options.set_provider_selection_policy_delegate(choose)
        retort.InferenceSession(add(), options)
    """)


def test_eight_threads_run_one_session() -> None:
    run("""
        session = retort.InferenceSession(add())
        wrong = []
        def work(number):
            x = np.full(1000 + number, number, np.float32)
            for _ in range(500):
                if not np.array_equal(session.run(["z"], {"x": x, "y": x})[0], x + x):
                    wrong.append(number)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not wrong, wrong
    """)


def test_a_forked_child_uses_the_session() -> None:
    run("""
        options = retort.SessionOptions()
        options.intra_op_num_threads = 1
        session = retort.InferenceSession(endless(), options)
        assert session.run(None, SHORT)[0][0] == 2
        child = os.fork()
        if child == 0:
            assert session.run(None, SHORT)[0][0] == 2
            assert retort.InferenceSession(add(), options).run(None, FEED)[0].tolist() == [2] * 4
            press(0.3)
            try:
                session.run(None, LONG)
                os._exit(3)
            except KeyboardInterrupt:
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert session.run(None, SHORT)[0][0] == 2
    """)


@pytest.mark.retort_only("official ONNX Runtime ends runs between nodes, and has no threads in a child")
def test_a_forked_child_uses_a_session_with_threads() -> None:
    run("""
        options = retort.SessionOptions()
        options.intra_op_num_threads = 3
        session = retort.InferenceSession(product(256), options)
        a = np.ones((256, 256), np.float32)
        assert session.run(None, {"a": a, "b": a})[0][0, 0] == 256
        children = []
        for _ in range(3):
            child = os.fork()
            if child == 0:
                ok = all(session.run(None, {"a": a, "b": a})[0][0, 0] == 256 for _ in range(5))
                done = threading.Event()
                session.run_async(None, {"a": a, "b": a}, lambda *_: done.set(), None)
                os._exit(0 if ok and done.wait(20) else 1)
            children.append(child)
        for child in children:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert session.run(None, {"a": a, "b": a})[0][0, 0] == 256
    """)


def test_async_runs_with_one_thread_and_with_two() -> None:
    run("""
        for threads in (1, 2):
            options = retort.SessionOptions()
            options.intra_op_num_threads = threads
            session = retort.InferenceSession(add(), options)
            results, done = [], threading.Event()
            def report(values, data, error):
                results.append((values, data, error))
                done.set()
            session.run_async(["z"], FEED, report, "data")
            assert done.wait(20)
            values, data, error = results[0]
            assert values[0].tolist() == [2] * 4 and data == "data" and error == ""
            done.clear()
            session.run_async(None, {**FEED, "y": np.ones(3, np.float32)}, report, None)
            assert done.wait(20)
            values, data, error = results[1]
            assert values == [] and error, results
    """)


def test_the_interpreter_ends_async_runs_when_it_exits() -> None:
    start = time.perf_counter()
    out = run("""
        session = retort.InferenceSession(endless())
        session.run_async(None, LONG, lambda values, data, error: print("ended", bool(error)), None)
        del session
    """)
    assert out == "ended True\n" and time.perf_counter() - start < 60


def test_a_callback_that_fails_is_reported() -> None:
    run("""
        seen, done = [], threading.Event()
        sys.unraisablehook = lambda args: (seen.append(args.exc_value), done.set())
        def fail(*_):
            raise ValueError("mine")
        session = retort.InferenceSession(add())
        session.run_async(None, FEED, fail, None)
        assert done.wait(20) and str(seen[0]) == "mine"
    """)
