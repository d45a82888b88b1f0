"""Model packages that cannot be opened, or have no variant for the CPU."""
import json
import os

from case import Chapter
from program import c_text

packages = Chapter("Model packages")
CPU = {"ep": "CPUExecutionProvider"}


def open_package(p, manifest, **more):
    """The context of a package; a variant in place of a manifest is its only one."""
    os.makedirs("package/cpu")
    if not isinstance(manifest, str):
        main = {"variants": {"cpu": {**CPU, **manifest}}}
        manifest = json.dumps({"schema_version": "1.0", "components": {"main": main}, **more})
    with open("package/manifest.json", "w", encoding="utf-8") as f:
        f.write(manifest)
    return p.make("OrtModelPackageApi.CreateModelPackageContext", c_text("package"))


def select(p, context, component="main"):
    options = p.make("OrtModelPackageApi.CreateModelPackageOptionsFromSessionOptions", p.environment, p.options())
    return p.make("OrtModelPackageApi.SelectComponent", context, c_text(component), options)


@packages.case("the folder does not exist", "'nowhere' folder manifest.json")
def _(p):
    p.make("OrtModelPackageApi.CreateModelPackageContext", c_text("nowhere"))


@packages.case("a future version", "'package' 7 1")
def _(p):
    open_package(p, {}, schema_version="7.0")


@packages.case("no components", "'components' missing")
def _(p):
    open_package(p, '{"schema_version": "1.0"}')


@packages.case("an unknown member", "'main' 'cpu' 'provider' additional_metadata")
def _(p):
    open_package(p, {"provider": "CPU"})


@packages.case("a member of another type", "'main' 'cpu' 'ep' string")
def _(p):
    open_package(p, {"ep": ["CPUExecutionProvider"]})


@packages.case("a path with '..'", "'main' 'cpu' '../elsewhere' portable")
def _(p):
    open_package(p, {"variant_directory": "../elsewhere"})


@packages.case("an absolute path", "'main' 'cpu' '/etc/passwd' portable")
def _(p):
    open_package(p, {"executor_info": {"ort": {"model_file": "/etc/passwd"}}})


@packages.case("an option that makes sessions write", "'cpu' session.optimized_model_filepath program")
def _(p):
    open_package(p, {"executor_info": {"ort": {"session_options": {"session.optimized_model_filepath": "/tmp/x"}}}})


@packages.case("a shared asset that does not exist", "sha256: shared_assets")
def _(p):
    open_package(p, {"executor_info": {"ort": {"model_file": "sha256:" + "0" * 64 + "/model.onnx"}}})


@packages.case("no such component", "'decoder' 'main'")
def _(p):
    select(p, open_package(p, {}), "decoder")


@packages.case("no variant for the provider", "'main' CPUExecutionProvider 'cpu' CUDAExecutionProvider 'ep'")
def _(p):
    select(p, open_package(p, {"ep": "CUDAExecutionProvider"}))


@packages.case("a variant for a device of that provider", "'main' 'cpu' device 'device'")
def _(p):
    select(p, open_package(p, {"device": "npu"}))


@packages.case("a variant without a model", "'cpu' 'main' 'model_file'")
def _(p):
    selected = select(p, open_package(p, {}))
    p.make("OrtModelPackageApi.CreateSession", p.environment, selected, None)
