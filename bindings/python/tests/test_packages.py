"""Model packages: written in Python, opened by the engine."""

from __future__ import annotations

import json
import os
import pathlib

import numpy as np
import pytest
import retort
from models import add

CPU = {"ep": "CPUExecutionProvider", "executor_info": {"ort": {"model_file": "model.onnx"}}}


def package() -> retort.ModelPackage:
    made = retort.ModelPackage()
    made.set_component_inline("adder", json.dumps({"variants": {"cpu": CPU}}))
    return made


def committed(folder: pathlib.Path) -> pathlib.Path:
    root = folder / "package"
    package().commit(root)
    (root / "cpu").mkdir()
    (root / "cpu" / "model.onnx").write_bytes(add())
    return root


def test_a_committed_package_runs(tmp_path: pathlib.Path) -> None:
    root = committed(tmp_path)
    context = retort.ModelPackageContext(str(root))
    assert context.get_schema_version() == 1
    assert (context.get_component_count(), context.get_component_names()) == (1, ["adder"])
    assert (context.get_variant_count("adder"), context.get_variant_names("adder")) == (1, ["cpu"])
    assert context.get_variant_ep_name("adder", "cpu") == "CPUExecutionProvider"
    component = context.select_component("adder", retort.ModelPackageOptions(retort.SessionOptions()))
    assert component.get_selected_variant_name() == "cpu"
    assert os.path.samefile(component.get_selected_variant_folder_path(), root / "cpu")
    session = component.create_session()
    assert isinstance(session, retort.InferenceSession)
    ones = np.ones(2, np.float32)
    assert session.run(None, {"x": ones, "y": ones})[0].tolist() == [2, 2]
    with pytest.raises(NotImplementedError, match="set_providers: a session of a model package"):
        session.set_providers()
    with pytest.raises(NotImplementedError, match="pickling"):
        session.__reduce__()


def test_what_a_package_tells(tmp_path: pathlib.Path) -> None:
    root = committed(tmp_path)
    made = retort.ModelPackage.open(root)
    made.set_metadata("name", "2", "text")
    made.set_metadata(version="3")
    made.set_additional_metadata_json("manifest", json='{"a": 1}')
    made.set_additional_metadata_json("component", "adder", json='{"b": 2}')
    made.set_additional_metadata_json("variant", "adder", "cpu", '{"c": 3}')
    info = made.get_info()
    assert (info["package_name"], info["package_version"], info["description"]) == ("name", "3", "text")
    assert (info["schema_version_major"], info["layout"]) == (1, "portable")
    assert info["additional_metadata_json"] == '{"a":1}'
    (component,) = info["components"]
    assert component["additional_metadata_json"] == '{"b":2}'
    (variant,) = component["variants"]
    assert variant["variant_directory"] == str(root / "cpu")
    assert (variant["name"], variant["ep"], variant["additional_metadata_json"]) == (
        "cpu", "CPUExecutionProvider", '{"c":3}',
    )
    assert json.loads(variant["executor_info"]["ort"]) == {"model_file": "model.onnx"}
    made.commit()
    again = retort.ModelPackage.open(root)
    assert again.get_info() == info
    assert repr(again) == f"<ModelPackage '{root}': adder>"


def test_descriptions_in_files_of_their_own(tmp_path: pathlib.Path) -> None:
    root = tmp_path / "package"
    (root / "part" / "cpu").mkdir(parents=True)
    (root / "part" / "component.json").write_text(json.dumps({"variants": {"cpu": CPU}}), encoding="utf-8")
    (root / "part" / "cpu" / "model.onnx").write_bytes(add())
    (root / "manifest.json").write_text('{"schema_version": "1.0", "components": {"part": "part"}}', encoding="utf-8")
    made = retort.ModelPackage.open(str(root))
    assert json.loads(made.get_component_json("part")) == {"variants": {"cpu": CPU}}
    made.set_variant_executor_info_inline("part", "cpu", "other", '{"x": 1}')
    assert json.loads(made.get_variant_json("part", "cpu"))["executor_info"]["other"] == {"x": 1}
    made.remove_variant_executor_info("part", "cpu", "other")
    made.commit(tmp_path / "kept")
    assert json.loads((tmp_path / "kept" / "manifest.json").read_text(encoding="utf-8"))["components"] == {
        "part": os.path.join("part", "component.json")
    }
    assert (tmp_path / "kept" / "part" / "cpu" / "model.onnx").exists()
    made.commit(tmp_path / "dense", retort.ModelPackageWriteMode.DENSE)
    assert json.loads((tmp_path / "dense" / "manifest.json").read_text(encoding="utf-8"))["components"]["part"] == {
        "variants": {"cpu": CPU}
    }
    for folder in ("kept", ):
        assert retort.ModelPackageContext(str(tmp_path / folder)).get_component_names() == ["part"]


