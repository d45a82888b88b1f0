"""Draws graphs in a separate process, which loads both libraries, so that it runs nodes without messages between
processes, and a crash ends nothing else.

    maker.py ORACLE RETORT      speaks as worker.py of the folder above

A case is (key, seed, number, names of nodes to leave out, file). The file always holds the node that is being run, for
those who come after a crash. The outcome is ("ok", Whole, [NodeFinding], nodes tried, nodes that ran).
"""
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
from graphs.worker import Engine  # noqa: E402

ALONE = (0, 1, 0)  # the configuration that runs single nodes


class Maker:
    def __init__(self, oracle):
        self.engines = [Engine(library) for library in (oracle, sys.argv[2])]
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
        def run(node, *case):
            if node.proto.name in avoided:
                raise Refused("it ends the process")
            os.pwrite(self.current(file), pickle.dumps((node.proto.name, node.label, case)), 0)
            return [engine.outcome(ALONE, *case) for engine in self.engines]
        probe = Probe(run, self.explained)
        made = whole(self.grower.graph(World(seed, number, probe)))
        made.world.probe = None
        for finding in probe.findings:
            finding.case = None
        for node in made.nodes:
            for value in node.reads() + node.outputs:
                if value:
                    value.owner = None
        return "ok", made, probe.findings, probe.tried, probe.kept


if __name__ == "__main__":
    worker.main(Maker, configurations=[()])
