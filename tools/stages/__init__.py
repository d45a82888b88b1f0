"""The stages of run_tests.py, each a function that takes a Context and returns a Count."""
from stages.binding import python
from stages.models import conformance, errors, models, ort_format, robustness, runs, saved
from stages.programs import layers, neon, previous, sanitized, unit
from stages.shipped import bindings, cli, clients, cuda, digits, dist, extensions, package, plugins, providers

STAGES = {f.__name__: f for f in (layers, unit, previous, sanitized, neon, conformance, saved, ort_format, runs, robustness, errors, models, providers, cuda, plugins,
                                  digits, package, dist, cli, extensions, clients, bindings, python)}
