"""Fuzzes a reader guided by coverage: `python -m tests.guided NAME -runs=1000000`, with options of libFuzzer.

It needs atheris, and stops at the first input that gives anything else than levels, settings, ... or a ForesightError.
"""

import sys

import atheris

with atheris.instrument_imports(include=["foresight", "json"]):
    from foresight.errors import ForesightError
    from tests.readers import CORPUS, FOLDER, READERS


def try_one(content: bytes) -> None:
    try:
        READERS[sys.argv[1]](content)
    except ForesightError:
        return


if __name__ == "__main__":
    corpus = FOLDER / "corpus"
    corpus.mkdir()
    for number, content in enumerate(CORPUS[sys.argv[1]]):
        (corpus / str(number)).write_bytes(content)
    atheris.Setup([sys.argv[0], str(corpus), *sys.argv[2:]], try_one)
    atheris.Fuzz()
