"""Words for gdb about the software device, loaded by `warpwise debug`; docs/debug.md explains them.

A thread of the device is a stack of its own. The machine says in simt_debugger (common/simt/machine/debugger.h) where they are;
to look at one that does not run now, its registers are put into gdb's and taken back before anything goes on.
"""

import os
import struct

import gdb

X86_64 = ("r15", "r14", "r13", "r12", "rbx", "rbp", "rip")
AARCH64 = tuple("x%d" % i for i in range(19, 31))
WAITS = ("ready", "gathers", "at a warp operation", "at an active-lanes operation", "at a block barrier", "at a named barrier",
         "at an mbarrier", "at a product", "at a cluster barrier")
FIELDS = ("version registers most warp_lanes local_bytes local current threads thread thread_bytes identity context wait warp "
          "warp_bytes exited fresh").split()


def read(address, form):
    """What lies at an address, as struct.unpack() gives it; of one value that value."""
    data = bytes(gdb.selected_inferior().read_memory(address, struct.calcsize(form)))
    values = struct.unpack(form, data)
    return values[0] if len(values) == 1 else values


class Machine:
    """The worker that the selected OS thread runs, as simt_debugger describes it."""

    def __init__(self):
        table = int(gdb.parse_and_eval("&simt_debugger"))
        self.at = dict(zip(FIELDS, read(table, "=%dI" % len(FIELDS))))
        if self.at["version"] != 2:
            raise gdb.GdbError("this script is not of this build's software device")
        pointer = table + (4 * len(FIELDS) + 7) // 8 * 8
        self.workers, self.launches = read(pointer, "=2Q")

    def worker(self):
        """Its address; 0 if the selected OS thread runs no thread of the device now."""
        stack = state.own_stack()
        for i in range(self.at["most"]):
            worker = read(self.workers + 8 * i, "=Q")
            if not worker:
                return 0
            begin, size = read(worker + self.at["local"], "=Q"), read(worker + self.at["local_bytes"], "=Q")
            if begin <= stack < begin + size:
                return worker
        return 0

    def thread(self, worker, number):
        return worker + self.at["thread"] + number * self.at["thread_bytes"]

    def current(self, worker):
        """The number in its block of the thread that runs."""
        return (read(worker + self.at["current"], "=Q") - worker - self.at["thread"]) // self.at["thread_bytes"]

    def block(self, worker):
        """The index of the running block, and the extents of a block and of the grid."""
        values = read(self.thread(worker, self.current(worker)) + self.at["identity"], "=12I")
        return values[3:6], values[6:9], values[9:12]

    def launch(self):
        """How many launches have begun."""
        return read(self.launches, "=Q")

    def stands(self, worker, number):
        """What a thread does, in words."""
        warp = worker + self.at["warp"] + number // self.at["warp_lanes"] * self.at["warp_bytes"]
        bit = 1 << number % self.at["warp_lanes"]
        if number == self.current(worker):
            return "runs"
        if read(warp + self.at["exited"], "=I") & bit:
            return "has ended"
        if read(warp + self.at["fresh"], "=I") & bit:
            return "has not begun"
        return WAITS[read(self.thread(worker, number) + self.at["wait"], "=I")]


