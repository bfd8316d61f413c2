# `make run` does the main job, `make test` runs every check. Each sets up .venv on a machine that has only
# Python 3.11 (or later) and pip; where uv is installed, it is used with the committed lock file.

PYTHON ?= python3
BIN := .venv/bin
EXTRAS := plots web atari generate tensorboard wandb docs dev

.PHONY: run test style units extras soak docs builtin-levels clean

run: .venv/core
	@echo "Training a small agent on tiny boards: about four minutes on two cores. Ctrl-C saves; make run resumes."
	$(BIN)/foresight train sokoban --preset quick --out runs/quick
	$(BIN)/foresight evaluate runs/quick --levels builtin/tiny-test --think 0,2,4
	$(BIN)/foresight plot runs/quick --out runs/quick.png
	$(BIN)/foresight watch runs/quick --levels builtin/tiny-test --gif runs/solved-tiny.gif
	@echo "An agent that was trained for 100 million steps on a GPU meets 4 boxes on levels it has never seen:"
	$(BIN)/foresight watch drc33-100m --levels builtin/test --gif runs/solved.gif

test: style units extras

style: .venv/core
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

units: .venv/core
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not extra and not soak and not gpu"

extras: .venv/every-extra
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "extra and not soak"

soak: .venv/every-extra .venv/fuzz
	$(BIN)/python -m pytest -m soak

docs: .venv/docs
	NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict --clean
	@echo "The site is in site/: open site/index.html, or with its search: python3 -m http.server -d site"

.venv/core: pyproject.toml uv.lock
	@$(call install,dev generate plots)
	@touch $@

.venv/docs: .venv/core
	@$(call install,dev generate plots docs)
	@touch $@

.venv/fuzz: .venv/core
	@$(call install,dev generate plots fuzz)
	@touch $@

.venv/every-extra: .venv/core
	@$(call install,$(EXTRAS))
	@touch $@

# $(call install,EXTRAS): this package, editable, with these extras
install = \
	set -e; if command -v uv >/dev/null 2>&1; then \
	  uv sync --quiet --locked --inexact $(foreach extra,$(1),--extra $(extra)); \
	else \
	  test -x $(BIN)/pip || $(PYTHON) -m venv .venv; \
	  $(BIN)/pip install --quiet --disable-pip-version-check -e '.[$(subst $(space),$(comma),$(strip $(1)))]'; \
	fi

comma := ,
space := $(subst ,, )

builtin-levels: .venv/core
	$(BIN)/python -m foresight.levels.generator.make_builtin --check

clean:
	rm -rf .venv site .pytest_cache .ruff_cache .hypothesis
