/**
 * @file code_kinds.c
 * @brief The tables of instructions.
 */
#include "code_kinds.h"

#include <string.h>

static const struct kind kinds[] = {
    {" mov movb movw movl movq movabs ", MOVES, 0},
    {" lea ", LOADS_ADDRESS, 0},
    {" movzbl movzbw movzbq movsbl movsbw movsbq ", EXTENDS, 1},
    {" movzwl movzwq movswl movswq ", EXTENDS, 2},
    {" movslq ", EXTENDS, 4},
    {" add sub and or xor adc sbb neg not inc dec shl shr sar rol ror rcl rcr shld shrd bts btr btc bsf bsr "
     "tzcnt lzcnt popcnt bswap ",
     ADDS_UP, 0},
    {" cmp test bt ", READS, 0},
    {" imul mul div idiv ", DIVIDES, 0},
    {" cltq cwtl cbtw ", SETS_RAX, 0},
    {" cltd cqto cwtd ", SETS_RDX, 0},
    {" xchg xadd ", EXCHANGES, 0},
    {" cmpxchg ", COMPARES_AND_EXCHANGES, 0},
    {" push pushq ", PUSHES, 8},
    {" pop popq ", POPS, 8},
    {" leave leaveq ", LEAVES, 8},
    {" call callq ", CALLS, 0},
    {" ret retq ", RETURNS, 0},
    {" jmp jmpq ", JUMPS, 0},
    {" ja jae jb jbe je jne jg jge jl jle js jns jo jno jp jnp ", BRANCHES, 0},
    {" ud2 ", STOPS, 0},
    {" nop nopw nopl pause mfence lfence sfence endbr64 prefetcht0 prefetcht1 prefetcht2 prefetchnta "
     "prefetchw ",
     NOTHING, 0},
    {" stos movsq movsl movsb movsw ", STRINGS, 0},
    {" cmova cmovae cmovb cmovbe cmove cmovne cmovg cmovge cmovl cmovle cmovs cmovns cmovo cmovno cmovp "
     "cmovnp ",
     ADDS_UP, 0},
    {" seta setae setb setbe sete setne setg setge setl setle sets setns seto setno setp setnp pextrb "
     "pinsrb ",
     ADDS_UP, 1},
    {" pinsrw pextrw ", ADDS_UP, 2},
    {" movss addss subss mulss divss sqrtss maxss minss andnss cvtss2sd cvtsi2ssl cvtsi2sdl cvttss2si "
     "cvtss2si roundss rcpss "
     "rsqrtss insertps extractps movd pinsrd pextrd broadcastss ",
     ADDS_UP, 4},
    {" cvtsi2ss cvtsi2sd ", ADDS_UP, 4},
    {" comiss ucomiss ", READS, 4},
    {" movsd addsd subsd mulsd divsd sqrtsd maxsd minsd cvtsd2ss cvtsi2ssq cvtsi2sdq cvttsd2si cvtsd2si "
     "roundsd movlps movhps "
     "movlpd movhpd pinsrq pextrq movddup broadcastsd ",
     ADDS_UP, 8},
    {" comisd ucomisd ", READS, 8},
    {" ptest testps ", READS, 16},
    {"", NOTHING, 0}};

/* Families of vector instructions, by how their names begin: arithmetic and moves between vectors, which touch 16 or 32 bytes of memory at most. */
static const char *const vector_starts[] = {
    "movap",    "movup",      "movdqa",      "movdqu",     "movhl",       "movlh",  "movsh",  "movsld",
    "movmsk",   "lddqu",      "padd",        "psub",       "pmul",        "pmadd",  "pand",   "por",
    "pxor",     "psll",       "psrl",        "psra",       "pcmpeq",      "pcmpgt", "punpck", "pack",
    "pshuf",    "pmax",       "pmin",        "pabs",       "psign",       "pavg",   "pmovsx", "pmovzx",
    "pmovmskb", "palignr",    "pblend",      "phadd",      "phsub",       "psadbw", "addp",   "subp",
    "mulp",     "divp",       "sqrtp",       "maxp",       "minp",        "andp",   "andnp",  "orp",
    "xorp",     "cmp",        "haddp",       "hsubp",      "addsubp",     "unpck",  "shufp",  "blend",
    "cvt",      "roundp",     "rcpp",        "rsqrtp",     "fmadd",       "fmsub",  "fnmadd", "fnmsub",
    "perm",     "insertf128", "extractf128", "inserti128", "extracti128", "zero",   "dpp",    NULL};

int is_listed(const char *names, const char *name, size_t length)
{
    for (const char *at = names; *at && (at = strstr(at + 1, name)) != NULL;)
        if (at[-1] == ' ' && at[length] == ' ') return 1;
    return 0;
}

