"""Recipes: how to make a case of an operator. A recipe is a function of a Case (case.py) that sets attributes and gives inputs; it is
found by the names that it is registered with. Operators without one go by recipes/plain.py, which knows only their schema."""
import importlib
import pkgutil

TABLE = {}


def recipe(*labels):
    """Registers a function for operators: "Conv", "com.microsoft:QGemm"; several names in one string are separated by spaces."""
    def register(function):
        for label in " ".join(labels).split():
            if label in TABLE:
                raise ValueError(f"two recipes for {label}")
            TABLE[label] = function
        return function
    return register


def load():
    """{label: function} of all modules in this folder."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return TABLE
