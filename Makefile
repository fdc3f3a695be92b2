# `make help` lists what can be made. Everything runs in .venv, which is made when it is missing and brought up
# to date when pyproject.toml or constraints.txt changes. Needed: Python 3.10 or newer, and make.

PYTHON ?= python3
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= auto

.DEFAULT_GOAL := help
.PHONY: help demo gallery test check pytest slow test-all dist try-dist targets gpu other-torch private-torch soak fuzz ways-out lint types layers format stubs docs storage-table onnx-table bench bench-peers bench-distributed bench-gpu bench-int8 bench-kinds bench-onnx bench-operators bench-sparse bench-instructions golden parity clean

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST) | expand -t 27

demo: $(READY) ## train a LeNet on handwritten digits (examples/digits.py)
	$(BIN)/python examples/digits.py $(ARGS)

gallery: $(READY) ## draw the pictures of docs/examples.md
	for script in $$(grep -l -- '"--picture"' examples/*.py examples/distributed/*.py); do \
	    $(BIN)/python $$script --picture docs/images/examples/$$(basename $$script .py).png || exit 1; \
	done

test: pytest lint types layers ## tests, lint, types, layers

check: format test ## format the code, then everything of `make test`

# Bytecode is written, whatever the environment says: workers and the processes of tests would compile all files again.
pytest: $(READY) ## the tests alone; ARGS="-k name" selects
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n $(WORKERS) --maxprocesses 8 $(ARGS)

slow: $(READY) ## the tests marked slow, and the rows of big tables that `make test` leaves out
	$(BIN)/python -m pytest -q -m slow $(ARGS)

targets: $(if $(EXTRA),,$(READY)) ## the tests of networks for phones; with EXTRA=litert, coreml, ... in an environment that has it
ifdef EXTRA
	test -x $(VENV)-$(EXTRA)/bin/python || "$(PYTHON)" -m venv $(VENV)-$(EXTRA)
	$(VENV)-$(EXTRA)/bin/python -m pip install --quiet --editable '.[dev,safetensors,$(EXTRA)]'
endif
	$(VENV)$(EXTRA:%=-%)/bin/python -m pytest -q -rs -p no:anyio -m slow tests/convert/test_phone_targets.py $(ARGS)

test-all: test slow ## everything of `make test`, and what it leaves out

dist: $(READY) ## the sdist, and the wheel that is built from it, in dist/
	$(BIN)/python -m pip install --quiet --editable '.[release]'
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

try-dist: ## install the wheel in a fresh environment of PYTHON=..., and run the demo with it
	rm -rf $(VENV)-dist
	"$(PYTHON)" -m venv $(VENV)-dist
	$(VENV)-dist/bin/python -m pip install --quiet --constraint constraints.txt "$$(ls dist/rebind-*.whl)[viz]" scikit-learn
	$(VENV)-dist/bin/rebind doctor || true # what it finds is no reason against the wheel
	$(VENV)-dist/bin/python examples/digits.py

gpu: $(READY) ## the tests that need a GPU
	$(BIN)/python -m pytest -q -m "slow or not slow" tests/gpu $(ARGS)

other-torch: ## the tests with another PyTorch: TORCH=2.15.0, and PYTHON=... for another Python
	@test -n "$(TORCH)" || { echo "make other-torch: set TORCH=a version, such as 2.15.0." >&2; exit 2; }
	"$(PYTHON)" -m venv $(VENV)-torch-$(TORCH)
	$(VENV)-torch-$(TORCH)/bin/python -m pip install --quiet --editable '.[dev,image,onnx,safetensors,viz]'
	$(VENV)-torch-$(TORCH)/bin/python -m pip install --quiet torch==$(TORCH) # by itself: it may be above our bound
	$(VENV)-torch-$(TORCH)/bin/python -m pytest -q -n $(WORKERS) --maxprocesses 8 $(ARGS)

private-torch: $(READY) ## the tests with PyTorch's documented functions alone (src/rebind/_torch)
	REBIND_PRIVATE_TORCH=0 $(BIN)/python -m pytest -q -n $(WORKERS) --maxprocesses 8 $(ARGS)

soak: $(READY) ## kill workers of jobs at random moments, 20 times; none may be lost
	$(BIN)/python -m pytest -q -s -m slow tests/launch/test_soak.py $(ARGS)

fuzz: $(READY) ## read 100,000 broken files of each format, try 100,000 keys between brackets, take out 2,000 random networks
	$(BIN)/python -m pytest -q -m fuzz --hypothesis-profile=fuzz -n $(WORKERS) --maxprocesses 8 $(ARGS)

ways-out: $(READY) ## take every network of mx.models and every recorded checkpoint out of rebind, and back
	$(BIN)/python -m pytest -q -m "slow or not slow" tests/sweeps $(ARGS)

lint: $(READY) ## ruff: rules and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## mypy, and pyright on programs as users write them
	$(BIN)/mypy
	$(BIN)/basedpyright --pythonpath $(BIN)/python

layers: $(READY) ## imports go down, never up nor in a circle (import-linter)
	$(BIN)/lint-imports --no-logo

format: $(READY) ## rewrite the code in ruff's format, with sorted imports
	$(BIN)/ruff check --quiet --select I --fix .
	$(BIN)/ruff format .

docs: $(READY) ## the documentation site, in build/docs; needs Python 3.11 (the extra `docs` is installed)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	$(BIN)/python -m sphinx --fail-on-warning --quiet docs build/docs

stubs: $(READY) ## write the stubs of nd, sym and their methods from the table of operators
	$(BIN)/python tools/stubs.py

storage-table: $(READY) ## write the table of operators and storage types
	$(BIN)/python tools/storage_table.py

onnx-table: $(READY) ## write the table of operators in ONNX
	$(BIN)/python -m tools.onnx_table

bench: $(READY) ## time rebind beside PyTorch and what else is installed; and beside MXNet 1.9.1 with ORACLE=its Python
	$(if $(ORACLE),REBIND_ORACLE="$(ORACLE)") $(BIN)/python -m benchmarks $(ARGS)

bench-peers: $(READY) ## install JAX, onnxruntime and OpenVINO, for `make bench`
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'

bench-distributed: $(READY) ## time training over 2 and 4 processes beside DDP and FSDP2
	$(BIN)/python -m benchmarks.distributed $(ARGS)

bench-gpu: $(READY) ## time networks on a GPU, in float32 and bfloat16, beside PyTorch eager and compiled
	$(BIN)/python -m benchmarks.gpu $(ARGS)

bench-int8: $(READY) ## time networks in 8 bits beside float32 and MXNet; ORACLE=a Python with MXNet 1.9.1
	@test -n "$(ORACLE)" || { echo "make bench-int8: set ORACLE=path/to/python, a Python that has MXNet 1.9.1." >&2; exit 2; }
	$(BIN)/python -m benchmarks.int8 --mxnet "$(ORACLE)" $(ARGS)

bench-kinds: $(READY) ## time small networks of many kinds beside PyTorch, and MXNet with ORACLE=its Python
	$(BIN)/python -m benchmarks.kinds $(if $(ORACLE),--mxnet "$(ORACLE)") $(ARGS)

bench-onnx: $(READY) ## time exported networks in onnxruntime beside PyTorch's export of the same; needs onnxscript
	$(BIN)/python -m benchmarks.onnx $(ARGS)

bench-operators: $(READY) ## time single calls of mx.nd beside PyTorch's own, or beside MXNet's with ORACLE=its Python
	$(BIN)/python -m $(if $(ORACLE),benchmarks.operators_mxnet --mxnet "$(ORACLE)",benchmarks.operators) $(ARGS)

bench-sparse: $(READY) ## time sparse products and training beside PyTorch and SciPy, and MXNet with ORACLE=its Python
	$(BIN)/python -m benchmarks.sparse $(if $(ORACLE),--mxnet "$(ORACLE)") $(ARGS)

bench-instructions: $(READY) ## count the machine instructions of small steps (valgrind), and hold them; ARGS=--write writes them
	$(BIN)/python -m benchmarks.instructions $(ARGS)

golden: $(READY) ## remake tests/parity data, check files both ways; ORACLE=a Python with MXNet 1.9.1
	@test -n "$(ORACLE)" || { echo "make golden: set ORACLE=path/to/python, a Python that has MXNet 1.9.1." >&2; exit 2; }
	"$(ORACLE)" -m tests.parity.generate $(ARGS)
	"$(ORACLE)" -m tests.parity.generate_types
	"$(ORACLE)" -m tests.parity.generate_storage
	"$(ORACLE)" -m tests.parity.generate_training
	"$(ORACLE)" -m tests.parity.generate_modules
	"$(ORACLE)" -m tests.parity.generate_counting
	"$(ORACLE)" -m tests.parity.generate_outside
	"$(ORACLE)" -m tests.parity.generate_tolerated
	"$(ORACLE)" -m tests.parity.generate_programs
	"$(ORACLE)" -m tests.parity.generate_svrg
	"$(ORACLE)" -m tests.parity.generate_rows
	"$(ORACLE)" -m tests.parity.generate_overrides
	"$(ORACLE)" -m tests.parity.generate_hooks
	"$(ORACLE)" -m tests.parity.generate_custom_life
	"$(ORACLE)" -m tests.parity.generate_dist_async
	"$(ORACLE)" -m tests.parity.generate_records
	"$(ORACLE)" -m tests.parity.generate_sparse_optimizers
	"$(ORACLE)" -m tests.parity.generate_expressions
	"$(ORACLE)" -m tests.parity.generate_numpy_shapes
	"$(ORACLE)" -m tests.parity.generate_snippets
	"$(ORACLE)" -m tests.parity.generate_sparse_examples
	"$(ORACLE)" -m tests.parity.generate_sparse_arrays
	$(BIN)/python -m tests.parity.write_models build/parity-models
	"$(ORACLE)" -m tests.parity.generate_models build/parity-models

	"$(ORACLE)" -m tests.parity.generate_examples
	$(BIN)/python -m tests.parity.write_files build/parity
	"$(ORACLE)" -m tests.parity.generate --check build/parity
	$(BIN)/python -m tests.parity.write_states build/parity-states
	"$(ORACLE)" -m tests.parity.generate_optimizers --check build/parity-states
	"$(ORACLE)" -m tests.parity.generate_sparse_optimizers --check build/parity-states
	$(BIN)/python -m tests.parity.write_feedforward build/parity/feedforward
	"$(ORACLE)" -m tests.parity.generate_feedforward --check build/parity/feedforward

parity: $(READY) ## which of MXNet 1.9.1's operators are here
	$(BIN)/python -m tests.parity.coverage

clean: ## remove .venv and the tools' caches
	rm -rf $(VENV) build dist docs/generated docs/operators .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml constraints.txt
	@command -v "$(PYTHON)" >/dev/null || { echo "make: no '$(PYTHON)' here; name a Python 3.10 or newer with PYTHON=..." >&2; exit 2; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo "make: rebind needs Python 3.10 or newer; '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1). Name another with PYTHON=..." >&2; exit 2; }
	@echo "Installing rebind and its tools into $(VENV) (some minutes the first time)"
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,image,onnx,openvino,safetensors,viz]'
	@$(BIN)/python -c 'import torch; print("Ready: torch", torch.__version__)'
	@touch $@
