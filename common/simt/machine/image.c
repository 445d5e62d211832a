/**
 * @file image.c
 * @brief What the program's own ELF file says: where its variables lie and what they are called.
 *
 * A `__shared__` variable is a thread_local one, so its symbol gives its offset in the TLS block of the
 * worker; a `__device__` variable is a global one. Symbols are the only bounds there are; a stripped program
 * runs, but is not checked for overruns from one variable into the next.
 */
#include "image.h"
#include "machine.h"
#include "names.h"
#include "settings.h"
#include "tools.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image simt_image;

static const ElfW(Sym) * all_symbols;
static size_t all_count;
static const char *strings;

extern char __start_simt_constant[] __attribute__((weak)), __stop_simt_constant[] __attribute__((weak));
extern char __start_simt_device[] __attribute__((weak)), __stop_simt_device[] __attribute__((weak));
extern char __start_simt_managed[] __attribute__((weak)), __stop_simt_managed[] __attribute__((weak));

static struct vector cluster_records,
    bound_records; /* struct symbol: what __cluster_dims__ and __launch_bounds__ say */

/* ---- symbols ------------------------------------------------------------------------------------------ */

static int by_start(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static void add_symbol(struct vector *list, const ElfW(Sym) * symbol, uintptr_t start)
{
    struct symbol *new = simt_vector_grow(list, sizeof *new);
    new->start = start;
    new->bytes = symbol->st_size;
    new->linker_name = strings + symbol->st_name;
    new->name = simt_plain_name(new->linker_name);
}

/* The gaps between the shared variables are variables, too. */
static bool is_red_zone(const char *linker_name)
{
    return strstr(linker_name, "simt_red_zone") != NULL;
}

/* C++ has given the variable its name: all shared variables of a CUDA program, which are static ones. The machine's, the
 * runner's and the libraries' are C, and a kernel has no business there. */
static bool has_programs_name(const char *linker_name)
{
    return strncmp(linker_name, "_Z", 2) == 0;
}

int simt_is_device_variable(const void *pointer)
{
    const uintptr_t address = (uintptr_t)pointer;
    return (address >= (uintptr_t)__start_simt_device && address < (uintptr_t)__stop_simt_device) ||
           (address >= (uintptr_t)__start_simt_managed && address < (uintptr_t)__stop_simt_managed) ||
           simt_image_constant(address);
}

/* A variable of a CUDA program, to which simtcc or C++ has given its section or its name. */
static bool is_programs(uintptr_t address, const char *linker_name)
{
    return simt_is_device_variable((const void *)address) || has_programs_name(linker_name);
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* "_ZZ6kernelPfE17simt_cluster_dims" */
static bool is_record(const ElfW(Sym) * symbol, const char *end)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size == sizeof(struct simt_extent) &&
           ends_with(strings + symbol->st_name, end);
}

static void map_tls_owners(const struct vector *shared, const struct vector *machines)
{
    uint16_t *owner = simt_image.tls_owner = calloc(simt_image.tls_bytes + 1, sizeof *owner);
    if (owner == NULL) simt_die("out of host memory.");
    for (size_t b = 0; all_count == 0 && b < simt_image.tls_bytes; b++)
        owner[b] = OWNER_UNKNOWN; /* stripped */
    const struct symbol *symbol = shared->data;
    for (size_t i = 0; i < shared->count && i + 1 < OWNER_MACHINE; i++)
        for (size_t b = 0; b < symbol[i].bytes; b++) owner[symbol[i].start + b] = (uint16_t)(i + 1);
    symbol = machines->data;
    for (size_t i = 0; i < machines->count; i++)
        for (size_t b = 0; b < symbol[i].bytes; b++) owner[symbol[i].start + b] = OWNER_MACHINE;
}

static void sort_symbols(void)
{
    struct vector shared = {0}, machines = {0}, device = {0};
    for (size_t i = 0; i < all_count; i++) {
        const ElfW(Sym) *symbol = &all_symbols[i];
        const unsigned type = ELF64_ST_TYPE(symbol->st_info);
        const uintptr_t address = symbol->st_value + simt_image.bias;
        if (symbol->st_size == 0 || symbol->st_shndx == SHN_UNDEF) continue;
        if (is_record(symbol, "E17simt_cluster_dims")) add_symbol(&cluster_records, symbol, address);
        if (is_record(symbol, "E18simt_launch_bounds")) add_symbol(&bound_records, symbol, address);
        if (type == STT_TLS && symbol->st_value + symbol->st_size <= simt_image.tls_bytes &&
            !is_red_zone(strings + symbol->st_name))
            add_symbol(has_programs_name(strings + symbol->st_name) ? &shared : &machines, symbol,
                       symbol->st_value);
        if (type == STT_OBJECT && address >= simt_image.data && address < simt_image.data_end &&
            is_programs(address, strings + symbol->st_name))
            add_symbol(&device, symbol, address);
    }
    qsort(shared.data, shared.count, sizeof(struct symbol), by_start);
    qsort(device.data, device.count, sizeof(struct symbol), by_start);
    map_tls_owners(&shared, &machines);
    simt_image.shared = shared.data;
    simt_image.shared_count = shared.count;
    simt_image.device = device.data;
    simt_image.device_count = device.count;
    simt_image.named = all_count > 0;
}

/* ---- the file ----------------------------------------------------------------------------------------- */

static int note_segments(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    simt_image.bias = info->dlpi_addr;
    simt_image.low = simt_image.data = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
        if (segment->p_type == PT_TLS) simt_image.tls_bytes = segment->p_memsz;
        if (segment->p_type != PT_LOAD) continue;
        if (start < simt_image.low) simt_image.low = start;
        if (end > simt_image.high) simt_image.high = end;
        if (!(segment->p_flags & PF_W)) continue;
        if (start < simt_image.data) simt_image.data = start;
        if (end > simt_image.data_end) simt_image.data_end = end;
    }
    simt_image.data &= ~(uintptr_t)63;
    return 1; /* the program comes first; the libraries do not matter */
}

