# SPDX-License-Identifier: Apache-2.0
# Every path below the working directory with its type, mode, target and content, for comparison.
import hashlib, os, stat
for folder, folders, files in sorted(os.walk(b".")):
    for name in sorted(folders + files):
        path = os.path.join(folder, name)
        status = os.lstat(path)
        what = b""
        if stat.S_ISLNK(status.st_mode):
            what = os.readlink(path)
        elif stat.S_ISREG(status.st_mode):
            what = hashlib.sha256(open(path, "rb").read()).hexdigest().encode()
        print(path, oct(status.st_mode), what)
