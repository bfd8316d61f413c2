"""95 % intervals: of a mean, of a share. Written out with `scipy.special`: `scipy.stats` takes a second to import."""

import numpy as np
from scipy.special import ndtri, stdtrit

CONFIDENCE = 0.975  # what lies below the upper end of an interval that leaves 2.5 % out on either side


def margin_of_mean(values: np.ndarray) -> np.ndarray:
    """Half of Student's interval of the mean of independent values, along the first axis, which has at least two."""
    count = len(values)
    return stdtrit(count - 1, CONFIDENCE) * np.std(values, axis=0, ddof=1) / np.sqrt(count)


def percent_interval(hits: int, count: int) -> tuple[float, float]:
    """Wilson's interval of a share, in percent."""
    z, share = ndtri(CONFIDENCE), hits / count
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    margin = z * np.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2) / (1 + z**2 / count)
    low, high = (0.0 if hits == 0 else middle - margin), (1.0 if hits == count else middle + margin)
    return 100 * float(low), 100 * float(high)