class State:
    """Which thread is looked at, and the registers of the one that runs meanwhile."""

    def __init__(self):
        self.known = None
        self.saved = None
        self.looked_at = None
        self.file = ""
        self.kernels = []

    @property
    def machine(self):
        """Only a process has the content of its variables."""
        pid = gdb.selected_inferior().pid
        if not pid:
            raise gdb.GdbError("nothing runs")
        if self.known is None or self.known[0] != pid:
            self.known = pid, Machine()
        return self.known[1]

    def own_stack(self):
        return self.saved["sp"] if self.saved else int(gdb.newest_frame().read_register("sp")) & (2**64 - 1)

    def restore(self):
        """Before anything goes on."""
        if self.saved:
            gdb.newest_frame().select()
            for name, value in self.saved.items():
                gdb.execute("set $%s = %d" % (name, value))
        self.saved = self.looked_at = None

    def worker(self):
        worker = self.machine.worker()
        if not worker:
            raise gdb.GdbError("no thread of the device runs here: the host's code does")
        return worker

    def number(self, worker):
        return self.machine.current(worker) if self.looked_at is None else self.looked_at

    def look_at(self, worker, number):
        """Makes gdb's registers those of a thread; 0 if it has none now."""
        self.restore()
        stands = self.machine.stands(worker, number)
        if stands == "runs":
            return True
        if stands in ("has ended", "has not begun"):
            return False
        sp = read(self.machine.thread(worker, number) + self.machine.at["context"], "=Q")
        kind = self.machine.at["registers"]
        if kind not in (1, 2):
            raise gdb.GdbError("this build's stacks can only be looked at while they run")
        names = X86_64 if kind == 1 else AARCH64
        values = read(sp, "=%dQ" % len(names))
        frame = gdb.newest_frame()
        pc = "rip" if kind == 1 else "pc"
        self.saved = {name: int(frame.read_register(name)) & (2**64 - 1) for name in names + ("sp",)}
        self.saved[pc] = int(frame.read_register("pc")) & (2**64 - 1)
        for name, value in zip(names, values):
            gdb.execute("set $%s = %d" % (name, value))
        if kind == 2:
            gdb.execute("set $pc = $x30")
        gdb.execute("set $sp = %d" % (sp + (56 if kind == 1 else 160)))
        self.looked_at = number
        return True


state = State()


def kernel_frame():
    """The innermost frame in the kernel file, else the innermost of all."""
    frame = gdb.newest_frame()
    while frame is not None and frame.is_valid():
        table = frame.find_sal().symtab
        if table is not None and os.path.basename(table.filename) == state.file:
            return frame
        frame = frame.older()
    return gdb.newest_frame()


def numbers(text, most, what):
    """"1,0" as numbers, filled up with zeros."""
    try:
        values = [int(word) for word in text.replace("(", " ").replace(")", " ").replace(",", " ").split()]
    except ValueError:
        values = []
    if not values or len(values) > most or min(values) < 0:
        raise gdb.GdbError("%s takes numbers such as %s" % (what, ",".join("10"[i > 0] for i in range(most))))
    return tuple(values + [0] * (most - len(values)))


def place(frame):
    line = frame.find_sal()
    name = frame.name() or "?"
    return "%s  %s:%d" % (name.split("(")[0], os.path.basename(line.symtab.filename) if line.symtab else "?", line.line)


def index_text(index):
    return "(%d,%d,%d)" % tuple(index)


class StopAt(gdb.Breakpoint):
    """Stops one thread of one block at a line, and nobody else."""

    def __init__(self, where, block, number):
        super().__init__(where, internal=True)
        self.of_block, self.of_thread = block, number
        self.silent = True

    def stop(self):
        worker = state.machine.worker()
        if not worker or state.machine.current(worker) != self.of_thread:
            return False
        return state.machine.block(worker)[0] == self.of_block


class Passing(StopAt):
    """Counts how often that thread comes by."""

    def __init__(self, where, block, number):
        super().__init__(where, block, number)
        self.times = 0

    def stop(self):
        self.times += super().stop()
        return False


def function_at(pc):
    """The function that an address is in, not one that was inlined there: its name without parameters, and where it begins."""
    block, found = gdb.block_for_pc(pc), None
    while block is not None and not block.is_static and not block.is_global:
        found = block if block.function is not None else found
        block = block.superblock
    if found is None:
        return "", 0
    name, depth = str(found.function.print_name), 0
    for i, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            name = name[:i]
            break
    return name, found.start


def lines_with_code():
    """Of the kernel file: of each line the addresses where code of it begins, also where the compiler would not have a debugger stop."""
    tables, where = {}, {}
    for block in gdb.decode_line("%s:1" % state.file)[1] or ():
        tables[block.symtab.objfile.filename, block.symtab.filename] = block.symtab
    for table in tables.values():
        last = None
        for entry in sorted(table.linetable(), key=lambda entry: entry.pc):
            if entry.line > 0 and entry.line != last:
                where.setdefault(entry.line, []).append(entry.pc)
            last = entry.line
    return where


