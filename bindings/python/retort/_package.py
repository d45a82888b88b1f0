"""Model packages: folders that hold a model in several variants, written and changed in Python."""

from __future__ import annotations

import os
import shutil
from typing import Any

from . import _package_files as files
from ._package_open import ModelPackageWriteMode


class ModelPackage:
    """A model package that can be changed. `ModelPackageContext` opens one to run its models.

        package = ModelPackage()
        package.set_component_inline("decoder", '{"variants": {"cpu": {"ep": "CPUExecutionProvider"}}}')
        package.set_variant_executor_info_inline("decoder", "cpu", "ort", '{"model_file": "model.onnx"}')
        package.commit("decoder.package")      # then put the model into decoder.package/cpu

    Changes are in memory until `commit`. Texts are JSON. For one thread at a time.
    """

    def __init__(self) -> None:
        """An empty package, which has no folder yet."""
        self._root: str | None = None
        self._manifest: dict[str, Any] = {"components": {}}
        # Descriptions in files of their own: name of the component -> path in the package, and content.
        self._external: dict[str, tuple[str, dict[str, Any]]] = {}
        self._assets: dict[str, str] = {}
        self._dropped: set[str] = set()
        self._open = True

    @staticmethod
    def open(
        package_root: str | os.PathLike[str],
        allow_external_paths: bool = False,
        follow_symlinks: bool = True,
        strict_unknown_fields: bool = True,
    ) -> ModelPackage:
        """Opens the package in a folder.

        Args:
            package_root: the folder with manifest.json.
            allow_external_paths: accept paths that leave the package, whatever its layout is.
            follow_symlinks: accept links.
            strict_unknown_fields: refuse members that the format does not have.

        Raises:
            OSError: there is no such folder, or a file of the package is missing.
            ValueError: a description is no JSON, or breaks a rule of the format.
        """
        root = os.path.abspath(os.fspath(package_root))
        if not os.path.isdir(root):
            raise OSError(f"package_root '{root}' is not a folder; give the folder with {files.MANIFEST}")
        package = ModelPackage()
        package._root = root
        rules = files.Rules(root, allow_external_paths, follow_symlinks, strict_unknown_fields)
        manifest, package._external = files.read_package(rules)
        package._manifest = manifest
        package._assets = files.assets_of(manifest, root)
        return package

    @staticmethod
    def compute_directory_hash(source_dir: str | os.PathLike[str]) -> str:
        """The name of a folder as a shared asset: "sha256:" and 64 digits, from the paths and contents of its files."""
        return files.directory_hash(os.fspath(source_dir))

    def close(self) -> None:
        """Drops changes that are not committed; later calls raise ValueError."""
        self._open = False

    def commit(
        self,
        dest_root: str | os.PathLike[str] | None = None,
        mode: ModelPackageWriteMode = ModelPackageWriteMode.PRESERVE,
    ) -> None:
        """Writes the package.

        Args:
            dest_root: a new or empty folder, which gets descriptions, variants and assets and is the package's folder
                from then on. None: change the folder that the package was opened from, or committed to.
            mode: PRESERVE writes descriptions where they were; DENSE writes all into the manifest.

        Raises:
            RuntimeError: there is no folder, it is not empty, an asset is not what its name says, or DENSE meets a
                variant whose executor information is in a file.
        """
        self._check_open()
        target = self._root if dest_root is None else os.path.abspath(os.fspath(dest_root))
        if target is None:
            raise RuntimeError("commit: the package has no folder yet; give dest_root")
        manifest, external = self._described(ModelPackageWriteMode(mode))
        if dest_root is not None:
            if os.path.isdir(target) and os.listdir(target):
                raise RuntimeError(f"commit: '{target}' is not empty; give a new folder")
            os.makedirs(target, exist_ok=True)
            if self._root is not None:
                for folder in self._variant_folders():
                    files.copy_folder(self._root, target, folder)
        self._write_assets(target)
        for path, content in external.values():
            files.write_json(os.path.join(target, path), content)
        files.write_json(os.path.join(target, files.MANIFEST), manifest)
        self._root, self._manifest, self._external = target, manifest, external

    def _described(
        self, mode: ModelPackageWriteMode
    ) -> tuple[dict[str, Any], dict[str, tuple[str, dict[str, Any]]]]:
        """Manifest and descriptions in files, as they are written."""
        components: dict[str, Any] = {}
        for name in self._components():
            if mode == ModelPackageWriteMode.DENSE:
                components[name] = self._component(name)
                self._require_inline(name)
            else:
                components[name] = self._external[name][0] if name in self._external else self._component(name)
        rest = {key: value for key, value in self._manifest.items() if key not in ("schema_version", "components")}
        manifest = {"schema_version": files.SCHEMA_VERSION, **rest, "components": components}
        external = {} if mode == ModelPackageWriteMode.DENSE else self._external
        return manifest, external

    def _require_inline(self, name: str) -> None:
        for variant, content in self._component(name)["variants"].items():
            for key, info in content.get("executor_info", {}).items():
                if isinstance(info, str):
                    raise RuntimeError(
                        f"commit: component '{name}' variant '{variant}' has its executor_info '{key}' in a file; set "
                        "it with set_variant_executor_info_inline(), or commit with PRESERVE"
                    )

    def _write_assets(self, target: str) -> None:
        for uri, source in self._assets.items():
            place = os.path.join(target, files.ASSETS, uri.replace(":", "-"))
            inside = self._manifest.get("layout") != "installed" or uri not in self._manifest.get("shared_assets", {})
            if os.path.abspath(source) == place or not inside:
                continue
            found = files.directory_hash(source)
            if found != uri:
                raise RuntimeError(f"commit: shared asset '{source}' is {found}, expected {uri}; add it again")
            shutil.copytree(source, place, dirs_exist_ok=True)
            self._assets[uri] = place
        for uri in self._dropped:
            shutil.rmtree(os.path.join(target, files.ASSETS, uri.replace(":", "-")), ignore_errors=True)
        self._dropped.clear()

    def _variant_folders(self) -> list[str]:
        """The folders of all variants, relative to the package."""
        folders = []
        for name in self._components():
            base = os.path.dirname(self._external[name][0]) if name in self._external else ""
            for variant, content in self._component(name)["variants"].items():
                folders.append(os.path.normpath(os.path.join(base, content.get("variant_directory") or variant)))
        return folders

    def prune(self) -> None:
        """Deletes folders of the package that nothing refers to any more: removed components, variants and assets."""
        self._check_open()
        if self._root is None:
            return
        kept = [os.path.join(self._root, folder) for folder in self._variant_folders()]
        kept += [os.path.join(self._root, path) for path, _ in self._external.values()]
        kept += list(self._assets.values())
        files.delete_unused_folders(self._root, kept)

    def get_info(self) -> dict[str, Any]:
        """All that the package says, with resolved paths, as a dict."""
        self._check_open()
        return files.describe(self._root, self._manifest, self._components_in_full(), self._assets)

    def set_metadata(
        self, name: str | None = None, version: str | None = None, description: str | None = None
    ) -> None:
        """Sets what people read: None leaves a member as it is."""
        self._check_open()
        values = {"package_name": name, "package_version": version, "description": description}
        self._manifest.update({key: value for key, value in values.items() if value is not None})

    def set_layout(self, layout: str) -> None:
        """Sets the layout: "portable" (no path leaves the package) or "installed"."""
        self._check_open()
        if layout not in ("portable", "installed"):
            raise ValueError(f"set_layout: got '{layout}', expected 'portable' or 'installed'")
        self._manifest["layout"] = layout

    def set_additional_metadata_json(
        self,
        scope: str,
        component_name: str | None = None,
        variant_name: str | None = None,
        json: str | None = None,
    ) -> None:
        """Stores anything beside the description of the package, a component or a variant.

        Args:
            scope: "manifest", "component" or "variant".
            component_name: for a component or variant.
            variant_name: for a variant.
            json: the text; None removes it.
        """
        self._check_open()
        if scope == "manifest":
            owner = self._manifest
        elif scope == "component":
            owner = self._component(component_name)
        elif scope == "variant":
            owner = self._variant(component_name, variant_name)
        else:
            raise ValueError(f"scope: got '{scope}', expected 'manifest', 'component' or 'variant'")
        if json is None:
            owner.pop("additional_metadata", None)
        else:
            owner["additional_metadata"] = files.parse(json, "additional metadata")

    def set_component_inline(self, name: str, component_json: str) -> None:
        """Adds or replaces a component whose description is in the manifest."""
        self._check_open()
        component = files.parse_component(component_json, f"component '{name}'")
        self._external.pop(name, None)
        self._manifest["components"][name] = component

    def set_component_external(self, name: str, path: str | os.PathLike[str]) -> None:
        """Adds or replaces a component whose description is in a file of its own.

        Args:
            name: the component.
            path: component.json or its folder, relative to the package; its content is read if it exists.
        """
        self._check_open()
        place = os.fspath(path)
        full = os.path.join(self._root or "", place)
        if os.path.isdir(full):
            place, full = os.path.join(place, files.COMPONENT), os.path.join(full, files.COMPONENT)
        content: dict[str, Any] = {"variants": {}}
        if self._root is not None and os.path.isfile(full):
            content = files.parse_component(files.text_of_file(full), f"component '{name}'")
        self._manifest["components"][name] = place
        self._external[name] = (place, content)

    def get_component_json(self, component_name: str) -> str:
        """The description of a component."""
        self._check_open()
        return files.dump(self._component(component_name))

    def remove_component(self, name: str) -> None:
        """Removes a component, if there is one of this name."""
        self._check_open()
        self._manifest["components"].pop(name, None)
        self._external.pop(name, None)

    def set_variant(self, component_name: str, variant_name: str, variant_json: str) -> None:
        """Adds or replaces a variant of a component."""
        self._check_open()
        variant = files.parse_variant(variant_json, f"variant '{variant_name}'")
        self._component(component_name)["variants"][variant_name] = variant

    def get_variant_json(self, component_name: str, variant_name: str) -> str:
        """The description of a variant."""
        self._check_open()
        return files.dump(self._variant(component_name, variant_name))

    def remove_variant(self, component_name: str, variant_name: str) -> None:
        """Removes a variant, if there is one of this name."""
        self._check_open()
        if component_name in self._components():
            self._component(component_name)["variants"].pop(variant_name, None)

    def set_variant_executor_info_inline(
        self, component_name: str, variant_name: str, namespace_key: str, info_json: str
    ) -> None:
        """Sets what an engine needs to know about a variant; the key of ONNX Runtime and Retort is "ort"."""
        self._check_open()
        info = files.parse(info_json, "executor_info")
        self._variant(component_name, variant_name).setdefault("executor_info", {})[namespace_key] = info

    def set_variant_executor_info_external(
        self, component_name: str, variant_name: str, namespace_key: str, path: str | os.PathLike[str]
    ) -> None:
        """Says in which file of the variant's folder an engine finds what it needs to know."""
        self._check_open()
        infos = self._variant(component_name, variant_name).setdefault("executor_info", {})
        infos[namespace_key] = os.fspath(path)

    def remove_variant_executor_info(self, component_name: str, variant_name: str, namespace_key: str) -> None:
        """Removes what is stored for an engine, if there is something."""
        self._check_open()
        variant = self._variant(component_name, variant_name)
        infos = variant.get("executor_info", {})
        infos.pop(namespace_key, None)
        if not infos:
            variant.pop("executor_info", None)

    def add_shared_asset(
        self, source_dir: str | os.PathLike[str], expected_uri: str | None = None, copy_in: bool = True
    ) -> str:
        """Adds a folder of files that several variants use, and gives its name: "sha256:..." .

        Args:
            source_dir: the folder; its files are copied by `commit`.
            expected_uri: the name that the folder must have.
            copy_in: False: refer to the folder where it is, in a package with the layout "installed".
        """
        self._check_open()
        source = os.path.abspath(os.fspath(source_dir))
        uri = files.directory_hash(source)
        if expected_uri is not None and expected_uri != uri:
            raise RuntimeError(f"add_shared_asset: '{source}' is {uri}, expected {expected_uri}")
        if not copy_in:
            if self._manifest.get("layout", "portable") != "installed":
                raise RuntimeError(
                    "add_shared_asset: copy_in=False refers to a folder outside of the package, which needs "
                    "set_layout('installed')"
                )
            self._manifest.setdefault("shared_assets", {})[uri] = source
        self._dropped.discard(uri)
        self._assets[uri] = source
        return uri

    def remove_shared_asset(self, uri: str) -> None:
        """Removes a shared asset; `commit` deletes its folder."""
        self._check_open()
        if self._assets.pop(uri, None) is not None:
            self._dropped.add(uri)
        self._manifest.get("shared_assets", {}).pop(uri, None)

    def resolve_asset_uri(self, uri: str) -> str:
        """The folder of a shared asset.

        Raises:
            FileNotFoundError: the package has no such asset.
        """
        self._check_open()
        if uri not in self._assets:
            raise FileNotFoundError(f"the package has no shared asset '{uri}'; it has {sorted(self._assets)}")
        return self._assets[uri]

    def resolve_string_ref(self, string_ref: str, base_dir: str | None = None, must_exist: bool = False) -> str:
        """The path that a text of a description stands for.

        Args:
            string_ref: a relative path, or "sha256:.../file" in a shared asset.
            base_dir: the folder that a relative path begins in; None: that of the package.
            must_exist: raise FileNotFoundError if there is no such file.
        """
        self._check_open()
        uri, _, rest = string_ref.partition("/")
        if uri.startswith("sha256:"):
            path = os.path.join(self.resolve_asset_uri(uri), rest) if rest else self.resolve_asset_uri(uri)
        else:
            if self._manifest.get("layout", "portable") == "portable":
                files.require_inside(string_ref)
            path = os.path.normpath(os.path.join(base_dir or self._root or "", string_ref))
        if must_exist and not os.path.exists(path):
            raise FileNotFoundError(f"'{string_ref}' is '{path}', which does not exist")
        return path

    def _check_open(self) -> None:
        if not self._open:
            raise ValueError("the model package is closed; open it again")

    def _components(self) -> list[str]:
        return list(self._manifest["components"])

    def _component(self, name: str | None) -> dict[str, Any]:
        found = self._external[name][1] if name in self._external else self._manifest["components"].get(name)
        if found is None:
            raise FileNotFoundError(f"component '{name}' not found; the package has {self._components()}")
        component: dict[str, Any] = found
        return component

    def _variant(self, component: str | None, name: str | None) -> dict[str, Any]:
        variants = self._component(component)["variants"]
        if name not in variants:
            raise FileNotFoundError(f"variant '{name}' not found in component '{component}', which has {list(variants)}")
        variant: dict[str, Any] = variants[name]
        return variant

    def _components_in_full(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """For each component the folder in which its variants are, and its description."""
        result = {}
        for name in self._components():
            folder = os.path.dirname(self._external[name][0]) if name in self._external else ""
            result[name] = (folder, self._component(name))
        return result

    def __repr__(self) -> str:
        place = repr(self._root) if self._root else "in memory"
        return f"<ModelPackage {place}: {', '.join(self._components()) or 'no components'}>"
