"""Pictures for programs that read text or look for things."""
import io

import numpy as np
from PIL import Image, ImageDraw, ImageFont


def page(lines, size=(640, 320)):
    """Black text on white, with the font that Pillow carries; an array of rows, columns and RGB, uint8."""
    picture = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(picture)
    for i, line in enumerate(lines):
        draw.text((30, 30 + i * 70), line, "black", ImageFont.load_default(36))
    return np.asarray(picture)


def scene(seed=3, size=320):
    """Soft blobs of colour; an array of rows, columns and BGR, uint8."""
    random = np.random.default_rng(seed)
    rows, columns = np.mgrid[:size, :size]
    picture = np.full((size, size, 3), 90.0)
    for _ in range(12):
        row, column, radius = random.uniform(0, size, 3)
        weight = np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / (2 * (radius / 4 + 8) ** 2))
        picture += weight[..., None] * random.uniform(-120, 160, 3)
    return np.clip(picture, 0, 255).astype(np.uint8)


def png(array):
    out = io.BytesIO()
    Image.fromarray(array).save(out, "PNG")
    return out.getvalue()