def places_of(line):
    """The places of a line of the kernel file. gdb itself would slide to the next line that has any."""
    known = lines_with_code()
    if known and line not in known:
        near = sorted(sorted(known, key=lambda other: abs(other - line))[:3])
        raise gdb.GdbError("no code is of line %d; of lines %s there is" % (line, ", ".join(str(other) for other in near)))
    return ["*%d" % address for address in known.get(line, ())] or ["%s:%d" % (state.file, line)]


def without(line):
    """The instances of a template that have no code of a line of which other instances have some: where they begin, and their names."""
    known, lines = lines_with_code(), {}
    for other, addresses in known.items():
        for function in map(function_at, addresses):
            lines.setdefault(function, set()).add(other)
    templates = {name.split("<")[0] for (name, _), of in lines.items() if line in of}
    return {"*%d" % begin: name for (name, begin), of in lines.items()
            if name.split("<")[0] in templates and min(of) < line < max(of) and line not in of}


def run_to(places, block, number, by=()):
    """Goes on until the thread is at one of these places; false if the program ends, or a breakpoint of the user's stops it, before.
    And which of the places @p by the thread came by before that."""
    state.restore()
    stops = [StopAt(where, block, number) for where in places]
    passing = [Passing(where, block, number) for where in by]
    try:
        gdb.execute("continue", to_string=True)
    finally:
        hit = any(stop.is_valid() and stop.hit_count for stop in stops)
        for stop in stops + passing:
            if stop.is_valid():
                stop.delete()
    return hit, [where for where, one in zip(by, passing) if one.times]


def run_to_line(line, block, number):
    """The same for a line of the kernel file; says which instances of a template the thread ran before that have no code of it."""
    places, others = places_of(line), without(line)
    hit, came_by = run_to(places, block, number, list(others))
    if came_by:
        print("before that the thread ran %s, which has no code of line %d" % (" and ".join(others[where] for where in came_by), line))
    return hit


def why_not(text):
    """Behind a run_to() that was in vain."""
    if not gdb.selected_inferior().pid:
        return text + ": the program has ended"
    return "stopped before that, at %s: once more goes on" % place(kernel_frame())


def show_stop():
    worker = state.worker()
    block, _, _ = state.machine.block(worker)
    number = state.number(worker)
    print("block %s thread %d: warp %d, lane %d; %s" % (index_text(block), number, number // 32, number % 32,
                                                        state.machine.stands(worker, number)))
    kernel_frame().select()
    gdb.execute("frame")


class Words(gdb.Command):
    """A command whose name is that of its class in small letters."""

    def __init__(self, kind=gdb.COMMAND_RUNNING):
        super().__init__(type(self).__name__.lower().replace("_", "-"), kind)


class Thread(Words):
    """thread [N]: look at thread N of the running block, counted from 0 over x, then y, then z."""

    def invoke(self, argument, from_tty):
        worker = state.worker()
        if argument:
            number = numbers(argument, 1, "thread")[0]
            most = read(worker + state.machine.at["threads"], "=I")
            if number >= most:
                raise gdb.GdbError("the block has threads 0 to %d" % (most - 1))
            if not state.look_at(worker, number):
                raise gdb.GdbError("thread %d %s" % (number, state.machine.stands(worker, number)))
        show_stop()


class Lane(Words):
    """lane N: look at lane N of the warp that is looked at."""

    def invoke(self, argument, from_tty):
        lane = numbers(argument, 1, "lane")[0]
        if lane > 31:
            raise gdb.GdbError("a warp has lanes 0 to 31")
        number = state.number(state.worker())
        gdb.execute("thread %d" % (number - number % 32 + lane))


