"""Every bound on what is read as levels, so that no file costs much more than its own size in time or memory."""

SMALLEST_SIDE, LARGEST_SIDE = 3, 64  # cells of a board

LARGEST_FILE = 1 << 28  # bytes of one text or packed file; all of unfiltered-train as one text is under half of it
LONGEST_LINE = 1 << 16  # characters
LONGEST_GAP = 100_000  # lines of a text without a level among them
LARGEST_MIXED = 1 << 26  # bytes of a packed set whose boards are filled up to one size

LARGEST_TREE = 1 << 29  # bytes of a folder's or archive's files together; the published sets are under half of it
MOST_ENTRIES = 10_000  # files and folders in a folder or archive; the published archive has under 2,000
UNPACKED_RATIO, UNPACKED_AT_LEAST = 64, 1 << 22  # level texts shrink 6 to 8 times in a zip, a tar.xz or a tar.bz2

LARGEST_HEADER = 1 << 16  # bytes of a packed file's header
LARGEST_LABELS = 1 << 24  # bytes of the titles and authors in a packed file
LONGEST_LABEL = 255  # characters of a title, an author or a set's name


def most_unpacked(archive_bytes: int) -> int:
    """How many bytes an archive of this size may unpack to."""
    return min(LARGEST_TREE, max(UNPACKED_AT_LEAST, UNPACKED_RATIO * archive_bytes))
