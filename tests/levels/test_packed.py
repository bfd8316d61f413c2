import hashlib
import json
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from foresight.errors import ForesightError
from foresight.levels import LevelError, LevelSet, read_set, write_set
from foresight.levels.limits import LARGEST_FILE, LARGEST_HEADER
from foresight.levels.packed import MAGIC, PREFIX
from foresight.storage.files import Disk
from tests.levels.drawings import SMALL, levels, random_cells


@pytest.fixture
def packed():
    return LevelSet.from_cells(random_cells(np.random.default_rng(0), 40, 7, 8, 3), "forty", "a test")


@pytest.fixture
def path(packed, tmp_path):
    write_set(packed, tmp_path / "forty.levels")
    return tmp_path / "forty.levels"


def with_header(change: dict, records: bytes, digest: bytes | None = None, version: int = 1) -> bytes:
    text = json.dumps(change).encode()
    return PREFIX.pack(MAGIC, version, len(text), digest or hashlib.sha256(text).digest()) + text + records


def header_of(packed: LevelSet) -> dict:
    fields = ("name", "height", "width", "boxes", "source", "digest")
    return {field: getattr(packed, field) for field in fields} | {"count": len(packed)}


def test_a_written_set_is_read_back(packed, path):
    back = read_set(path)
    assert (back.name, back.source, back.height, back.width, back.boxes) == ("forty", "a test", 7, 8, 3)
    assert np.array_equal(back.records, packed.records)
    assert back.digest == packed.digest


def test_the_records_stay_in_the_file(path):
    records = read_set(path).records
    assert not records.flags.writeable
    assert isinstance(records.base, np.memmap)


def test_every_cut_is_rejected(path):
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(LevelError, match=r"forty\.levels: "):
            read_set(path)


@pytest.mark.parametrize("titles", [(), ("x",) * 40], ids=["without titles", "with titles"])
def test_every_flipped_bit_is_rejected(packed, path, titles):
    write_set(replace(packed, titles=titles), path)
    whole = path.read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(LevelError, match=r"forty\.levels: "):
            read_set(path)


