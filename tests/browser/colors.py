# SPDX-License-Identifier: Apache-2.0
"""Prints how many colours a PNG has, and that of its corner: "12 255,255,255".   colors.py FILE

Reads what browsers write for a screenshot: 8 bits of RGB or RGBA, not interlaced (PNG, section 9).
"""
import struct
import sys
import zlib


def chunks(data):
    at = 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + size]
        at += size + 12


def paeth(left, above, corner):
    guess = left + above - corner
    far = [(abs(guess - left), 0), (abs(guess - above), 1), (abs(guess - corner), 2)]
    return (left, above, corner)[min(far)[1]]


def unfiltered(kind, line, before, step):
    line = bytearray(line)
    for i, value in enumerate(line):
        left = line[i - step] if i >= step else 0
        above = before[i]
        corner = before[i - step] if i >= step else 0
        add = (0, left, above, (left + above) // 2, paeth(left, above, corner))[kind]
        line[i] = (value + add) & 255
    return line


def main(path):
    with open(path, "rb") as file:
        data = file.read()
    parts = list(chunks(data))
    width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", parts[0][1])
    assert depth == 8 and color in (2, 6) and not interlaced, (depth, color, interlaced)
    step = 3 if color == 2 else 4
    raw = zlib.decompress(b"".join(body for kind, body in parts if kind == b"IDAT"))
    row = width * step + 1
    before = bytearray(row - 1)
    colors = set()
    corner = None
    for y in range(height):
        before = unfiltered(raw[y * row], raw[y * row + 1:(y + 1) * row], before, step)
        if corner is None:
            corner = tuple(before[:3])
        colors.update(zip(before[0::step], before[1::step], before[2::step]))
    print(len(colors), ",".join(map(str, corner)))


main(sys.argv[1])
