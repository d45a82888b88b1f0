"""Runs the stages of run_tests.py as processes, several at once, and reports how much time each took."""
import collections
import dataclasses
import os
import resource
import subprocess
import sys
import threading
import time

# Stages that must not run at once: in both, Maven and cargo download into the same folders.
APART = ({"clients", "bindings"},)
# Stages that take longest start first, so that none of them runs alone at the end.
FIRST = ("bindings", "python", "neon", "sanitized", "cuda", "plugins", "unit", "providers", "layers", "dist", "cli", "runs", "clients")


@dataclasses.dataclass
class Cost:
    wall: float  # seconds
    processor: float  # seconds, of the stage and of all processes that it started and waited for


class Stopwatch:
    """Measures the time of a part of this process, with the processes that it starts and waits for."""

    def __init__(self):
        self.wall, self.processor = time.monotonic(), self.used()

    @staticmethod
    def used():
        ends = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(e.ru_utime + e.ru_stime for e in ends)

    def cost(self):
        return Cost(time.monotonic() - self.wall, self.used() - self.processor)


def run_process(command, log):
    """Runs a command, writes its output to a log, and returns (exit status, output, cost). The cost includes the
    processes that it waited for."""
    began = time.monotonic()
    with open(log, "wb") as f:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    with open(log, encoding="utf-8", errors="replace") as f:
        text = f.read()
    return child.returncode, text, Cost(time.monotonic() - began, used.ru_utime + used.ru_stime)


def next_stage(waiting, running):
    """The first stage that may start beside those that run; None if all have to wait."""
    return next((s for s in waiting if not any(s in pair and pair & running for pair in APART)), None)


class Together:
    """A few threads that start one stage after the other."""

    def __init__(self, stages, command, log, ended):
        """command(stage) is the command of a stage and log(stage) the file for its output. ended(stage, status, text,
        cost) is called with a lock held when a stage ends."""
        self.waiting = collections.deque(sorted(stages, key=lambda s: FIRST.index(s) if s in FIRST else len(FIRST)))
        self.running, self.changed = set(), threading.Condition()
        self.command, self.log, self.ended = command, log, ended

    def run(self, at_once):
        threads = [threading.Thread(target=self.work) for _ in range(at_once)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def work(self):
        while stage := self.take():
            result = run_process(self.command(stage), self.log(stage))
            with self.changed:
                self.running.remove(stage)
                self.ended(stage, *result)
                self.changed.notify_all()

    def take(self):
        with self.changed:
            while self.waiting:
                if stage := next_stage(self.waiting, self.running):
                    self.waiting.remove(stage)
                    self.running.add(stage)
                    return stage
                self.changed.wait()
        return None


def options_of(args, names):
    """The options of a command line, for a process that takes the same ones. Options without a value are omitted."""
    given = ((name, getattr(args, name)) for name in names)
    return [part for name, value in given if value for part in ("--" + name, str(value))]


class Report:
    """A row for each stage, and the sum."""

    def __init__(self, order, zero):
        self.order, self.rows, self.total, self.costs = list(order), {}, zero, []

    def add(self, stage, count, cost):
        self.rows[stage] = f"{stage:13}{cost.wall:8.1f} s {cost.processor:8.1f} s   {count}"
        self.total += count
        self.costs.append(cost.processor)
        return self.rows[stage]

    def table(self, watch):
        heading = f"{'stage':13}{'elapsed':>10}{'processor':>11}"
        whole = f"{'together':13}{watch.cost().wall:8.1f} s {sum(self.costs):8.1f} s"
        return "\n".join([heading, *(self.rows[s] for s in self.order if s in self.rows), whole])


if __name__ == "__main__":
    sys.exit(__doc__)
