"""Searches for a smaller graph with the same finding. The outputs of removed nodes are known, and become inputs."""
import dataclasses
import time

from .whole import Form


def outputs_of(whole, nodes):
    """The outputs of the graph that the remaining nodes make."""
    made = {v for n in nodes for v in n.outputs if v}
    return [v for v in whole.outputs if v in made]


def with_nodes(whole, nodes):
    """The graph of some of the nodes. Values that they read from other nodes become inputs."""
    return dataclasses.replace(whole, nodes=nodes, outputs=outputs_of(whole, nodes))


def fewer_nodes(whole, still):
    """Removes runs of nodes, halves first."""
    size = max(1, len(whole.nodes) // 2)
    while True:
        at = 0
        while at < len(whole.nodes):
            smaller = with_nodes(whole, whole.nodes[:at] + whole.nodes[at + size:])
            if smaller.outputs and still(smaller):
                whole = smaller
            else:
                at += size
        if size == 1:
            return whole
        size = max(1, size // 2)


def more_outputs(whole):
    """The graph with every value of its nodes as an output, so that later nodes can be removed."""
    return dataclasses.replace(whole, outputs=[v for n in whole.nodes for v in n.outputs if v and v.is_tensor])


def fewer_outputs(whole, still):
    for value in list(whole.outputs):
        smaller = dataclasses.replace(whole, outputs=[v for v in whole.outputs if v is not value])
        if smaller.outputs and still(smaller):
            whole = smaller
    return whole


def plainer(whole, still):
    plainest = dataclasses.asdict(Form("fixed" if whole.world.runs == 1 else "symbolic", ir=10))
    for change in (plainest, {"functions": 0}, {"nodes": 0.0}, {"overridable": 0.0}, {"infos": 0.0}):
        form = dataclasses.replace(whole.form, **change)
        smaller = dataclasses.replace(whole, form=form)
        if form != whole.form and still(smaller):
            whole = smaller
    return whole


def shrink(whole, kind, judge, seconds):
    """The smallest graph with a finding of this kind that is found within `seconds`. judge: returns the Verdict on a
    Whole."""
    end = time.monotonic() + seconds

    def still(smaller):
        return time.monotonic() < end and judge(smaller).kind == kind
    whole = plainer(whole, still)
    for _ in range(3):
        before = len(whole.nodes), len(whole.outputs)
        whole = fewer_outputs(fewer_nodes(whole, still), still)
        if (len(whole.nodes), len(whole.outputs)) == before:
            break
    return plainer(whole, still)