def test_bytes_after_the_end_are_rejected(path):
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(LevelError, match=r"expected .* for 40 levels; the file is damaged"):
        read_set(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a zip", b"\0" * 1000], ids=["empty", "foreign", "zeros"])
def test_a_foreign_file_is_rejected(tmp_path, content):
    (tmp_path / "x.levels").write_bytes(content)
    with pytest.raises(LevelError, match="not a packed level set"):
        read_set(tmp_path / "x.levels")


def test_another_version_is_rejected_by_its_number(path):
    whole = bytearray(path.read_bytes())
    whole[8] = 3
    path.write_bytes(whole)
    with pytest.raises(LevelError, match="version 3 of the format, expected 1 or 2"):
        read_set(path)


def test_an_oversized_header_is_rejected_unread(tmp_path):
    (tmp_path / "x.levels").write_bytes(PREFIX.pack(MAGIC, 1, LARGEST_HEADER + 1, b"") + b" " * 100)
    with pytest.raises(LevelError, match="expected at most 65536"):
        read_set(tmp_path / "x.levels")


HOSTILE = {
    "no object": [],
    "a field is missing": {"name": "x"},
    "a number is text": {"height": "10"},
    "a number is true": {"count": True},
    "a huge board": {"height": 10**9},
    "no levels": {"count": 0},
    "many levels": {"count": 10**18},
    "no boxes": {"boxes": 0},
    "boxes without room": {"boxes": 31},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_header_that_lies_is_rejected(packed, tmp_path, name):
    change = HOSTILE[name]
    header = header_of(packed) | change if change and name != "a field is missing" else change
    (tmp_path / "x.levels").write_bytes(with_header(header, packed.records.tobytes()))
    with pytest.raises(LevelError, match=r"x\.levels: "):
        read_set(tmp_path / "x.levels")


def test_a_header_nested_without_end_is_rejected(tmp_path):
    text = b"[" * 60_000
    prefix = PREFIX.pack(MAGIC, 1, len(text), hashlib.sha256(text).digest())
    (tmp_path / "x.levels").write_bytes(prefix + text)
    with pytest.raises(LevelError, match="the header is not JSON"):
        read_set(tmp_path / "x.levels")


FORGED = {  # wall bits (of three inner cells), box, target, player
    "there is no box": (0, 255, 255, 0),
    "boxes and targets differ": (0, 1, 255, 0),
    "the player stands on a box": (0, 1, 2, 1),
    "a box is inside a wall": (0b111, 1, 2, 0),
    "a target is inside a wall": (0b100, 1, 2, 0),
    "the player is inside a wall": (0b001, 1, 2, 0),
    "its walls reach beyond the board": (0b1000, 1, 2, 0),
}


@pytest.mark.parametrize("fault", FORGED)
def test_records_that_are_no_levels_are_rejected_even_with_a_right_digest(tmp_path, fault):
    records = np.array([levels(SMALL).records[0], FORGED[fault]], np.uint8)
    write_set(LevelSet("x", 3, 5, 1, "", records), tmp_path / "x.levels")
    with pytest.raises(LevelError, match=f"level 1: {fault}"):
        read_set(tmp_path / "x.levels")


@pytest.mark.parametrize("boxes", [(2, 1), (1, 1), (255, 1)])
def test_positions_out_of_order_are_rejected(tmp_path, boxes):
    records = np.array([(0, *boxes, 1, 2, 0)], np.uint8)
    write_set(LevelSet("x", 3, 6, 2, "", records), tmp_path / "x.levels")
    with pytest.raises(LevelError, match="level 0: its positions do not ascend"):
        read_set(tmp_path / "x.levels")


def test_large_boards_are_written_and_read(tmp_path):
    large = LevelSet.from_cells(random_cells(np.random.default_rng(0), 5, 64, 64, 40), "large", "a test")
    write_set(large, tmp_path / "x.levels")
    assert np.array_equal(read_set(tmp_path / "x.levels").cells(), large.cells())


@pytest.mark.parametrize(
    "labels", [b"[]", b"{}", b"x", b"[" * 1000, b'{"titles": ["a"], "authors": 3}', b'{"titles": [1]}']
)
def test_labels_that_are_none_are_rejected(packed, tmp_path, labels):
    header = header_of(packed) | {"labels_bytes": len(labels), "labels_digest": hashlib.sha256(labels).hexdigest()}
    (tmp_path / "x.levels").write_bytes(with_header(header, packed.records.tobytes() + labels, version=2))
    with pytest.raises(LevelError, match=r"x\.levels: (the titles are|expected a title)"):
        read_set(tmp_path / "x.levels")


def test_a_sparse_file_of_a_gigabyte_is_rejected_by_its_size(tmp_path):
    with open(tmp_path / "x.levels", "wb") as file:
        file.write(MAGIC)
        file.truncate(1 << 30)
    with pytest.raises(LevelError, match=f"expected at most {LARGEST_FILE} in a packed level set"):
        read_set(tmp_path / "x.levels")


def test_a_name_with_control_characters_is_shown_escaped(packed, tmp_path):
    header = header_of(packed) | {"name": "\x1b[2J\nx", "height": "\x1b]0;x\x07"}
    (tmp_path / "x\x1b.levels").write_bytes(with_header(header, packed.records.tobytes()))
    with pytest.raises(LevelError) as error:
        read_set(tmp_path / "x\x1b.levels")
    assert str(error.value).isprintable()


@pytest.mark.parametrize("column", [1, 2, 3], ids=["box", "target", "player"])
def test_positions_outside_the_board_are_rejected_even_with_a_right_digest(tmp_path, column):
    records = levels(SMALL).records.copy()
    records[0, column] = 3
    forged = LevelSet("x", 3, 5, 1, "", records)
    write_set(forged, tmp_path / "x.levels")
    with pytest.raises(LevelError, match="outside the board"):
        read_set(tmp_path / "x.levels")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ForesightError, match=r"cannot read .*nowhere\.levels: No such file"):
        read_set(tmp_path / "nowhere.levels")


class FullDisk(Disk):
    def sync(self, descriptor):
        raise OSError(28, "No space left on device")


def test_a_failed_write_leaves_the_old_file(path, monkeypatch):
    before = path.read_bytes()
    monkeypatch.setattr("foresight.storage.files.disk", FullDisk())
    with pytest.raises(ForesightError, match="No space left on device"):
        write_set(levels(SMALL), path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["forty.levels"]


def test_reading_a_large_set_takes_little_memory_beside_the_map(tmp_path):
    many = levels(*[("##########", "#@$$$$   #", "#  ....  #", *["#        #"] * 6, "##########")] * 2)
    write_set(LevelSet("many", 10, 10, 4, "", np.repeat(many.records, 200_000, axis=0)), tmp_path / "many.levels")
    tracemalloc.start()
    read_set(tmp_path / "many.levels")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * 17 * 400_000
