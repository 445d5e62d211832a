"""What the variables of watched threads hold, access by access, for a page of `warpwise trace`; loaded behind debugger.py.

The device calls simt_debugger_stop() whenever a thread that SIMT_TRACE_WATCHED names is about to do what the trace will show
(common/simt/machine/debugger.h). What is written is JSON: variables once each, and for each access which of them changed.
"""

import json
import re
import time

import gdb

MOST_ELEMENTS = 8  # of an array
MOST_LETTERS = 80  # of a value
MOST_FRAMES = 6  # of the kernel file, the innermost ones


class Watch:
    """The accesses of the watched threads so far."""

    def __init__(self, most, seconds, room):
        self.most, self.end, self.room = most, time.monotonic() + seconds, room
        self.count, self.place = 0, int(gdb.parse_and_eval("&simt_debugger_place"))
        self.symbols = {}  # of a block of the program, by function and addresses
        self.variables, self.numbers = [], {}
        self.threads, self.now = [], None

    def number(self, depth, function, name, kind):
        """Of a variable, counted from 0; a call deeper is another one."""
        key = depth, function, name, kind
        if key not in self.numbers:
            self.numbers[key] = len(self.variables)
            self.variables.append(key)
        return self.numbers[key]

    def visible(self, depth, frame):
        """What a frame sees of its own function, the innermost ones first: symbols, and the numbers of their variables."""
        block = frame.block()
        key = depth, block.start, block.end, frame.name()
        if key not in self.symbols:
            function = (frame.name() or "?").split("(")[0].split("<")[0]
            found = {}
            while block is not None:
                for symbol in block:
                    own = symbol.needs_frame or symbol.addr_class in (gdb.SYMBOL_LOC_CONST, gdb.SYMBOL_LOC_OPTIMIZED_OUT)
                    if (symbol.is_variable or symbol.is_argument) and own and not symbol.name.startswith("simt_"):
                        found.setdefault(symbol.name, symbol)
                if block.function is not None:
                    break
                block = block.superblock
            self.symbols[key] = [(symbol, self.number(depth, function, symbol.name, str(symbol.type))) for symbol in found.values()]
        return self.symbols[key]

    def named(self, text):
        """Addresses in shared memory as the trace has them: from the beginning of it, or of its dynamic part."""

        def name(match):
            address = int(match[0], 16)
            for space, base, size in ("shared", *self.shared[:2]), ("dynamic", *self.shared[2:]):
                if base <= address < base + size:
                    return "%s+0x%x" % (space, address - base)
            return match[0]

        return re.sub(r"\b0x[0-9a-f]+", name, text)

    def values(self, frame):
        """Of all variables that the frames of the kernel file see: number and text; "" where debug information has no value."""
        frames = []
        while frame is not None and len(frames) < MOST_FRAMES and is_of_kernel_file(frame):
            frames.append(frame)
            frame = frame.older()
        for depth, at in enumerate(reversed(frames)):
            for symbol, number in self.visible(depth, at):
                try:
                    text = self.named(text_of(symbol.value(at)))
                except (gdb.error, ValueError, OverflowError):
                    text = ""
                yield number, text

    def note(self):
        """Of the thread that is about to do something. Whether there is room for more."""
        launch, block, *self.shared = read(self.place, "=6Q")
        if self.now is None or (self.now["launch"], self.now["block"]) != (launch, block):
            self.now = {"launch": launch, "block": block, "thread": state.machine.current(state.worker()), "accesses": []}
            self.held = {}
            self.threads.append(self.now)
        frame = kernel_frame()
        changed, seen = [], set()
        for number, text in self.values(frame):
            seen.add(number)
            if self.held.get(number) != text:
                self.held[number] = text
                changed += [number, text]
        gone = [number for number in self.held if number not in seen]
        for number in gone:
            del self.held[number]
        self.now["accesses"].append([frame.find_sal().line, changed, gone])
        self.count += 1
        self.room -= 24 + sum(len(str(item)) + 4 for item in changed)
        return self.count < self.most and self.room > 0 and time.monotonic() < self.end


def is_of_kernel_file(frame):
    table = frame.find_sal().symtab
    return table is not None and os.path.basename(table.filename) == state.file


def text_of(value):
    if value.type.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        value = value.referenced_value()
    if value.is_optimized_out:
        return ""
    code = value.type.strip_typedefs().code
    if code == gdb.TYPE_CODE_PTR:
        return "0x%x" % int(value)
    if code == gdb.TYPE_CODE_INT and value.type.sizeof > 1:
        return str(int(value))
    text = value.format_string(max_elements=MOST_ELEMENTS, symbols=False)
    if text.replace("<optimized out>", "").strip("{}[]., ") == "":
        return ""
    return text if len(text) <= MOST_LETTERS else text[:MOST_LETTERS] + " ..."


class Warpwise_Values(Words):
    """warpwise-values FILE TO MOST SECONDS BYTES: run to the end; write to TO what variables of FILE's functions held."""

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        state.file = os.path.basename(words[0])
        gdb.execute("handle all nostop noprint pass", to_string=True)
        watch = Watch(int(words[2]), float(words[3]), int(words[4]))
        stop = gdb.Breakpoint("simt_debugger_stop", internal=True)
        stop.silent = True
        gdb.execute("run", to_string=True)
        room = True
        while room and gdb.selected_inferior().pid:
            room = watch.note()
            gdb.execute("continue" if room else "kill", to_string=True)
        text = json.dumps({"whole": room, "variables": watch.variables, "threads": watch.threads}, separators=(",", ":"))
        with open(words[1], "w") as file:
            file.write(text.replace("<", "\\u003c"))


Warpwise_Values()
