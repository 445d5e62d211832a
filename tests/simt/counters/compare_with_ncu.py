#!/usr/bin/env python3
"""Holds the counters of the device in software against those of Nsight Compute, for docs/counters.md.

    compare_with_ncu.py --section "TITLE=PREFIX" [--section ...] --out docs/results/tables/counters_by_kernel.csv

Each section is one program, measured before: PREFIX.ncu is what ncu wrote for the one that nvcc built (with the
arguments that --print-ncu prints), PREFIX.sass what `cuobjdump -sass` wrote for it, PREFIX.simt what SIMT_COUNTERS
wrote for the one that simtcc built. tests/gpu/verify.sh does all of it.

Only the standard library is used; the tool c++filt tells instantiations of a template apart. The n-th launch of a
kernel is held against the n-th on the other side; one that counts what an earlier one did is left out. Exit status
1 if a figure differs that explanation() has no reason for.

Where the figures come from:
  global requests and sectors  l1tex__t_{requests,sectors}_pipe_lsu_mem_global_op_{ld,st}.sum; asynchronous copies
                               (LDGSTS) are among the loads
  shared wavefronts            memory_l1_wavefronts_shared: one value an instruction, in the order of their
                               addresses; the listing of the machine code says which are loads and which are
                               stores. (The plain hardware counter also counts a wavefront for instructions
                               that touch no memory.)
  bank conflicts               l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum, which includes atomics
  atomics                      l1tex__t_requests_pipe_lsu_mem_global_op_{atom,red}.sum, and shared atomic
                               instructions
  barriers                     BAR instructions, from sass__inst_executed_per_opcode
"""
import argparse
import csv
import re
import shutil
import subprocess
import sys

csv.field_size_limit(sys.maxsize)  # one field lists all instructions of a kernel

GLOBAL = "pipe_lsu_mem_global_op"
METRICS = [f"l1tex__t_{what}_{GLOBAL}_{op}.sum"
           for what in ("requests", "sectors") for op in ("ld", "st", "atom", "red")] + [
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "smsp__sass_inst_executed_op_shared_atom.sum",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "sass__inst_executed_per_opcode",
]
FIGURES = ["global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors",
           "shared_load_wavefronts", "shared_store_wavefronts", "shared_bank_conflicts", "atomics",
           "barriers"]

# Why hardware may have fewer shared wavefronts, by program and kernel: the two compilers do not emit the same
# accesses.
TREE = "nvcc reads the two words of the tree's last step by one 64-bit load (LDS.64)"
DIFFERENT_CODE = {
    ("counters.cu", "decode_k_as_half2_kernel"):
        "nvcc reads four pairs of the query, and four scores, by one 128-bit load",
    ("counters.cu", "decode_k_as_float4_kernel"): "nvcc reads four neighbouring scores by one 128-bit load",
    ("01", "softmax_kernel"): TREE,
    ("02", "softmax_kernel"): TREE,
    ("02", "output_kernel"): "nvcc loads a weight only where the mask lets it count, g++ always",
    ("03", "row_kernel"): "nvcc stores and reads a pair (m, l) by one 64-bit access, g++ by two of 32 bits",
    ("03", "attention_kernel"):
        "nvcc stores a pair (m, l) by one 64-bit access and reads two by one of 128 bits; g++ takes m and l one by "
        "one, and m twice",
    ("04", "attention_kernel"):
        "at the edge of the mask nvcc reads a weight once for all columns of a lane, g++ once a column",
    ("06", "v1_kernel"): "g++ reads m of each warp's pair a second time, nvcc keeps it",
    ("06", "partition_kernel"): "g++ reads m of each warp's pair a second time, nvcc keeps it",
    ("11", "all_scores_kernel"): "nvcc reads four pairs of the query by one 128-bit load: as many loads as with 16 bytes of a key",
    ("11", "tiles_kernel"): "nvcc reads four pairs of the query by one 128-bit load: as many loads as with 16 bytes of a key",
    ("11", "mha_kernel"): "nvcc reads the warps' maxima and sums, which lie side by side, by 128-bit loads",
    ("11", "split_kernel"): "g++ reads m of each warp's pair a second time, nvcc keeps it",
    ("11", "merge_kernel"): "nvcc reads the groups' sums of weights by two 128-bit loads",
    ("17", "attend_kernel"): "nvcc stores a pair (m, l) by one 64-bit access, g++ by two of 32 bits",
    ("17", "attend_few_kernel"): "nvcc stores a pair (m, l) by one 64-bit access, g++ by two of 32 bits",
}
ZERO_FILLING = ("how many of 16 bytes to copy is known only when the kernel runs: nvcc makes LDGSTS.ZFILL of it, which takes two "
                "wavefronts for one")
