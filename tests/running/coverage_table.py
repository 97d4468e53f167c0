# SPDX-License-Identifier: Apache-2.0
"""Sums what gcovr says of files by folders.   coverage_table.py SUMMARY.json"""

import collections
import json
import pathlib
import sys

files = json.loads(pathlib.Path(sys.argv[1]).read_text())["files"]
lines = collections.defaultdict(lambda: [0, 0])  # reached, all
for file in files:
    folder = pathlib.PurePath(file["filename"]).parent
    for each in (str(folder), folder.parts[0] + "/", "all"):
        lines[each][0] += file["line_covered"]
        lines[each][1] += file["line_total"]
for name, (reached, total) in sorted(lines.items()):
    print(f"{100 * reached / max(total, 1):6.1f} %  {reached:6} of {total:6} lines  {name}")
