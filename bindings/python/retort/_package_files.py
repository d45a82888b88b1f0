"""The files of model packages: rules of their descriptions, names of assets, and folders."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

MANIFEST = "manifest.json"
COMPONENT = "component.json"
ASSETS = "shared_assets"
SCHEMA_VERSION = "1.0"

_MANIFEST_MEMBERS = {
    "schema_version", "components", "layout", "shared_assets", "package_name", "package_version", "description",
    "additional_metadata",
}  # fmt: skip
_COMPONENT_MEMBERS = {"component_name", "variants", "additional_metadata"}
_VARIANT_MEMBERS = {
    "ep", "device", "compatibility_string", "variant_directory", "executor_info", "additional_metadata",
}  # fmt: skip

External = dict[str, tuple[str, dict[str, Any]]]


class Rules(NamedTuple):
    """How a package is read."""

    root: str
    allow_external_paths: bool
    follow_symlinks: bool
    strict: bool


def parse(text: str, what: str) -> dict[str, Any]:
    """A JSON object. `what` begins messages."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{what}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{what}: got {type(value).__name__}, expected a JSON object")
    return value


def _require_members(value: Mapping[str, Any], allowed: set[str], what: str, strict: bool = True) -> None:
    unknown = sorted(set(value) - allowed)
    if unknown and strict:
        raise ValueError(f"{what}: unknown field '{unknown[0]}'; expected {', '.join(sorted(allowed))}")


def parse_variant(text: str, what: str) -> dict[str, Any]:
    """The description of a variant."""
    variant = parse(text, what)
    _require_members(variant, _VARIANT_MEMBERS, what)
    return variant


def parse_component(text: str, what: str, strict: bool = True) -> dict[str, Any]:
    """The description of a component."""
    return _checked_component(parse(text, what), what, strict)


def _checked_component(component: dict[str, Any], what: str, strict: bool) -> dict[str, Any]:
    _require_members(component, _COMPONENT_MEMBERS, what, strict)
    variants = component.setdefault("variants", {})
    if not isinstance(variants, dict):
        raise ValueError(f"{what}: 'variants' is {type(variants).__name__}, expected an object")
    for name, variant in variants.items():
        if not isinstance(variant, dict):
            raise ValueError(f"{what}: variant '{name}' is {type(variant).__name__}, expected an object")
        _require_members(variant, _VARIANT_MEMBERS, f"{what}: variant '{name}'", strict)
    return component


