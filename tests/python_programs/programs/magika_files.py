"""magika: the types of files, by their contents."""
import numpy as np

NEEDS = ("magika",)
CONTENTS = {
    "python": b"import os\n\n\ndef main():\n    for name in sorted(os.listdir('.')):\n        print(name)\n\n\nif __name__ == '__main__':\n    main()\n",
    "json": b'{"name": "retort", "version": [0, 1, 0], "engine": true, "sizes": {"wheel": 4.7, "installed": 12.1}}\n' * 3,
    "c": b"#include <stdio.h>\n\nint main(int argc, char** argv) {\n  printf(\"%d %s\\n\", argc, argv[0]);\n  return 0;\n}\n",
    "csv": b"name,rows,columns\nfirst,12,4\nsecond,9,11\nthird,230,7\n" * 4,
    "html": b"<!DOCTYPE html>\n<html><head><title>Page</title></head><body><p>A paragraph of text.</p></body></html>\n",
    "bytes": bytes(range(256)) * 8,
}


def results():
    from magika import Magika
    tool = Magika()
    found = {}
    for name, content in CONTENTS.items():
        seen = tool.identify_bytes(content)
        found[name], found[name + " score"] = str(seen.output.label), np.array(seen.score)
    assert found["python"] == "python" and found["html"] == "html", found
    return found
