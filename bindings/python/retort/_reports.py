"""Functions that tell about models: inspect, profile, diff, convert and bench.

They start the command-line tool (`retort COMMAND --help` explains every option) and give what it prints as plain
dicts and lists, which notebooks show as pages.
"""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _tool

if TYPE_CHECKING:
    Model = Union[str, os.PathLike[str], bytes, Any]
    Inputs = Mapping[str, Any]
    Shapes = Mapping[str, Sequence[int]]

_DIFFERENT = 3


class Report(dict[str, Any]):
    """What a function found, as a dict. Notebooks show it as a page; `page` is that page, if there is one."""

    page: str | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        if self.page is None:
            return _table(self)
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" style="width:100%;height:640px;border:1px solid #ccc">'
            "</iframe>"
        )

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Writes the page into a file, which needs no other file."""
        with open(os.fspath(path), "w", encoding="utf-8") as file:
            file.write(self.page if self.page is not None else self._repr_html_())


class Inspection(Report):
    """A model's inputs, outputs, nodes, passes, memory and costs; `retort_tools.h` lists the members."""

    def __repr__(self) -> str:
        graph = self["graph"]
        values = graph["values"]
        inputs, outputs = (
            ", ".join(f"{values[index]['name']} {values[index]['type']}" for index in graph[side])
            for side in ("inputs", "outputs")
        )
        return f"<Inspection of '{self.get('name') or graph['name']}': {inputs} -> {outputs}; {len(graph['nodes'])} nodes>"


class Profile(Report):
    """Where the time of a run goes: `median_ms`, `nodes` and `operators`, the slowest first."""

    def __repr__(self) -> str:
        slowest = ", ".join(f"{row['op']} {row['share']:.0f} %" for row in self["operators"][:3])
        return f"<Profile: {self['median_ms']:.3f} ms; {slowest}>"


class Difference(Report):
    """Whether two engines or models agree (`agree`), how far `outputs` are apart, and the first node that differs."""

    def __repr__(self) -> str:
        largest = max((row["difference"] for row in self["outputs"]), default=0.0)
        return f"<Difference: {'none' if self['agree'] else 'found'}; outputs differ by up to {largest:.2g}>"


class Conversion(Report):
    """What was written (`file`, `bytes`), or the operator sets that a model uses (`operators`)."""


class Benchmark(Report):
    """Times and memory: `rows`, one for each number of threads, with the engines as `sides` and `peers`."""

    def __repr__(self) -> str:
        parts = []
        for row in self["rows"]:
            engines = ", ".join(f"{side['engine']} {side['median_ms']:.4f} ms" for side in row["sides"])
            parts.append(f"{row['threads']} threads: {engines}")
        return f"<Benchmark: {'; '.join(parts)}>"


def inspect(
    model: Model,
    *,
    shapes: Shapes | None = None,
    placement: bool = False,
    disable: Iterable[str] = (),
    config: Mapping[str, str] | None = None,
    providers: Sequence[str] = (),
    plugins: Mapping[str, str] | None = None,
) -> Inspection:
    """Describes a model without running it; notebooks show its graph.

    Args:
        model: a path, bytes, or a model of the package onnx.
        shapes: for inputs with free extents, the shape to calculate with.
        placement: also tell which provider runs each node.
        disable: passes and rules to leave out.
        config: configuration entries of the session.
        providers: execution providers, as NAME or NAME:KEY=VALUE,...
        plugins: names and files of libraries of providers.
    """
    with _tool.scratch() as folder, _tool.model_file(model, folder) as file:
        page = os.path.join(folder, "page.html")
        options = [*_shapes(shapes), *_many("disable", disable), *_engine(config, providers, plugins)]
        if placement:
            options.append("--placement")
        result = Inspection(_tool.run(["inspect", file, f"--html={page}", *options]))
        result.page = _read(page)
    return result


