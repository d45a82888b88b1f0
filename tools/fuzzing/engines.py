"""Runs cases in worker processes, which are restarted if the engine in them crashes or hangs."""
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time

import wire

WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
LAST_WORDS = 400
PATIENCE = 10  # by how much more time may pass than a process may compute, on a machine that others load
STARTING = 60  # seconds


def processor_seconds(process):
    """The processor time of a process so far; that at its end is unknown, and 0."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Reader:
    """Reads whole messages that a process writes into a pipe. A limit is one of its processor time, and PATIENCE times as long one of time."""

    def __init__(self, pipe, process):
        self.pipe, self.process, self.buffer = pipe, process, bytearray()

    def wait(self, seconds):
        computed, begin = processor_seconds(self.process), time.monotonic()
        while not select.select([self.pipe], [], [], min(seconds, 1))[0]:
            if processor_seconds(self.process) - computed >= seconds or time.monotonic() - begin >= PATIENCE * seconds:
                raise TimeoutError

    def exactly(self, count, seconds):
        while len(self.buffer) < count:
            self.wait(seconds)
            data = os.read(self.pipe.fileno(), 1 << 20)
            if not data:
                raise EOFError
            self.buffer += data
        data = bytes(self.buffer[:count])
        del self.buffer[:count]
        return data

    def message(self, seconds):
        return wire.pickle.loads(self.exactly(wire.struct.unpack("<Q", self.exactly(8, seconds))[0], seconds))


class Worker:
    """One library in a process of its own. `configurations`: (level of optimisation, threads, and more that `script` knows of). Not thread-safe:
    one thread uses it."""

    def __init__(self, library, configurations, seconds, script=WORKER):
        self.command = [sys.executable, script, library, *(":".join(map(str, c)) for c in configurations)]
        self.configurations, self.seconds, self.process = configurations, seconds, None

    def start(self):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, bufsize=0)
        self.reader = Reader(self.process.stdout, self.process.pid)
        try:
            self.reader.message(STARTING)
        except (EOFError, TimeoutError):
            raise RuntimeError(f"{' '.join(self.command)} does not start: {self.last_words()}") from None

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.errors.close()
            self.process = None

    def last_words(self):
        self.errors.seek(0)
        return self.errors.read().decode("utf-8", "replace")[-LAST_WORDS:]

    def send(self, batch):
        """Sends a batch in a separate thread, because the worker writes results before it has read the whole batch."""
        def write():
            try:
                wire.write(self.process.stdin, batch)
            except (OSError, ValueError):
                pass  # it has ended, which the reader sees
        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        return thread

    def run(self, batch):
        """Runs a list of cases and returns {key: [outcome of each configuration]}. If a case ends the worker, all its outcomes are
        ("crash", signal, end of standard error); if it takes too long, ("hang", seconds)."""
        answers, left = {}, list(batch)
        while left:
            if not self.process:
                self.start()
            sender, done = self.send(left), 0
            try:
                while done < len(left):
                    key, found = self.reader.message(self.seconds * len(self.configurations))
                    answers[key] = [found[o[1]] if o[0] == "same" else o for o in found]
                    done += 1
            except EOFError:
                code = self.process.wait()
                name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
                answers[left[done][0]] = [("crash", name, self.last_words())] * len(self.configurations)
            except TimeoutError:
                answers[left[done][0]] = [("hang", self.seconds)] * len(self.configurations)
            if done < len(left):
                self.stop()
                done += 1
            sender.join()
            left = left[done:]
        return answers