static int listed_kind(const char *name, struct kind *found)
{
    const size_t length = strlen(name);
    for (const struct kind *k = kinds; k->names[0]; k++)
        if (length < 16 && is_listed(k->names, name, length)) return *found = *k, 1;
    return 0;
}

/* Bytes of memory of an instruction of vectors whose widest register has @p widest. */
static int vector_bytes(const char *name, int widest)
{
    static const struct {
        const char *begins;
        int part;
    } parts[] = {{"pmovsxbw", 2}, {"pmovsxwd", 2}, {"pmovsxdq", 2}, {"pmovsxbd", 4},
                 {"pmovsxwq", 4}, {"pmovsxbq", 8}, {"pmovzxbw", 2}, {"pmovzxwd", 2},
                 {"pmovzxdq", 2}, {"pmovzxbd", 4}, {"pmovzxwq", 4}, {"pmovzxbq", 8},
                 {"cvtps2pd", 2}, {"cvtph2ps", 2}, {"cvtps2ph", 2}, {"cvtdq2pd", 2}};
    const size_t length = strlen(name);
    const char *end = name + length;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strncmp(name, parts[i].begins, 8) == 0) return widest / parts[i].part;
    if (strstr(name, "128") != NULL) return strncmp(name, "perm", 4) == 0 ? 32 : 16;
    if (length > 2 && (*name == 'f' || strncmp(name, "cmp", 3) == 0)) { /* scalars of both are many */
        if (strcmp(end - 2, "ss") == 0) return 4;
        if (strcmp(end - 2, "sd") == 0) return 8;
    }
    if (strncmp(name, "cvt", 3) == 0 && end[-1] == 'y') return 32;
    const int counts = (strncmp(name, "psl", 3) == 0 || strncmp(name, "psr", 3) == 0) && name[4] != 'v';
    return widest == 32 && !counts ? 32 : 16;
}

int kind_of_instruction(const struct instruction *it, struct kind *found)
{
    const char *name = it->name;
    const size_t length = strlen(name);
    if (listed_kind(name, found) && found->does == STRINGS && strcmp(it->prefix, "rep") == 0)
        return strstr(it->text, ",%es:(%rdi)") != NULL &&
               (strcmp(name, "stos") == 0 || strstr(it->text, " %ds:(%rsi),") != NULL);
    if (strncmp(name, "bt", 2) == 0 && it->count == 2 && it->operand[0].kind == REGISTER &&
        it->operand[1].kind == MEMORY)
        return 0; /* a bit as far away as the register says */
    int widest = 0, vectors = 0, general = 0;
    for (int i = 0; i < it->count; i++) {
        const struct operand *o = &it->operand[i];
        if (o->kind == UNKNOWN) return 0;
        if (o->kind != REGISTER) continue;
        widest = widest < o->bytes ? o->bytes : widest;
        vectors += o->reg == VECTOR;
        general += o->reg != VECTOR;
    }
    const char *bare = *name == 'v' ? name + 1 : name;
    if (vectors || *name == 'v') {
        int is_family = 0;
        if (strcmp(bare, "movq") == 0) return *found = (struct kind){"", ADDS_UP, 8}, 1;
        if (listed_kind(bare, found) &&
            (found->does == ADDS_UP || found->does == READS || found->does == NOTHING)) {
            if (found->bytes == 0 && found->does != NOTHING) return 0;
            if (widest == 32 && strcmp(bare, "movddup") == 0) found->bytes = 32;
            if (widest == 32 && found->does == READS) found->bytes = 32;
            return 1;
        }
        for (size_t i = 0; vector_starts[i] != NULL; i++)
            is_family |= strncmp(bare, vector_starts[i], strlen(vector_starts[i])) == 0;
        *found = (struct kind){"", ADDS_UP, vector_bytes(bare, widest)};
        return is_family && general <= 1;
    }
    char plain[16] = "";
    if (length >= sizeof plain) return 0;
    memcpy(plain, name, length);
    int known = listed_kind(plain, found);
    int letter = 0;
    if (!known && length > 2) { /* addl */
        const char *at = strchr("bwlq", name[length - 1]);
        letter = at != NULL ? 1 << (at - "bwlq") : 0;
        plain[length - 1] = '\0';
        known = letter && listed_kind(plain, found) &&
                (found->does == ADDS_UP || found->does == READS || found->does == DIVIDES) &&
                found->bytes == 0;
    }
    if (known && found->does == MOVES && length == 4) letter = 1 << (strchr("bwlq", name[3]) - "bwlq");
    if (known && found->bytes == 0) found->bytes = letter ? letter : widest;
    return known;
}