static void find_symbol_table(const char *file, size_t bytes)
{
    const ElfW(Ehdr) *header = (const void *)file;
    if (bytes < sizeof *header || header->e_shoff + header->e_shnum * sizeof(ElfW(Shdr)) > bytes) return;
    const ElfW(Shdr) *section = (const void *)(file + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (section[i].sh_type != SHT_SYMTAB || section[i].sh_link >= header->e_shnum) continue;
        all_symbols = (const void *)(file + section[i].sh_offset);
        all_count = section[i].sh_size / sizeof *all_symbols;
        strings = file + section[section[i].sh_link].sh_offset;
    }
}

static void load(void)
{
    dl_iterate_phdr(note_segments, NULL);
    struct stat status;
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (file >= 0 && fstat(file, &status) == 0) {
        const char *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) find_symbol_table(bytes, (size_t)status.st_size); /* stays mapped: names */
    }
    if (file >= 0) close(file);
    sort_symbols();
}

/* Host threads may ask at the same time. */
void simt_image_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
}

static int note_tls(struct dl_phdr_info *info, size_t size, void *tls)
{
    (void)size;
    *(uintptr_t *)tls = (uintptr_t)info->dlpi_tls_data;
    return 1;
}

uintptr_t simt_image_tls(void)
{
    uintptr_t tls = 0;
    dl_iterate_phdr(note_tls, &tls);
    return tls;
}

/* ---- questions ---------------------------------------------------------------------------------------- */