class Block(Words):
    """block [X,Y,Z]: go on until the same thread of that block begins. Blocks run one after another, in order."""

    def invoke(self, argument, from_tty):
        worker = state.worker()
        if argument:
            wanted = numbers(argument, 3, "block")
            block, _, grid = state.machine.block(worker)
            if any(i >= most for i, most in zip(wanted, grid)):
                raise gdb.GdbError("the grid has %s blocks" % index_text(grid))
            order = [i[2] * grid[1] * grid[0] + i[1] * grid[0] + i[0] for i in (block, wanted)]
            if order[1] <= order[0]:
                raise gdb.GdbError("block %s has run already; start again to stop there" % index_text(wanted))
            if not run_to(state.kernels, wanted, state.number(worker))[0]:
                raise gdb.GdbError(why_not("that thread did not come"))
        show_stop()


class At(Words):
    """at LINE: go on until the thread that is looked at comes to that line of the kernel file."""

    def invoke(self, argument, from_tty):
        worker = state.worker()
        number, block, launch = state.number(worker), state.machine.block(worker)[0], state.machine.launch()
        line = numbers(argument, 1, "at")[0]
        if not run_to_line(line, block, number):
            raise gdb.GdbError(why_not("thread %d did not come to line %d again" % (number, line)))
        if state.machine.launch() != launch:
            print("this is a later launch: in the one before the thread did not come to line %d again" % line)
        show_stop()


class Lanes(Words):
    """lanes: what each lane of the warp does that is looked at, and where."""

    def invoke(self, argument, from_tty):
        worker = state.worker()
        looked_at = state.looked_at
        number = state.number(worker)
        first = number - number % 32
        most = min(32, read(worker + state.machine.at["threads"], "=I") - first)
        rows = []
        for lane in range(most):
            stands = state.machine.stands(worker, first + lane)
            where = place(kernel_frame()) if state.look_at(worker, first + lane) else ""
            rows.append((lane, stands, where))
        state.restore()
        if looked_at is not None:
            state.look_at(worker, looked_at)
            kernel_frame().select()
        print("block %s, warp %d: threads %d to %d" % (index_text(state.machine.block(worker)[0]), first // 32, first,
                                                       first + most - 1))
        while rows:
            same = 1
            while same < len(rows) and rows[same][1:] == rows[0][1:]:
                same += 1
            lanes = "%d" % rows[0][0] if same == 1 else "%d-%d" % (rows[0][0], rows[same - 1][0])
            marked = "*" if rows[0][0] <= number - first <= rows[same - 1][0] else " "
            print("%s %-6s %-28s %s" % (marked, lanes, rows[0][1], rows[0][2]))
            rows = rows[same:]


class Shared(Words):
    """shared NAME [ROWS COLUMNS]: an array in shared memory as a matrix; a pointer needs ROWS, one to elements COLUMNS too."""

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        if not words:
            raise gdb.GdbError("shared takes the name of an array")
        try:
            value = gdb.parse_and_eval(words[0])
        except gdb.error as error:
            raise gdb.GdbError(str(error)) from None
        if value.type.code == gdb.TYPE_CODE_REF:
            value = value.referenced_value()
        if value.is_optimized_out:
            raise gdb.GdbError("the compiler keeps %s nowhere here; a pointer into it will do, such as `info locals` may show" % words[0])
        extents = [numbers(word, 1, "shared")[0] for word in words[1:3]]
        matrix = rows_of(words[0], value, extents)
        texts = [[text_of(item) for item in row] for row in matrix]
        width = max(len(text) for row in texts for text in row)
        for i, row in enumerate(texts):
            print("%4d  %s" % (i, " ".join(text.rjust(width) for text in row)))


def text_of(value):
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_FLT:
        return "%.4g" % float(value)
    return value.format_string()