def test_shared_assets(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "asset"
    (folder / "sub").mkdir(parents=True)
    (folder / "w.bin").write_bytes(b"abc")
    (folder / "sub" / "x").write_bytes(b"")
    # What ONNX Runtime 1.32.0 computes for these two files.
    name = "sha256:5874e0fb3fc5a1a7d0d4954d65eebc4c4fa17fe6e62179e232b9f018d6e6b8b0"
    assert retort.ModelPackage.compute_directory_hash(folder) == name
    made = package()
    assert made.add_shared_asset(str(folder)) == name
    with pytest.raises(RuntimeError, match="expected sha256:0"):
        made.add_shared_asset(folder, "sha256:" + "0" * 64)
    with pytest.raises(RuntimeError, match="set_layout"):
        made.add_shared_asset(folder, copy_in=False)
    root = tmp_path / "package"
    made.commit(root)
    place = root / "shared_assets" / name.replace(":", "-")
    assert (place / "w.bin").read_bytes() == b"abc"
    assert made.resolve_asset_uri(name) == str(place)
    assert made.resolve_string_ref(f"{name}/w.bin", must_exist=True) == str(place / "w.bin")
    with pytest.raises(FileNotFoundError, match="no shared asset"):
        made.resolve_asset_uri("sha256:" + "1" * 64)
    made.remove_shared_asset(name)
    made.commit()
    assert not place.exists()


def test_prune_deletes_what_nothing_names(tmp_path: pathlib.Path) -> None:
    root = committed(tmp_path)
    (root / "old" / "deep").mkdir(parents=True)
    (root / "note.txt").write_text("kept", encoding="utf-8")
    made = retort.ModelPackage.open(root)
    made.prune()
    assert sorted(os.listdir(root)) == ["cpu", "manifest.json", "note.txt"]
    assert (root / "cpu" / "model.onnx").exists()


def test_mistakes(tmp_path: pathlib.Path) -> None:
    made = package()
    with pytest.raises(RuntimeError, match="no folder yet"):
        made.commit()
    with pytest.raises(ValueError, match="not JSON"):
        made.set_component_inline("b", "{")
    with pytest.raises(ValueError, match="unknown field 'foo'"):
        made.set_variant("adder", "v", '{"foo": 1}')
    with pytest.raises(FileNotFoundError, match="component 'b' not found"):
        made.set_variant("b", "v", "{}")
    with pytest.raises(FileNotFoundError, match="variant 'v' not found"):
        made.get_variant_json("adder", "v")
    with pytest.raises(ValueError, match="expected 'portable' or 'installed'"):
        made.set_layout("other")
    with pytest.raises(ValueError, match="leaves the package"):
        made.resolve_string_ref("../x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_bytes(b"")
    with pytest.raises(RuntimeError, match="is not empty"):
        made.commit(tmp_path / "full")
    with pytest.raises(OSError, match="is not a folder"):
        retort.ModelPackage.open(tmp_path / "none")
    made.set_variant_executor_info_external("adder", "cpu", "ort", "ort.json")
    with pytest.raises(RuntimeError, match="set_variant_executor_info_inline"):
        made.commit(tmp_path / "dense", retort.ModelPackageWriteMode.DENSE)
    made.close()
    with pytest.raises(ValueError, match="is closed"):
        made.get_info()