const struct symbol *simt_symbol_before(const struct symbol *symbols, size_t count, uintptr_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (symbols[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &symbols[low - 1] : NULL;
}

bool simt_image_variable(uintptr_t address, size_t bytes)
{
    simt_image_load();
    if (address < simt_image.data || address >= simt_image.data_end) return false;
    const struct symbol *symbol = simt_symbol_before(simt_image.device, simt_image.device_count, address);
    return symbol != NULL && simt_lies_in(symbol->start, symbol->bytes, address, bytes);
}

bool simt_image_shared(uintptr_t offset, size_t bytes)
{
    const uint16_t *owner = simt_image.tls_owner;
    return simt_lies_in(0, simt_image.tls_bytes, offset, bytes) && owner[offset] != OWNER_NONE &&
           owner[offset] != OWNER_MACHINE && (bytes == 0 || owner[offset + bytes - 1] == owner[offset]);
}

bool simt_image_text(const char *text)
{
    const uintptr_t at = (uintptr_t)text;
    return simt_lies_in(simt_image.low, simt_image.data - simt_image.low, at, 1) &&
           memchr(text, '\0', simt_image.data - at) != NULL;
}

bool simt_image_constant(uintptr_t address)
{
    return address >= (uintptr_t)__start_simt_constant && address < (uintptr_t)__stop_simt_constant;
}

void simt_static_device_bytes(size_t *variables, size_t *constants)
{
    simt_image_load();
    *variables = *constants = 0;
    for (size_t i = 0; i < simt_image.device_count; i++) {
        const struct symbol *symbol = &simt_image.device[i];
        *(simt_image_constant(symbol->start) ? constants : variables) += symbol->bytes;
    }
}

/* What has a dot in its name is a piece of a function that the compiler has taken out: no pointer leads there. */
static bool is_function_called(const ElfW(Sym) * symbol, const char *prefix)
{
    const char *name = strings + symbol->st_name;
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
           strncmp(name, prefix, strlen(prefix)) == 0 && strchr(name, '.') == NULL;
}

size_t simt_functions_called(const char *prefix, uintptr_t *function, size_t room)
{
    size_t count = 0;
    simt_image_load();
    for (size_t i = 0; i < all_count; i++) {
        if (!is_function_called(&all_symbols[i], prefix)) continue;
        if (count < room) function[count] = all_symbols[i].st_value + simt_image.bias;
        count++;
    }
    return count;
}

static int begins_called(uintptr_t address, const char *prefix)
{
    simt_image_load();
    for (size_t i = 0; i < all_count; i++)
        if (ELF64_ST_TYPE(all_symbols[i].st_info) == STT_FUNC && all_symbols[i].st_shndx != SHN_UNDEF &&
            all_symbols[i].st_value + simt_image.bias == address &&
            strncmp(strings + all_symbols[i].st_name, prefix, strlen(prefix)) == 0)
            return 1;
    return all_count == 0;
}

int simt_begins_function(const void *address, const char *prefix)
{
    enum { KNOWN = 64 };
    static _Thread_local struct {
        const void *address;
        const char *prefix;
    } known[KNOWN];
    const size_t at = (uintptr_t)address / 16 % KNOWN;
    if (known[at].address == address && known[at].prefix == prefix) return 1;
    if (!begins_called((uintptr_t)address, prefix)) return 0;
    known[at].address = address;
    known[at].prefix = prefix;
    return 1;
}

const void *simt_image_record(const char *linker_name, size_t bytes)
{
    for (size_t i = 0; i < all_count; i++)
        if (ELF64_ST_TYPE(all_symbols[i].st_info) == STT_OBJECT && all_symbols[i].st_size == bytes &&
            strcmp(strings + all_symbols[i].st_name, linker_name) == 0)
            return (const void *)(all_symbols[i].st_value + simt_image.bias);
    return NULL;
}

/* The linker name of a function, or NULL. */
static const char *function_name(const void *function)
{
    static _Thread_local struct {
        const void *function;
        const char *name;
    } last;
    const uintptr_t address = (uintptr_t)function - simt_image.bias;
    for (size_t i = 0; function != NULL && function != last.function && i < all_count; i++)
        if (ELF64_ST_TYPE(all_symbols[i].st_info) == STT_FUNC && all_symbols[i].st_value == address) {
            last.function = function;
            last.name = strings + all_symbols[i].st_name;
        }
    return function != NULL && function == last.function ? last.name : NULL;
}

/* "_Z16attention_kernelI6__halfEv", "_ZL6kernelPf": where the name begins, and how long it is; 0 if it has another form. */
static size_t name_within(const char *linker_name, const char **begin)
{
    const char *digits = linker_name + (strncmp(linker_name, "_ZL", 3) == 0 ? 3 : 2);
    char *end;
    if (strncmp(linker_name, "_Z", 2) != 0 || *digits < '1' || *digits > '9') return 0;
    const size_t length = strtoul(digits, &end, 10);
    *begin = end;
    return length <= strlen(end) ? length : 0;
}

const char *simt_kernel_name(const char *called, const void *function)
{
    enum { NAMES = 64 };
    static struct {
        const void *function;
        char *name;
    } known[NAMES];
    static size_t count;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const char *begin, *name = called;
    if (called == NULL || strpbrk(called, "<(: ") != NULL) return called; /* it names a template or a scope */
    simt_image_load();
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < count && known[i].function != function) i++;
    if (i == count && count < NAMES) {
        const char *linker_name = function_name(function);
        const size_t length = linker_name != NULL ? name_within(linker_name, &begin) : 0;
        known[count].function = function;
        known[count++].name = length > 0 ? strndup(begin, length) : NULL;
    }
    if (i < count && known[i].name != NULL) name = known[i].name;
    pthread_mutex_unlock(&lock);
    return name;
}

/* What the linker names of a kernel's local variables begin with. */
static void local_prefix(char *prefix, size_t size, const char *kernel, const void *function)
{
    const char *name = function_name(function);
    if (name != NULL && strncmp(name, "_Z", 2) == 0) {
        snprintf(prefix, size, "_ZZ%sE", name + 2);
        return;
    }
    if (name != NULL) kernel = name; /* extern "C" */
    if (kernel == NULL) kernel = "?";
    for (const char *scope; (scope = strstr(kernel, "::")) != NULL && scope < kernel + strcspn(kernel, "<");)
        kernel = scope + 2;
    const size_t length = strcspn(kernel, "< ");
    snprintf(prefix, size, "%zu%.*s", length, (int)length, kernel);
}

/* Where the variable's own part of its linker name begins, "4tile": what stands in front of it is its function. NULL: it
 * cannot be found. */
static const char *own_part(const struct symbol *symbol)
{
    char own[128];
    const char *at = NULL;
    snprintf(own, sizeof own, "%zu%s", strlen(symbol->name), symbol->name);
    for (const char *next = strstr(symbol->linker_name, own); next != NULL; next = strstr(next + 1, own))
        at = next;
    return at;
}

static bool is_local_of(const struct symbol *symbol, const char *prefix)
{
    const char *name = symbol->linker_name;
    if (strncmp(name, "_ZZ", 3) != 0) return false;
    if (prefix[0] == '_') return strncmp(name, prefix, strlen(prefix)) == 0;
    for (const char *at = strstr(name, prefix); at != NULL; at = strstr(at + 1, prefix))
        if (at[-1] < '0' || at[-1] > '9') return true; /* of a namespace or a class, too */
    return false;
}

/* What variable @p first has before its own name: those of one function have the same, and so has each outside of functions by itself. */
static size_t function_part(const struct symbol *first)
{
    const char *own = own_part(first);
    return own != NULL ? (size_t)(own - first->linker_name) : strlen(first->linker_name);
}

/* What the function, or the variable of the file, that has @p first takes in all. */
static size_t sum_of_part(const struct symbol *first)
{
    const size_t length = function_part(first);
    size_t sum = 0;
    for (size_t k = 0; k < simt_image.shared_count; k++)
        if (strncmp(simt_image.shared[k].linker_name, first->linker_name, length) == 0)
            sum += simt_image.shared[k].bytes;
    return sum;
}

static size_t most_of_a_part;

static void find_most_of_a_part(void)
{
    for (size_t i = 0; i < simt_image.shared_count; i++) {
        const size_t sum = sum_of_part(&simt_image.shared[i]);
        if (sum > most_of_a_part) most_of_a_part = sum;
    }
}

/* Where it is not known which function a launch runs, what is more than a kernel may have counts, whichever function's it is: no file that
 * has it can be built for a GPU. */
size_t simt_static_shared_bytes(const char *kernel, const void *function)
{
    enum { MOST = 48 << 10 };
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char prefix[1024];
    size_t most = 0;
    simt_image_load();
    pthread_once(&once, find_most_of_a_part);
    if (function == NULL && most_of_a_part > MOST) return most_of_a_part;
    local_prefix(prefix, sizeof prefix, kernel, function);
    for (size_t i = 0; i < simt_image.shared_count; i++) {
        if (!is_local_of(&simt_image.shared[i], prefix)) continue;
        const size_t sum = sum_of_part(&simt_image.shared[i]);
        if (sum > most) most = sum;
    }
    return most;
}

/* The rewriter puts a record into the kernel's body. */
struct simt_extent simt_declared_cluster(const char *kernel, const void *function, int *differ)
{
    char prefix[1024];
    struct simt_extent found = {0};
    *differ = 0;
    simt_image_load();
    if (cluster_records.count == 0) return found;
    local_prefix(prefix, sizeof prefix, kernel, function);
    for (size_t i = 0; i < cluster_records.count; i++) {
        const struct symbol *record = (const struct symbol *)cluster_records.data + i;
        struct simt_extent one;
        if (!is_local_of(record, prefix)) continue;
        memcpy(&one, (const void *)record->start, sizeof one);
        *differ |= found.x != 0 && memcmp(&one, &found, sizeof one) != 0;
        found = one;
    }
    return found;
}

unsigned simt_declared_threads(const void *function)
{
    char prefix[1024];
    simt_image_load();
    if (function == NULL || bound_records.count == 0) return 0;
    local_prefix(prefix, sizeof prefix, NULL, function);
    for (size_t i = 0; i < bound_records.count; i++) {
        const struct symbol *record = (const struct symbol *)bound_records.data + i;
        if (is_local_of(record, prefix)) return ((const struct simt_extent *)record->start)->x;
    }
    return 0;
}

/* A program's own record may say anything. */
static bool is_shape(const struct simt_shape *shape)
{
    bool good = shape != NULL && shape->rank >= 0 && shape->rank <= SIMT_RANK && shape->element_bytes > 0;
    for (int axis = 0; good && axis < shape->rank; axis++) good = shape->extent[axis] > 0;
    return good;
}

/* The record that the rewriter puts beside a shared variable `tile` is called `simt_shape_of_tile`, and is of the same
 * function. NULL: there is none. */
const struct simt_shape *simt_shape_of_symbol(const struct symbol *symbol)
{
    static const char record[] = "simt_shape_of_";
    char name[1024];
    const size_t length = strlen(symbol->name);
    const char *at = own_part(symbol);
    const int wanted = at == NULL ? snprintf(name, sizeof name, "%s%s", record, symbol->name)
                                  : snprintf(name, sizeof name, "%.*s%zu%s%s",
                                             (int)(at - symbol->linker_name), symbol->linker_name,
                                             sizeof record - 1 + length, record, strstr(at, symbol->name));
    const struct simt_shape *shape =
        wanted < (int)sizeof name ? simt_image_record(name, sizeof *shape) : NULL;
    return is_shape(shape) ? shape : NULL;
}