def dump(value: Mapping[str, Any]) -> str:
    """A description as one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_of_file(path: str) -> str:
    """The content of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def write_json(path: str, value: Mapping[str, Any]) -> None:
    """Writes a description; readers see the old or the new one, never a part."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = f"{path}.{os.getpid()}.new"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
    os.replace(temporary, path)


def require_inside(path: str) -> None:
    """Raises ValueError for a path that could leave the folder that it begins in."""
    if os.path.isabs(path) or ".." in path.replace("\\", "/").split("/"):
        raise ValueError(
            f"path '{path}' leaves the package, which the layout 'portable' does not allow; use a path inside, or "
            "set_layout('installed')"
        )


def _read_manifest(rules: Rules) -> dict[str, Any]:
    path = os.path.join(rules.root, MANIFEST)
    manifest = parse(text_of_file(path), path)
    _require_members(manifest, _MANIFEST_MEMBERS, MANIFEST, rules.strict)
    major = str(manifest.get("schema_version", "")).partition(".")[0]
    if major != "1":
        raise ValueError(
            f"{path}: schema_version is {manifest.get('schema_version')!r}, expected 1.0; a newer version of this "
            "package may read it"
        )
    if not isinstance(manifest.get("components"), dict):
        raise ValueError(f"{path}: 'components' is missing or no object")
    return manifest


def read_package(rules: Rules) -> tuple[dict[str, Any], External]:
    """The manifest, and the descriptions of components in files of their own."""
    manifest = _read_manifest(rules)
    portable = manifest.get("layout", "portable") == "portable" and not rules.allow_external_paths
    external: External = {}
    for name, value in manifest["components"].items():
        what = f"component '{name}'"
        if isinstance(value, dict):
            _checked_component(value, what, rules.strict)
            continue
        if not isinstance(value, str):
            raise ValueError(f"{what}: got {type(value).__name__}, expected an object or a path")
        if portable:
            require_inside(value)
        place = os.path.join(value, COMPONENT) if os.path.isdir(os.path.join(rules.root, value)) else value
        full = os.path.join(rules.root, place)
        if not rules.follow_symlinks and os.path.islink(full):
            raise ValueError(f"{what}: '{full}' is a link; open the package with follow_symlinks=True")
        if not os.path.isfile(full):
            raise FileNotFoundError(f"{what}: '{full}' does not exist")
        external[name] = (place, parse_component(text_of_file(full), what, rules.strict))
    return manifest, external


def assets_of(manifest: Mapping[str, Any], root: str) -> dict[str, str]:
    """The folders of the shared assets: those in `shared_assets`, and those that the manifest names elsewhere."""
    found = {}
    folder = os.path.join(root, ASSETS)
    if os.path.isdir(folder):
        for name in sorted(os.listdir(folder)):
            if name.startswith("sha256-"):
                found[name.replace("-", ":", 1)] = os.path.join(folder, name)
    for uri, path in manifest.get("shared_assets", {}).items():
        found[uri] = os.path.normpath(os.path.join(root, path))
    return found


def _files_below(folder: str) -> Iterator[str]:
    """The paths of all files, relative to the folder, with slashes."""
    for parent, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(parent, name), folder).replace(os.sep, "/")


def directory_hash(folder: str) -> str:
    """SHA-256 of a list of files as sha256sum prints it, ordered by path."""
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"'{folder}' is not a folder")
    total = hashlib.sha256()
    for name in sorted(_files_below(folder), key=os.fsencode):
        with open(os.path.join(folder, name), "rb") as file:
            digest = hashlib.sha256()
            while block := file.read(1 << 20):
                digest.update(block)
        total.update(f"{digest.hexdigest()}  ".encode() + os.fsencode(name) + b"\n")
    return f"sha256:{total.hexdigest()}"


def copy_folder(source_root: str, target_root: str, folder: str) -> None:
    """Copies one folder of a package into another package, if it exists."""
    source = os.path.join(source_root, folder)
    if os.path.isdir(source):
        shutil.copytree(source, os.path.join(target_root, folder), dirs_exist_ok=True)


def delete_unused_folders(root: str, kept: Iterable[str]) -> None:
    """Deletes folders below `root` that neither are, nor contain, nor are inside one of the kept paths."""
    kept = [os.path.abspath(path) for path in kept]
    for parent, names, _ in os.walk(root):
        for name in list(names):
            folder = os.path.abspath(os.path.join(parent, name))
            inside = any(os.path.commonpath([folder, path]) == path for path in kept if os.path.isdir(path))
            contains = any(os.path.commonpath([folder, path]) == folder for path in kept)
            if inside or not contains:
                names.remove(name)
            if not inside and not contains:
                shutil.rmtree(folder)


def describe(
    root: str | None,
    manifest: Mapping[str, Any],
    components: Mapping[str, tuple[str, dict[str, Any]]],
    assets: Mapping[str, str],
) -> dict[str, Any]:
    """What ModelPackage.get_info gives."""
    major, _, minor = str(manifest.get("schema_version", "0.0")).partition(".")
    return {
        "schema_version_major": int(major),
        "schema_version_minor": int(minor or 0),
        "package_name": manifest.get("package_name"),
        "package_version": manifest.get("package_version"),
        "description": manifest.get("description"),
        "layout": manifest.get("layout", "portable"),
        "additional_metadata_json": _optional(manifest.get("additional_metadata")),
        "components": [
            {
                "name": name,
                "additional_metadata_json": _optional(component.get("additional_metadata")),
                "variants": [
                    _describe_variant(root, folder, key, value) for key, value in component["variants"].items()
                ],
            }
            for name, (folder, component) in components.items()
        ],
        "shared_assets": [{"uri": uri, "resolved_path": path} for uri, path in assets.items()],
    }


def _optional(value: Any) -> str | None:
    return None if value is None else dump(value)


def _describe_variant(root: str | None, folder: str, name: str, variant: Mapping[str, Any]) -> dict[str, Any]:
    place = None
    if root is not None:
        candidate = os.path.normpath(os.path.join(root, folder, variant.get("variant_directory") or name))
        place = candidate if os.path.isdir(candidate) else None
    infos = {}
    for key, info in variant.get("executor_info", {}).items():
        if isinstance(info, str):
            file = os.path.join(place or "", info)
            infos[key] = text_of_file(file) if os.path.isfile(file) else info
        else:
            infos[key] = dump(info)
    return {
        "name": name,
        "variant_directory": place,
        "ep": variant.get("ep"),
        "device": variant.get("device"),
        "compatibility_string": variant.get("compatibility_string"),
        "additional_metadata_json": _optional(variant.get("additional_metadata")),
        "executor_info": infos,
    }