def profile(
    model: Model,
    inputs: Inputs | None = None,
    *,
    threads: int = 1,
    repeat: int = 20,
    seed: int = 1,
    shapes: Shapes | None = None,
    trace: str | os.PathLike[str] | None = None,
    disable: Iterable[str] = (),
    config: Mapping[str, str] | None = None,
    providers: Sequence[str] = (),
    plugins: Mapping[str, str] | None = None,
) -> Profile:
    """Measures where the time of a run goes; notebooks show a timeline and the graph coloured by time.

    Args:
        model: a path, bytes, or a model of the package onnx.
        inputs: arrays, or names of files, by input; others are random.
        threads: threads inside an operator; 0: the engine chooses.
        repeat: number of runs, of which the one with the median time is reported.
        seed: of random inputs.
        shapes: the shapes of random inputs with free extents.
        trace: a file for trace events, which ui.perfetto.dev shows.
        disable, config, providers, plugins: see `inspect`.
    """
    with _tool.scratch() as folder, _tool.model_file(model, folder) as file:
        page = os.path.join(folder, "page.html")
        options = [f"--threads={threads}", f"--repeat={repeat}", *_seed(seed)]
        options += [*_tool.input_options(inputs, folder), *_shapes(shapes), *_many("disable", disable)]
        options += _engine(config, providers, plugins)
        if trace is not None:
            options.append(f"--trace={os.fspath(trace)}")
        result = Profile(_tool.run(["profile", file, f"--html={page}", *options]))
        result.page = _read(page)
    return result


def diff(
    model: Model,
    inputs: Inputs | None = None,
    *,
    against: str | os.PathLike[str] | None = None,
    against_model: Model | None = None,
    tolerance: float = 0.001,
    threads: int = 1,
    seed: int = 1,
    shapes: Shapes | None = None,
    disable: Iterable[str] = (),
    config: Mapping[str, str] | None = None,
    providers: Sequence[str] = (),
    plugins: Mapping[str, str] | None = None,
) -> Difference:
    """Finds the first node where two engines, or two versions of a model, compute different values.

    Args:
        model: a path, bytes, or a model of the package onnx.
        inputs: arrays, or names of files, by input; others are random.
        against: the library of the second engine, such as libonnxruntime.so.
        against_model: the second model; values of the same name are compared.
        tolerance: the largest difference that counts as equal, relative to the largest absolute value of a tensor.
        threads, seed, shapes: see `profile`.
        disable, config, providers, plugins: see `inspect`.

    Raises:
        TypeError: `against` is a model in place of a library.
        ValueError: there is nothing to compare with.
    """
    if against is not None and not isinstance(against, (str, os.PathLike)):
        raise TypeError(
            f"against: got {type(against).__name__}, expected the path of a library; give a model as against_model"
        )
    if against is None and against_model is None and not plugins:
        raise ValueError("diff: there is nothing to compare with; give against, against_model or plugins")
    with _tool.scratch() as folder, _tool.model_file(model, folder) as file:
        options = [f"--tolerance={tolerance}", f"--threads={threads}", *_seed(seed)]
        options += [*_tool.input_options(inputs, folder), *_shapes(shapes), *_many("disable", disable)]
        options += _engine(config, providers, plugins)
        if against is not None:
            options.append(f"--against={os.fspath(against)}")
        if against_model is not None:
            with _tool.model_file(against_model, folder) as other:
                return Difference(_tool.run(["diff", file, f"--against-model={other}", *options], (0, _DIFFERENT)))
        return Difference(_tool.run(["diff", file, *options], (0, _DIFFERENT)))


