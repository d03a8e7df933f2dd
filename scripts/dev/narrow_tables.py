#!/usr/bin/env python3
"""Makes tests/unit/core/narrow_tables.h: what ml_dtypes reads every code of the narrow formats as,
and checksums of the codes that it makes of a million numbers. Needs numpy and ml_dtypes (0.6.0 made
the file that is stored); prints the header."""

import zlib

import ml_dtypes
import numpy as np

FORMATS = [
    ("f8_e4m3", ml_dtypes.float8_e4m3fn, 8, 0x7F),
    ("f8_e5m2", ml_dtypes.float8_e5m2, 8, 0x7F),
    ("f8_e8m0", ml_dtypes.float8_e8m0fnu, 8, 0xFF),
    ("f8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, 8, 0x80),
    ("f8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, 8, 0x80),
    ("f6_e3m2", ml_dtypes.float6_e3m2fn, 6, 0x00),
    ("f6_e2m3", ml_dtypes.float6_e2m3fn, 6, 0x00),
    ("f4_e2m1", ml_dtypes.float4_e2m1fn, 4, 0x00),
]
COUNT = 1_000_000

# Bits of numbers at the edges of the formats, as narrow_test.cpp has them, too.
EDGES = np.array([
    0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF,
    0x00000001, 0x807FFFFF, 0x00400000, 0x005FFFFF, 0x00600000, 0x00800000, 0x7F3FFFFF, 0x7F400000,
    0x7F7FFFFF, 0x43E00000, 0x43E80000, 0x43E80001, 0xC3E88000, 0x43700000, 0x43780000, 0x47600000,
    0x476FFFFF, 0x47700000, 0xC7700000, 0x41E00000, 0x40F00000, 0x40F80000, 0x40C00000, 0x40E00000,
], dtype=np.uint64)


def splitmix(i):
    """The i-th number of SplitMix64 (Steele, Lea and Flood 2014) from seed 0."""
    z = (i + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def numbers():
    """Bits of f32: any at all; near 1; ties of 0 to 4 bits, and their neighbours; the edges."""
    i = np.arange(COUNT, dtype=np.uint64)
    r = splitmix(i)
    kind = i % np.uint64(8)
    sign = (r >> np.uint64(63)) << np.uint64(31)
    exponent = (np.uint64(127 - 24) + ((r >> np.uint64(40)) % np.uint64(46))) << np.uint64(23)
    kept = np.uint64(0x7FFFFF) << (np.uint64(18) + (r >> np.uint64(56)) % np.uint64(6))
    tie = sign | exponent | (r & np.uint64(0x7FFFFF) & kept)
    beside = tie + ((r >> np.uint64(24)) % np.uint64(3)) - np.uint64(1)
    bits = np.where(kind < 2, r & np.uint64(0xFFFFFFFF),
                    np.where(kind < 4, sign | exponent | (r & np.uint64(0x7FFFFF)),
                             np.where(kind < 6, tie, np.where(kind < 7, beside, np.uint64(0)))))
    edge = kind == 7
    bits[edge] = EDGES[((i >> np.uint64(3)) % np.uint64(len(EDGES))).astype(np.int64)[edge]]
    return bits.astype(np.uint32).view(np.float32)


def codes(x, dtype, nan):
    """ml_dtypes' codes, but for nan: the formats that have none make -0 of it there, +0 here; where
    there are several, Rille writes one."""
    with np.errstate(all="ignore"):
        out = x.astype(dtype).view(np.uint8).copy()
    out[np.isnan(x)] = nan
    return out


def main():
    x = numbers()
    print("// Made by scripts/dev/narrow_tables.py with ml_dtypes %s; not edited by hand." %
          ml_dtypes.__version__)
    print("#pragma once\n#include <cstdint>\n\n#include \"core/dtype.h\"\n")
    print("struct NarrowTruth {")
    print("  rille::DType dtype;")
    print("  uint32_t codes;          // CRC-32 of those of the million numbers")
    print("  const uint32_t* values;  // of each code, as bits of an f32")
    print("};\n")
    for name, dtype, bits, _ in FORMATS:
        values = np.arange(1 << bits, dtype=np.uint8).view(dtype).astype(np.float32)
        values[np.isnan(values)] = np.nan
        words = values.view(np.uint32)
        print("inline constexpr uint32_t k_%s[] = {" % name)
        for at in range(0, len(words), 8):
            row = ", ".join("0x%08x" % (0x7FC00000 if w & 0x7FFFFFFF > 0x7F800000 else w)
                            for w in words[at:at + 8].tolist())
            print("    %s," % row)
        print("};")
    print("\ninline constexpr NarrowTruth kNarrowTruth[] = {")
    for name, dtype, _, nan in FORMATS:
        print("    {rille::DType::%s, 0x%08x, k_%s}," %
              (name, zlib.crc32(codes(x, dtype, nan).tobytes()), name))
    print("};")


if __name__ == "__main__":
    main()
