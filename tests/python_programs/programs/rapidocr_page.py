"""rapidocr: detection, direction and recognition of the lines of a page, also upside down."""
import numpy as np
import pictures

NEEDS = ("rapidocr",)
LINES = ("Retort reads models", "Invoice 2041-77", "Total: 318.50 EUR")


def results():
    from rapidocr import RapidOCR
    engine = RapidOCR()
    found = {}
    for name, turns in (("page", 0), ("page upside down", 2)):
        read = engine(np.ascontiguousarray(np.rot90(pictures.page(LINES), turns)[:, :, ::-1]))
        found |= {f"{name}: texts": list(read.txts), f"{name}: boxes": np.rint(read.boxes).astype(np.int64), f"{name}: scores": np.array(read.scores)}
    assert "Invoice" in " ".join(found["page: texts"]), found
    return found
