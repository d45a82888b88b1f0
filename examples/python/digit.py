"""A handwritten digit of 8 x 8 shades from 0 to 1."""
import numpy as np

TWO = np.array([
    [0, 0, 6, 16, 12, 1, 0, 0],
    [0, 0, 5, 16, 13, 10, 0, 0],
    [0, 0, 0, 5, 5, 15, 0, 0],
    [0, 0, 0, 0, 8, 15, 0, 0],
    [0, 0, 0, 0, 13, 13, 0, 0],
    [0, 0, 0, 6, 16, 9, 4, 1],
    [0, 0, 3, 16, 16, 16, 16, 10],
    [0, 0, 5, 16, 11, 9, 6, 2],
], np.float32) / 16


def two(down: int) -> np.ndarray:
    """A two with its rows moved down, so that pictures differ."""
    return np.roll(TWO, down, axis=0)