def rows_of(name, value, extents):
    """A matrix of values: of an array its own extents, unless fewer are asked for; a pointer does not know its rows, and only one to rows
    its columns."""
    shape, kind = [], value.type.strip_typedefs()
    pointer = kind.code == gdb.TYPE_CODE_PTR
    if pointer:
        kind = kind.target().strip_typedefs()
    elif kind.code != gdb.TYPE_CODE_ARRAY:
        raise gdb.GdbError("that is no array")
    while kind.code == gdb.TYPE_CODE_ARRAY:
        shape.append(kind.range()[1] + 1)
        kind = kind.target().strip_typedefs()
    if len(shape) > 1 + (not pointer):
        raise gdb.GdbError("that is an array of matrices: shared %s[0]" % name)
    if pointer and len(extents) < 2 - len(shape):
        raise gdb.GdbError("a pointer has no extents: shared %s ROWS%s" % (name, "" if shape else " COLUMNS"))
    if pointer and not shape:
        return [[value[i * extents[1] + j] for j in range(extents[1])] for i in range(extents[0])]
    if len(shape) + pointer == 1:
        return [[value[j] for j in range(min(shape + extents[-1:]))]]
    rows = min(([] if pointer else shape[:1]) + extents[:1])
    return [[value[i][j] for j in range(min(shape[-1:] + extents[1:]))] for i in range(rows)]


# ---- values -------------------------------------------------------------------------------------------------------


def half(bits):
    return struct.unpack("<e", struct.pack("<H", bits))[0]


def bfloat16(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def e4m3(bits):
    sign, exponent, fraction = -1.0 if bits & 0x80 else 1.0, bits >> 3 & 15, bits & 7
    if bits & 0x7F == 0x7F:
        return float("nan")
    return sign * (fraction * 2.0**-9 if exponent == 0 else (8 + fraction) * 2.0 ** (exponent - 10))


class SmallFloat:
    """A number of 8 or 16 bits, by its value."""

    def __init__(self, value, decode):
        self.value, self.decode = value, decode

    def to_string(self):
        return "%g" % self.decode(int(self.value["__x"]))


class Fragment:
    """A lane's elements of a matrix fragment."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return "fragment of %s" % self.value.type.strip_typedefs().template_argument(0)

    def children(self):
        elements = self.value["x"]
        for i in range(elements.type.range()[1] + 1):
            yield "[%d]" % i, elements[i]

    def display_hint(self):
        return "array"


SMALL = {"__half": half, "__nv_bfloat16": bfloat16, "__nv_fp8_e4m3": e4m3}


def printer_of(value):
    name = value.type.strip_typedefs().unqualified().name or ""
    if name in SMALL:
        return SmallFloat(value, SMALL[name])
    if name.startswith("nvcuda::wmma::fragment<"):
        return Fragment(value)
    return None


# ---- the beginning -----------------------------------------------------------------------------------------------------


class Warpwise_Wait(Words):
    """warpwise-wait FILE BLOCK THREAD COUNT PLACE ...: know the file and where its COUNT kernels begin; an editor runs it."""

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        state.file = os.path.basename(words[0])
        state.kernels = words[4:4 + int(words[3])]


class Warpwise_Start(Words):
    """warpwise-start FILE BLOCK THREAD PLACE ...: run until this thread of this block is at one of the places."""

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        Warpwise_Wait.invoke(self, argument, from_tty)
        block, number = numbers(words[1], 3, "--block"), numbers(words[2], 1, "--thread")[0]
        begin = gdb.Breakpoint("main", internal=True)
        begin.silent = True
        gdb.execute("run", to_string=True)
        begin.delete()
        line = words[4 + len(state.kernels):]
        if run_to_line(int(line[0].rpartition(":")[2]), block, number) if line else run_to(state.kernels, block, number)[0]:
            show_stop()
        else:
            print("No launch has a thread %d in block %s that comes there." % (number, index_text(block)))


def start():
    for line in ("pagination off", "print elements 16", "print frame-arguments scalars", "debuginfod enabled off", "print thread-events off", "confirm off"):
        try:
            gdb.execute("set " + line)
        except gdb.error:
            pass
    gdb.execute("handle SIGPROF nostop noprint pass", to_string=True)
    for command in "continue step next stepi nexti finish until advance jump run".split():
        gdb.execute("define hook-%s\npython state.restore()\nend" % command)
    gdb.pretty_printers.append(printer_of)
    for words in (Thread, Lane, Block, At, Lanes, Shared, Warpwise_Wait, Warpwise_Start):
        words()


start()