KEPT = "nvcc keeps a row's position and request in registers, and reads neighbouring numbers by one load; g++ reads each again"
# Why hardware may have fewer loads of every kind, and so fewer conflicts.
FEWER_LOADS = {
    ("14", "f32_kernel"):
        "nvcc reads four neighbouring numbers of a tile's row by one 128-bit load, and a row's lse and D once for all keys of a "
        "thread; g++ takes each by itself, a row's once a key",
    ("17", "product_kernel"):
        "nvcc reads the squares of eight slices by two 128-bit loads, g++ one by one; and which rows are wanted once, g++ for each use",
    ("17", "attend_kernel"): KEPT,
    ("17", "attend_few_kernel"): KEPT,
}
# Why hardware may have more wavefronts of stores to shared memory, up to twice as many.
MORE_STORES = {
    ("17", "product_kernel"):
        "nvcc lays the dynamic array of weights right behind the other arrays, for one row 32 bytes into a line, which cuts every other "
        "row of 64 bytes; ours begins a line. And it stores the square of each of eight rows by itself, each lane one; g++ all at once",
}
# Why hardware may have more requests and sectors of loads, up to twice as many: a warp goes through other code in two groups.
DIFFERENT_TURNS = {
    ("07", "decode_project_kernel"):
        "nvcc takes the turns of the loop over inputs by twos, behind a single one if they are odd: lanes with one "
        "turn and lanes with two do not meet",
}


def collisions(theirs, ours, again):
    """
    What shows that conflicts beyond ours are collisions with other traffic of the L1, which hardware's counter
    counts, too; empty if nothing does. The kernels of counters.cu and matrix.cu are small enough to be free of them.
    """
    both = ("shared_load_wavefronts", "shared_store_wavefronts")
    if all(theirs[figure] == int(ours[figure]) for figure in both):
        return "collisions with other traffic: the wavefronts of its instructions are ours"
    count, got = theirs["shared_bank_conflicts"], int(ours["shared_bank_conflicts"])
    if theirs["wavefronts_beyond_ideal"] == got:
        return f"collisions with other traffic: instruction by instruction ncu finds {got:,}"
    if again is not None and again != count and count < 1.1 * got + 100:
        return f"collisions with other traffic: {again:,} when the same launch came again"
    return ""


def explanation(program, kernel, figure, theirs, ours, again):
    """Why hardware's figure is another one; empty if nothing explains it."""
    more = theirs[figure] > int(ours[figure])
    if figure == "shared_bank_conflicts" and more and not program.endswith(".cu"):
        return collisions(theirs, ours, again)
    if figure == "shared_store_wavefronts" and theirs["zero_filling"] and theirs[figure] - theirs["zero_filling"] // 2 == int(ours[figure]):
        return ZERO_FILLING
    if not more and (program, kernel) in FEWER_LOADS and ("load" in figure or figure == "shared_bank_conflicts"):
        return FEWER_LOADS[program, kernel]
    if figure in ("shared_load_wavefronts", "shared_store_wavefronts") and not more:
        return DIFFERENT_CODE.get((program, kernel), "")
    twice = 2 * int(ours[figure])  # lanes in two groups: each access once for one and once for the other, at most
    if figure == "shared_store_wavefronts" and more and theirs[figure] <= twice:
        return MORE_STORES.get((program, kernel), "")
    if figure in ("global_load_requests", "global_load_sectors") and more and theirs[figure] <= twice:
        return DIFFERENT_TURNS.get((program, kernel), "")
    return ""


NCU = ["ncu", "--csv", "--page", "raw", "--clock-control", "none", "--print-metric-instances", "details",
       "--metrics"]


def number(text):
    """The total that begins a metric's text, as '1,648 (32; 64)' has it; None where there is none."""
    match = re.match(r"[\d,]+", text.strip())
    return int(match.group().replace(",", "")) if match else None


def instances(text):
    """The values in brackets: [(label or '', value)]."""
    match = re.search(r"\((.*)\)", text)
    if not match:
        return []
    found = []
    for part in match.group(1).split(";"):
        entry = re.match(r"(?:(.*):)?\s*([\d,]+)\s*$", part.strip())
        if entry:
            found.append((entry.group(1) or "", int(entry.group(2).replace(",", ""))))
    return found


def full_name(kernel):
    """'void name<tile<4, 8> >(const float *)' as 'name<tile<4,8>>', however ncu or c++filt writes it."""
    name = re.sub(r"\((?:bool|int|unsigned int|unsigned)\)", "", kernel)  # of a template argument
    name = name.split("(")[0].strip()
    name = re.sub(r"^void ", "", name)
    name = re.sub(r"\b(\d+)u?l?l?\b", r"\1", name).replace("true", "1").replace("false", "0")
    return name.replace(" ", "")


def base_name(kernel):
    """'void name<4>(const float *)' without its return type, arguments and template arguments."""
    return re.sub(r"<.*", "", full_name(kernel))


def read_ncu(path):
    """{kernel: [{metric: text} of each launch]}"""
    kernels = {}
    with open(path, newline="") as file:
        rows = list(csv.reader(line for line in file if line.startswith('"')))
    for row in rows[2:]:  # names, units
        values = dict(zip(rows[0], row))
        kernels.setdefault(base_name(values["Kernel Name"]), []).append(values)
    return kernels


def demangle(symbols):
    """{symbol: name with template arguments}; without c++filt, the bare name of what is in no namespace."""
    tool = shutil.which("c++filt")
    if tool:
        filtered = subprocess.run([tool], input="\n".join(symbols), capture_output=True, text=True, check=True)
        return dict(zip(symbols, filtered.stdout.splitlines()))
    names = {}
    for symbol in symbols:
        match = re.match(r"_Z(?:L)?(\d+)(.*)", symbol)
        names[symbol] = match.group(2)[:int(match.group(1))] if match else symbol
    return names


def read_sass(path):
    """{kernel with template arguments: {offset: 'LDS', ...}}: instructions that may access shared memory, in their order."""
    functions, current = {}, {}
    with open(path) as file:
        for line in file:
            function = re.search(r"Function : (\S+)", line)
            if function:
                current = functions.setdefault(function.group(1), {})
                continue
            instruction = re.search(r"/\*([0-9a-f]+)\*/.*?\b(LDSM|LDS|STSM|STS|ATOMS|LDGSTS|LD|ST)\b", line)
            if instruction:
                zero_filling = ".ZFILL" if "LDGSTS" in instruction.group(2) and ".ZFILL" in line else ""
                current[int(instruction.group(1), 16)] = instruction.group(2) + zero_filling
    listing = {}
    for symbol, name in demangle(list(functions)).items():
        listing.setdefault(full_name(name), {}).update(functions[symbol])
    return listing


def listed(listing, kernel):
    """Instructions of a kernel as ncu names it; of its only instantiation where the listing has bare names."""
    exact = listing.get(full_name(kernel))
    if exact is not None:
        return exact
    same = [name for name in listing if base_name(name) == base_name(kernel)]
    return listing[same[0]] if len(same) == 1 else {}


def shared_wavefronts(values, instructions):
    """
    (loads, stores, those of the stores that copies with LDGSTS.ZFILL make), or None three times where the listing does not fit the
    profile. What never ran is not in that.
    """
    counted = instances(values.get("memory_l1_wavefronts_shared", ""))
    if number(values.get("memory_l1_wavefronts_shared", "")) == 0:
        return 0, 0, 0
    if len(counted) == 0 and len(instructions) == 1:
        counted = [("", number(values["memory_l1_wavefronts_shared"]))]
    first = instances(values.get("launch__function_pcs", ""))
    if first and counted and all(label for label, _ in counted):
        names = [instructions.get(int(label, 16) - first[0][1], "") for label, _ in counted]
    else:
        names = list(instructions.values())
    if "" in names or len(names) != len(counted):
        return None, None, None
    pairs = list(zip(names, (count for _, count in counted)))
    return tuple(sum(n for name, n in pairs if name in some)
                 for some in (("LDS", "LDSM", "LD"), ("STS", "STSM", "ST", "LDGSTS", "LDGSTS.ZFILL"), ("LDGSTS.ZFILL",)))


def barriers(values):
    counted = instances(values.get("sass__inst_executed_per_opcode", ""))
    if not counted or not counted[0][0]:
        return None  # without the names of the opcodes
    return sum(n for name, n in counted if name.startswith("BAR"))


def hardware_figures(values, instructions):
    def metric(name):
        return number(values.get(name, ""))

    counted, ideal = metric("memory_l1_wavefronts_shared"), metric("memory_l1_wavefronts_shared_ideal")
    loads, stores, zero_filling = shared_wavefronts(values, instructions)
    atomics = [metric(f"l1tex__t_requests_{GLOBAL}_atom.sum"), metric(f"l1tex__t_requests_{GLOBAL}_red.sum"),
               metric("smsp__sass_inst_executed_op_shared_atom.sum")]
    return {
        "global_load_requests": metric(f"l1tex__t_requests_{GLOBAL}_ld.sum"),
        "global_load_sectors": metric(f"l1tex__t_sectors_{GLOBAL}_ld.sum"),
        "global_store_requests": metric(f"l1tex__t_requests_{GLOBAL}_st.sum"),
        "global_store_sectors": metric(f"l1tex__t_sectors_{GLOBAL}_st.sum"),
        "shared_load_wavefronts": loads,
        "shared_store_wavefronts": stores,
        "zero_filling": zero_filling,
        "shared_bank_conflicts": metric("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"),
        "atomics": None if None in atomics else sum(atomics),
        "barriers": barriers(values),
        "wavefronts_beyond_ideal": None if None in (counted, ideal) else counted - ideal,
    }


def read_simt(path):
    """{kernel: [{column: text} of each launch]}"""
    kernels = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            kernels.setdefault(base_name(row["kernel"]), []).append(row)
    return kernels


def shape(text):
    """Grid or block as numbers, from '(16, 1, 1)' or '16x1x1'."""
    return tuple(int(n) for n in re.findall(r"\d+", text))


def same_work(a, b):
    """Whether two launches that ncu saw are of one kernel, one grid, and the same shared memory traffic."""
    return all(a[name] == b[name] for name in ("Kernel Name", "Grid Size", "Block Size")) and \
        number(a["memory_l1_wavefronts_shared"]) == number(b["memory_l1_wavefronts_shared"])


def compare_launch(program, name, theirs, ours, again):
    """(rows of the table, unexplained differences); again: conflicts of another launch like this one, or None."""
    rows, wrong = [], 0
    kernel = base_name(name)
    for figure in FIGURES:
        expected, got = theirs[figure], int(ours[figure])
        if expected is None or (expected == 0 and got == 0):
            continue
        verdict = "yes"
        if expected != got:
            why = explanation(program, kernel, figure, theirs, ours, again)
            verdict = f"no: {why}" if why else "**no**"
            wrong += not why
        rows.append((name, figure.replace("_", " "), expected, got, verdict))
    return rows, wrong


def compare_kernel(program, kernel, profiles, sass, launches):
    """The same of all launches of a kernel."""
    rows, wrong, seen = [], 0, set()
    for index, (profile, ours) in enumerate(zip(profiles, launches)):
        work = tuple(ours[figure] for figure in FIGURES) + (ours["grid"], ours["block"])
        if work in seen:
            continue
        seen.add(work)
        name = kernel if index == 0 else f"{kernel} (launch {index + 1})"
        grid, our_grid = (shape(launch[a]) + shape(launch[b]) for launch, a, b in
                          ((profile, "Grid Size", "Block Size"), (ours, "grid", "block")))
        if grid != our_grid:
            rows.append((name, "grid and block", grid, our_grid, "**no**"))
            wrong += 1
            continue
        conflicts = [number(other["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"])
                     for other in profiles[index + 1:] if same_work(profile, other)]
        theirs = hardware_figures(profile, listed(sass, profile["Kernel Name"]))
        more, unexplained = compare_launch(program, name, theirs, ours, conflicts[0] if conflicts else None)
        rows, wrong = rows + more, wrong + unexplained
    return rows, wrong


def compare(hardware, sass, software, program):
    """(rows of the table, unexplained differences, kernels compared)"""
    rows, wrong, kernels = [], 0, 0
    for kernel, launches in software.items():
        if kernel not in hardware:
            continue
        kernels += 1
        more, unexplained = compare_kernel(program, kernel, hardware[kernel], sass, launches)
        rows, wrong = rows + more, wrong + unexplained
    return rows, wrong, kernels


def not_measured(hardware, software, program):
    """Rows for the kernels of a small program that the hardware's run does not have."""
    missing = [kernel for kernel in software if kernel not in hardware and program.endswith(".cu")]
    return [(kernel, "all", "", "", "not yet counted on hardware, only by hand (the `.expected` file)") for kernel in missing]


def program_of(title):
    """'03' of 'Solution of lesson 03, case ...'; 'counters.cu' of 'Small kernels (tests/.../counters.cu)'."""
    found = re.search(r"lesson (\d\d)", title) or re.search(r"(\w+\.cu)", title)
    return found.group(1) if found else title


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--section", action="append", default=[], metavar="TITLE=PREFIX",
                        help="one measured program; may be repeated")
    parser.add_argument("--out", default="docs/results/tables/counters_by_kernel.csv")
    parser.add_argument("--print-ncu", action="store_true", help="print how ncu has to be called, and end")
    arguments = parser.parse_args()
    if arguments.print_ncu:
        print(" ".join(NCU + [",".join(METRICS)]))
        return 0
    table, figures, wrong, kernels = [], 0, 0, 0
    for section in arguments.section:
        title, _, prefix = section.rpartition("=")
        hardware, software = read_ncu(prefix + ".ncu"), read_simt(prefix + ".simt")
        rows, unexplained, compared = compare(hardware, read_sass(prefix + ".sass"), software, program_of(title))
        table += [(title, *row) for row in rows + not_measured(hardware, software, program_of(title))]
        figures, wrong, kernels = figures + len(rows), wrong + unexplained, kernels + compared
    summary = f"{kernels} kernels, {figures} figures, {wrong} differences not explained"
    with open(arguments.out, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("section", "kernel", "figure", "H200", "ours", "equal?")] + table)
    print(f"{arguments.out}: {summary}")
    return 0 if wrong == 0 and kernels > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
