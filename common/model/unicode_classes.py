#!/usr/bin/env python3
"""Writes unicode_classes.h: the letters and the numbers among Unicode's code points, as ranges.

    python3 unicode_classes.py > unicode_classes.h
"""
import sys
import unicodedata


def ranges(kind):
    """First and last of every run of code points whose category begins with `kind`."""
    runs = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code))[0] != kind:
            continue
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return runs


def table(name, what, runs):
    print(f"/** @brief {what}. */")
    print(f"static const struct unicode_range {name}[] = {{")
    line = "   "
    for first, last in runs:
        word = f" {{{first:#x}, {last:#x}}},"
        if len(line) + len(word) > 110:
            print(line)
            line = "   "
        line += word
    print(line + "\n};\n")


print(f"""/**
 * @file unicode_classes.h
 * @brief Letters and numbers of Unicode {unicodedata.unidata_version}. Written by unicode_classes.py.
 */
#pragma once

#include <stdint.h>

// clang-format off
/** @brief A range of code points. */
struct unicode_range {{
    uint32_t first; /**< the lowest */
    uint32_t last;  /**< the highest, included */
}};
""")
table("UNICODE_LETTERS", "General category L", ranges("L"))
table("UNICODE_NUMBERS", "General category N", ranges("N"))
print("// clang-format on")
