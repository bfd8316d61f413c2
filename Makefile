# `make run` does the main job, `make test` runs every check. Each sets up .venv on a machine that has only
# Python 3.11 (or later) and pip; where uv is installed, it is used with the committed lock file.

PYTHON ?= python3
BIN := .venv/bin
EXTRAS := plots web atari generate tensorboard wandb dev

.PHONY: run test style units extras soak builtin-levels clean

run: .venv/core
	@echo "An agent that learned to plan from 20 million steps of play meets levels it has never seen."
	$(BIN)/foresight evaluate drc33-20m --levels builtin/test --limit 100 --think 0,4
	$(BIN)/foresight watch drc33-20m --levels builtin/test --gif runs/solved.gif

test: style units extras

style: .venv/core
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

units: .venv/core
	$(BIN)/python -m pytest -m "not extra and not soak and not gpu"

extras: .venv/every-extra
	$(BIN)/python -m pytest -m extra

soak: .venv/every-extra
	$(BIN)/python -m pytest -m soak

.venv/core: pyproject.toml uv.lock
	@$(call install,dev generate plots)
	@touch $@

.venv/every-extra: .venv/core
	@$(call install,$(EXTRAS))
	@touch $@

# $(call install,EXTRAS): this package, editable, with these extras
install = \
	set -e; if command -v uv >/dev/null 2>&1; then \
	  uv sync --quiet --locked $(foreach extra,$(1),--extra $(extra)); \
	else \
	  test -x $(BIN)/pip || $(PYTHON) -m venv .venv; \
	  $(BIN)/pip install --quiet --disable-pip-version-check -e '.[$(subst $(space),$(comma),$(strip $(1)))]'; \
	fi

comma := ,
space := $(subst ,, )

builtin-levels: .venv/core
	$(BIN)/python -m foresight.levels.make_builtin --check

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis
