"""A recipe is a function that makes cases of the operators that it is registered for: it sets the attributes and adds
the inputs of a Case (case.py). For an operator without a recipe, recipes/plain.py makes cases from the schema alone."""
import importlib
import pkgutil

TABLE = {}


def recipe(*labels):
    """Registers a function for operators: "Conv", "com.microsoft:QGemm"; several names in one string are separated by
    spaces."""
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
