"""ddddocr: a word in a small picture, and the places of text on a page."""
import numpy as np
import pictures

NEEDS = ("ddddocr",)


def results():
    import ddddocr
    word = pictures.png(pictures.page(("8K3fA",), (200, 100)))
    page = pictures.png(pictures.page(("first words", "second words"), (480, 240)))
    found = {"old": ddddocr.DdddOcr(old=True, show_ad=False).classification(word), "beta": ddddocr.DdddOcr(beta=True, show_ad=False).classification(word)}
    found["places"] = np.array(ddddocr.DdddOcr(det=True, ocr=False, show_ad=False).detection(page), np.int64)
    return found