def convert(
    model: Model,
    target: str | os.PathLike[str] | None = None,
    *,
    format: str | None = None,
    external: str | None = None,
    threshold: int = 1024,
    optimize: str | None = None,
    config: Mapping[str, str] | None = None,
    providers: Sequence[str] = (),
    plugins: Mapping[str, str] | None = None,
) -> Conversion:
    """Writes a model to another file, or tells which operator sets it uses.

    Args:
        model: a path, bytes, or a model of the package onnx.
        target: the file to write; None: only the report.
        format: "onnx" or "ort"; None: by the name of the target.
        external: the name of a file beside the target that takes the weights; None: they are inside.
        threshold: weights of fewer bytes stay inside.
        optimize: "basic", "extended" or "all": write the model as the engine optimises it.
        config, providers, plugins: see `inspect`; they matter with `optimize` only.
    """
    with _tool.scratch() as folder, _tool.model_file(model, folder) as file:
        arguments = ["convert", file]
        if target is not None:
            arguments.append(os.fspath(target))
        if external is not None:
            arguments.append(f"--threshold={threshold}")
        for name, value in (("format", format), ("external", external), ("optimize", optimize)):
            if value is not None:
                arguments.append(f"--{name}={value}")
        return Conversion(_tool.run([*arguments, *_engine(config, providers, plugins)]))


def bench(
    model: Model,
    inputs: Inputs | None = None,
    *,
    against: Sequence[str | os.PathLike[str]] = (),
    threads: Sequence[int] = (1,),
    seconds: float = 4,
    starts: int = 3,
    operators: bool = False,
    seed: int = 1,
    shapes: Shapes | None = None,
    disable: Iterable[str] = (),
    config: Mapping[str, str] | None = None,
    providers: Sequence[str] = (),
    plugins: Mapping[str, str] | None = None,
) -> Benchmark:
    """Measures latency, load time and memory, beside other engines if there are any.

    Args:
        model: a path, bytes, or a model of the package onnx.
        inputs: arrays, or names of files, by input; others are random.
        against: libraries of engines to compare with; all run in turns in one process.
        threads: numbers of threads to measure; 0: the engine chooses.
        seconds: how long to measure each number of threads.
        starts: processes per engine and number of threads for load time and memory.
        operators: also report time per operator.
        seed, shapes: see `profile`.
        disable, config, providers, plugins: see `inspect`.
    """
    with _tool.scratch() as folder, _tool.model_file(model, folder) as file:
        options = [f"--threads={','.join(map(str, threads))}", f"--seconds={seconds}", f"--starts={starts}"]
        options += [*_seed(seed), *_many("against", [os.fspath(path) for path in against])]
        options += [*_tool.input_options(inputs, folder), *_shapes(shapes), *_many("disable", disable)]
        options += _engine(config, providers, plugins)
        if operators:
            options.append("--ops")
        return Benchmark(rows=_tool.run(["bench", file, *options]))


def _shapes(shapes: Shapes | None) -> list[str]:
    return [f"--shape={name}={'x'.join(map(str, extents))}" for name, extents in (shapes or {}).items()]


def _seed(seed: int) -> list[str]:
    """The tool refuses a seed if no input is random, so its own default is left out."""
    return [f"--seed={seed}"] if seed != 1 else []


def _many(option: str, values: Iterable[str]) -> list[str]:
    return [f"--{option}={value}" for value in values]


def _engine(
    config: Mapping[str, str] | None, providers: Sequence[str], plugins: Mapping[str, str] | None
) -> list[str]:
    entries = [f"{key}={value}" for key, value in (config or {}).items()]
    libraries = [f"{name}={file}" for name, file in (plugins or {}).items()]
    return [*_many("config", entries), *_many("provider", providers), *_many("plugin", libraries)]


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _table(data: Mapping[str, Any]) -> str:
    """A dict as a table; lists of dicts as tables of their own."""
    rows = []
    for key, value in data.items():
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            columns = list(dict.fromkeys(name for row in value for name in row))
            head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
            body = "".join(
                "<tr>" + "".join(f"<td>{html.escape(str(row.get(name, '')))}</td>" for name in columns) + "</tr>"
                for row in value
            )
            cell = f"<table><tr>{head}</tr>{body}</table>"
        else:
            cell = html.escape(str(value))
        rows.append(f"<tr><th>{html.escape(key)}</th><td>{cell}</td></tr>")
    return f"<table>{''.join(rows)}</table>"
