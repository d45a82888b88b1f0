"""Names and options of execution providers, as sessions accept them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Union

Provider = Union[str, "tuple[str, dict[Any, Any]]"]


def check_and_normalize_provider_args(
    providers: Sequence[Provider] | None,
    provider_options: Sequence[dict[Any, Any]] | None,
    available_provider_names: Sequence[str],
) -> tuple[list[str], list[dict[str, str]]]:
    """Names and options of providers in two lists of the same length.

    Args:
        providers: names, or pairs of a name and a dict of options, the most preferred first; or one name, or
            a dict of names and options. None: no provider.
        provider_options: a dict of options for each name; only if `providers` has no pairs.
        available_provider_names: the names that the library knows. Others, and repeated ones, cause a warning; a
            repeated one is left out.

    Returns:
        The names, and for each a dict of options with texts as keys and values.

    Raises:
        ValueError: an argument has another form.
    """
    if providers is None:
        return [], []
    if isinstance(providers, str):  # the name of one, not a sequence of letters
        providers = [providers]
    elif isinstance(providers, dict):
        providers = list(providers.items())
    result: dict[str, dict[str, str]] = {}
    for name, options in _pairs(providers, provider_options):
        if name not in available_provider_names:
            known = ", ".join(available_provider_names)
            warnings.warn(
                f"provider '{name}' is not available; available providers: {known}. Install its library, or register "
                "it with register_execution_provider_library()",
                stacklevel=4,
            )
        if name in result:
            warnings.warn(f"provider '{name}' is given twice; the second one is ignored", stacklevel=4)
            continue
        result[name] = {str(key): str(value) for key, value in options.items()}
    return list(result), list(result.values())


def _pairs(
    providers: Sequence[Provider], provider_options: Sequence[dict[Any, Any]] | None
) -> list[tuple[str, dict[Any, Any]]]:
    if not isinstance(providers, Sequence):
        raise ValueError(f"providers: got {type(providers).__name__}, expected a sequence of names")
    if provider_options is None:
        return [_pair(provider) for provider in providers]
    if not isinstance(provider_options, Sequence):
        raise ValueError(f"provider_options: got {type(provider_options).__name__}, expected a sequence of dicts")
    if len(providers) != len(provider_options):
        raise ValueError(
            f"provider_options: {len(provider_options)} dicts for {len(providers)} providers; expected one for each"
        )
    pairs: list[tuple[str, dict[Any, Any]]] = []
    for name, options in zip(providers, provider_options):
        if not isinstance(name, str):
            raise ValueError(f"providers: got {name!r}; beside provider_options, only names are allowed")
        if not isinstance(options, dict):
            raise ValueError(f"provider_options: got {type(options).__name__} for '{name}', expected a dict")
        pairs.append((name, options))
    return pairs


def _pair(provider: Any) -> tuple[str, dict[Any, Any]]:
    if isinstance(provider, str):
        return provider, {}
    if (
        isinstance(provider, (tuple, list))
        and len(provider) == 2
        and isinstance(provider[0], str)
        and isinstance(provider[1], dict)
    ):
        return provider[0], provider[1]
    raise ValueError(f"providers: got {provider!r}, expected a name, or a tuple of a name and a dict of options")
