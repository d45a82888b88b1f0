"""Draws graphs in a separate process, which loads both libraries, so that it runs nodes without messages between
processes, and a crash ends nothing else.

    maker.py ORACLE RETORT      speaks as worker.py of the folder above

A case is (key, seed, number, names of nodes to leave out, file). The file always holds the node that is being run, for
those who come after a crash. The outcome is ("ok", Whole, [NodeFinding], nodes tried, nodes that ran).
"""
import ctypes
import os
import pickle
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import judge  # noqa: E402
import program  # noqa: E402
import recipes  # noqa: E402
import schemas  # noqa: E402
import worker  # noqa: E402
from case import Refused  # noqa: E402
from graphs import growing  # noqa: E402
from graphs.graph import Probe, World  # noqa: E402
from graphs.whole import whole  # noqa: E402
from worker import PTR, SIZE  # noqa: E402

ALONE = (0, 1)  # the configuration that runs single nodes


class Alone(worker.Engine):
    """Runs single nodes: all runs of a node share the names and those inputs that are the same object."""

    def outcome(self, model, runs, outputs):
        """("ok", [[values of the outputs] of each run]), or an error."""
        stage, kept, values = "load", [], {}
        try:
            session = self.session(model, ALONE)
            try:
                stage = "run"
                names, wanted = strings([name for name, _ in runs[0]]), strings(outputs)
                for feeds in runs:
                    for _, wire in feeds:
                        if id(wire) not in values:
                            values[id(wire)] = self.value(wire, kept)
                return "ok", [self.once(session, names, [values[id(wire)].value for _, wire in feeds], wanted) for feeds in runs]
            finally:
                for value in values.values():
                    if value:
                        self.release("Value", value)
                self.release("Session", session)
        except worker.ApiError as e:
            return "error", stage, e.code, str(e)

    def once(self, session, names, handles, wanted):
        made = (PTR * len(wanted))()
        self.call("Run", session, None, names, (PTR * len(names))(*handles), SIZE(len(handles)), wanted, SIZE(len(wanted)), made)
        try:
            return [self.taken(PTR(handle)) for handle in made]
        finally:
            for handle in made:
                if handle:
                    self.release("Value", PTR(handle))


def strings(texts):
    return (ctypes.c_char_p * len(texts))(*[text.encode() for text in texts])


class Maker:
    def __init__(self, oracle):
        self.engines = [Alone(library) for library in (oracle, sys.argv[2])]
        sys.argv[2:] = []
        self.files = {}
        self.faults = judge.read_faults()
        self.grower = growing.Grower(schemas.load(program.official()[0]), recipes.load())

    def explained(self, finding):
        """Whether a row of oracle_faults.tsv explains a finding of a single node that a recipe has made."""
        if finding.case is None:
            return False
        group = ": ".join(finding.detail.split(": ")[:2]) if finding.kind == "value" else judge.plain(finding.detail)
        found = judge.Verdict("valid", finding.kind, group, finding.detail)
        return bool(judge.explained(finding.case, found, ("ok", []), self.faults))

    def current(self, file):
        """The open file: opening it for each node would take longer than running the node."""
        if file not in self.files:
            self.files[file] = os.open(file, os.O_WRONLY)
        return self.files[file]

    def outcome(self, _, seed, number, avoided, file):
        oracle, retort = self.engines

        def run(node, model, feeds, outputs, step):
            if node.proto.name in avoided:
                raise Refused("it ends the process")
            os.pwrite(self.current(file), pickle.dumps((node.proto.name, node.label, (model, feeds, outputs, ()))), 0)
            theirs = oracle.outcome(model, feeds, outputs)
            return theirs, retort.outcome(model, feeds[::step], outputs) if theirs[0] == "ok" else None
        probe = Probe(run, self.explained)
        made = whole(self.grower.graph(World(seed, number, probe)))
        made.world.probe = None
        for finding in probe.findings:
            finding.case = None
        for node in made.nodes:
            for value in node.reads() + node.outputs:
                if value:
                    value.owner = value.declaration = value.proto = None
        return "ok", made, probe.findings, probe.tried, probe.kept


if __name__ == "__main__":
    worker.main(Maker, configurations=[()])
