/**
 * @file ptx.h
 * @brief Inline PTX: what an `asm` statement becomes, and what the device (ptx/) is told of it.
 *
 * simtcc writes
 *
 *     asm volatile("add.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "n"(8) : "memory");
 *
 * as
 *
 *     simtcc_ptx_at(SIMT_PTX_SITE(1, "add.s32 %0, %1, %2;"), simt_out("=r", (d)), simt_in("r", (a)),
 *                 simt_constant("n", (8)), simt_clobbers("memory"));
 *
 * Operands travel by value in one struct and come back in it, so that the student's variables stay in registers. Two kinds of
 * statement differ, and the site's type tells: what a wgmma.mma_async leaves in flight is written to the variables later, so
 * that the device is told where they are; and an empty text, a fence for the compiler only, does not touch its operands, unless
 * they may lie in memory that is no variable of the thread's own, which no register stands for.
 */
#pragma once

#include "../../machine.h"

#ifdef __cplusplus
#pragma GCC system_header
#include "language.h"
#include "warp.h"
#include <type_traits>
extern "C" {
#endif

enum simt_ptx_use {
    SIMT_PTX_IN,
    SIMT_PTX_OUT,
    SIMT_PTX_IN_OUT,
    SIMT_PTX_CONSTANT,
    SIMT_PTX_TEXT,
    SIMT_PTX_CLOBBER
};

/** @brief What is known of an operand when the program is compiled. */
struct simt_ptx_operand {
    unsigned char use;   /**< enum simt_ptx_use */
    char letter;         /**< of the constraint: h r l q f d n C; m for the clobber "memory" */
    unsigned char slots; /**< words that it takes: 1; q 2; a clobber 0 */
};

/** @brief An asm statement of the source. */
struct simt_ptx_site {
    struct simt_site site;
    const char *text;
    int is_volatile;
    int architecture; /**< __CUDA_ARCH__ of the code around: 900 for sm_90, 901 for sm_90a */
};

/** @brief Runs the statement for the calling thread. @p word has its operands, one after the other, and receives the outputs. */
void simt_ptx_run(const struct simt_ptx_site *site, const struct simt_ptx_operand *operand, unsigned operands,
                  uint64_t *word, const void *return_address);

/**
 * @brief The same for a statement whose outputs may be written after it is over. @p place has, a word each, where the operand's
 *        variable is (NULL for what is no variable); the variables are read and written there, not in @p word.
 */
void simt_ptx_run_late(const struct simt_ptx_site *site, const struct simt_ptx_operand *operand, unsigned operands,
                       const uint64_t *word, void *const *place, const void *return_address);

/** @brief The accesses of an empty statement to an operand in memory: @p access is SIMT_READ, SIMT_WRITE or both. */
void simt_ptx_touch(const void *address, size_t bytes, int access, const void *return_address);

#ifdef __cplusplus
}

/** @brief What a statement's text says of how its operands travel. */
enum simt_ptx_manner { SIMT_PTX_PLAIN, SIMT_PTX_LATE, SIMT_PTX_BLANK };

constexpr bool simt_ptx_begins(const char *text, const char *with)
{
    while (*with != '\0')
        if (*text++ != *with++) return false;
    return true;
}
constexpr simt_ptx_manner simt_ptx_manner_of(const char *text)
{
    bool blank = true;
    for (; *text != '\0'; text++) {
        if (simt_ptx_begins(text, "wgmma.mma_async")) return SIMT_PTX_LATE;
        blank = blank && (*text == ' ' || *text == '\n' || *text == '\t');
    }
    return blank ? SIMT_PTX_BLANK : SIMT_PTX_PLAIN;
}
template <simt_ptx_manner MANNER> struct simt_ptx_site_of {
    struct simt_ptx_site site;
};

/* ---- operands ------------------------------------------------------------------------------------------- */

/** @brief The letter of a constraint without `=` and `+`. */
constexpr char simt_ptx_letter(const char *constraint)
{
    return *constraint == '=' || *constraint == '+' || *constraint == '&' ? simt_ptx_letter(constraint + 1)
                                                                          : *constraint;
}

/** @brief As nvcc: an operand's type must be of the constraint's class and size. */
template <char LETTER, typename T> constexpr bool simt_ptx_fits()
{
    constexpr bool integer =
        ::std::is_integral<T>::value || ::std::is_enum<T>::value || ::std::is_pointer<T>::value;
    return LETTER == 'h'   ? integer && sizeof(T) == 2
           : LETTER == 'r' ? integer && sizeof(T) == 4
           : LETTER == 'l' ? integer && sizeof(T) == 8
           : LETTER == 'q' ? sizeof(T) == 16 && !::std::is_class<T>::value && !::std::is_floating_point<T>::value
           : LETTER == 'f' ? ::std::is_same<T, float>::value
           : LETTER == 'd' ? ::std::is_same<T, double>::value
                           : LETTER == 'n' || LETTER == 'C';
}

template <char LETTER, typename T> struct simt_ptx_class {
    static_assert(LETTER == 'h' || LETTER == 'r' || LETTER == 'l' || LETTER == 'q' || LETTER == 'f' ||
                      LETTER == 'd' || LETTER == 'n' || LETTER == 'C',
                  "asm: PTX has the constraints h r l q f d n C");
    static_assert(
        simt_ptx_fits<LETTER, T>(),
        "asm: the operand's type does not match its constraint: h takes 16-bit integers, r 32-bit ones, l "
        "64-bit ones and pointers, q 128-bit ones, f float, d double");
    enum { slots = LETTER == 'q' ? 2 : 1 };
};

SIMT_OUTLINE void simt_ptx_touch_at(const void *address, size_t bytes, int access)
{
    simt_ptx_touch(address, bytes, access, SIMT_CALLER);
}
/** @brief Of a variable that the compiler sees and may keep in a register the size is known, and its address goes nowhere. */
template <typename T> SIMT_INLINE void simt_ptx_blank(const volatile T *at, int access)
{
    const size_t seen = __builtin_object_size((const void *)at, 0);
    if (seen == 0 || seen == (size_t)-1) simt_ptx_touch_at((const void *)at, sizeof(T), access);
}

/** @brief An input is read when the statement takes it. VARIABLE: it is one, and no temporary. */
template <char LETTER, bool VARIABLE, typename T> struct simt_ptx_input {
    using value_type = ::std::decay_t<T>;
    enum { slots = simt_ptx_class<LETTER, value_type>::slots };
    ::std::conditional_t<VARIABLE, const T *, T> from;
    static constexpr struct simt_ptx_operand what = {LETTER == 'n'   ? SIMT_PTX_CONSTANT
                                                     : LETTER == 'C' ? SIMT_PTX_TEXT
                                                                     : SIMT_PTX_IN,
                                                     LETTER, slots};
    SIMT_INLINE void take(const simt_ptx_input &, const uint64_t *) {}
    SIMT_INLINE void give(const simt_ptx_input &self, uint64_t *word)
    {
        value_type value;
        if constexpr (VARIABLE)
            value = (value_type)*self.from;
        else
            value = self.from;
        if constexpr (LETTER == 'n')
            word[0] = (uint64_t)(long long)value;
        else if constexpr (slots == 2)
            __builtin_memcpy(word, &value, 16);
        else
            word[0] = simt_to_word(value);
    }
    SIMT_INLINE void give_blank(const simt_ptx_input &self)
    {
        if constexpr (VARIABLE && !::std::is_array<T>::value)
            simt_ptx_blank(self.from, SIMT_READ);
        else if constexpr (LETTER != 'n' && LETTER != 'C') {
            uint64_t word[slots];
            give(self, word);
            __asm__ volatile("" : : "r"(word[0])); /* or nobody would need the value */
        }
    }
    /* Only 32-bit registers hold fragments of a matrix. */
    SIMT_INLINE void give_late(const simt_ptx_input &self, uint64_t *word, void **place)
    {
        place[0] = nullptr;
        if constexpr (VARIABLE && LETTER == 'r' && !::std::is_array<T>::value)
            place[0] = (void *)self.from;
        else
            give(self, word);
    }
};

template <char LETTER, bool READ, typename T> struct simt_ptx_output {
    enum { slots = simt_ptx_class<LETTER, ::std::remove_cv_t<T>>::slots };
    static_assert(LETTER != 'n' && LETTER != 'C', "asm: a constant cannot be an output");
    T *to;
    static constexpr struct simt_ptx_operand what = {READ ? SIMT_PTX_IN_OUT : SIMT_PTX_OUT, LETTER, slots};
    SIMT_INLINE void give(const simt_ptx_output &self, uint64_t *word)
    {
        if constexpr (READ && slots == 2)
            __builtin_memcpy(word, self.to, 16);
        else if constexpr (READ)
            word[0] = simt_to_word< ::std::remove_cv_t<T>>(*self.to);
    }
    SIMT_INLINE void take(const simt_ptx_output &self, const uint64_t *word)
    {
        if constexpr (slots == 2)
            __builtin_memcpy(self.to, word, 16);
        else
            *self.to = simt_from_word< ::std::remove_cv_t<T>>(word[0]);
    }
    SIMT_INLINE void give_blank(const simt_ptx_output &self)
    {
        simt_ptx_blank(self.to, READ ? SIMT_READ | SIMT_WRITE : SIMT_WRITE);
    }
    SIMT_INLINE void give_late(const simt_ptx_output &self, uint64_t *, void **place)
    {
        place[0] = (void *)self.to;
    }
};

template <bool MEMORY> struct simt_ptx_clobber {
    enum { slots = 0 };
    static constexpr struct simt_ptx_operand what = {SIMT_PTX_CLOBBER, MEMORY ? 'm' : 0, 0};
    SIMT_INLINE void give(const simt_ptx_clobber &, uint64_t *) {}
    SIMT_INLINE void take(const simt_ptx_clobber &, const uint64_t *) {}
    SIMT_INLINE void give_blank(const simt_ptx_clobber &) {}
    SIMT_INLINE void give_late(const simt_ptx_clobber &, uint64_t *, void **) {}
};

/** @brief 1 if all clobbers are "memory"; any other is an error, as with nvcc. */
template <typename... Name> constexpr bool simt_ptx_memory(const Name *...name)
{
    return ((__builtin_strcmp(name, "memory") == 0) && ...);
}

template <char LETTER, bool READ, typename T> SIMT_INLINE simt_ptx_output<LETTER, READ, T> simt_ptx_out(T &to)
{
    return {&to};
}
/** @brief A variable stays where it is; of anything else the value travels: g++ binds no reference to `&a[i]` of a restrict
 *         pointer in a template. */
template <char LETTER, bool VARIABLE> struct simt_ptx_in {
    template <typename T> SIMT_INLINE simt_ptx_input<LETTER, true, T> of(const T &variable) { return {&variable}; }
};
template <char LETTER> struct simt_ptx_in<LETTER, false> {
    template <typename T> SIMT_INLINE simt_ptx_input<LETTER, false, T> of(T value) { return {value}; }
};

#define simt_out(constraint, operand)                                                                        \
    simt_ptx_out<simt_ptx_letter(constraint), (constraint)[0] == '+'>(operand)
#define simt_in(constraint, operand)                                                                         \
    simt_ptx_in<simt_ptx_letter(constraint), ::std::is_lvalue_reference<decltype((operand))>::value>::of(operand)
/** @brief For the constraint n, whose operand must be a constant expression. */
#define simt_constant(constraint, operand)                                                                   \
    simt_ptx_in<simt_ptx_letter(constraint), false>::of(__extension__({                                      \
        static constexpr auto simt_value = (operand);                                                        \
        simt_value;                                                                                          \
    }))
#define simt_clobbers(...)                                                                                   \
    (__extension__({                                                                                         \
        static_assert(simt_ptx_memory(__VA_ARGS__), "asm: device code can only clobber \"memory\"");         \
        simt_ptx_clobber<true>();                                                                            \
    }))

/* ---- the call ------------------------------------------------------------------------------------------- */

template <unsigned WORDS> struct simt_ptx_words {
    uint64_t word[WORDS];
};

/** @brief Only what simt_out(), simt_in() and simt_clobbers() make is an operand: its table says how many words travel. */
template <typename T> constexpr bool simt_ptx_is_operand = false;
template <char LETTER, bool VARIABLE, typename T>
constexpr bool simt_ptx_is_operand<simt_ptx_input<LETTER, VARIABLE, T>> = true;
template <char LETTER, bool READ, typename T>
constexpr bool simt_ptx_is_operand<simt_ptx_output<LETTER, READ, T>> = true;
template <bool MEMORY> constexpr bool simt_ptx_is_operand<simt_ptx_clobber<MEMORY>> = true;

template <typename... Operand> static constexpr struct simt_ptx_operand simt_ptx_table[] = {Operand::what...};

template <unsigned WORDS, typename... Operand>
SIMT_OUTLINE simt_ptx_words<WORDS> simt_ptx_step(struct simt_ptx_site *site, simt_ptx_words<WORDS> words)
{
    simt_ptx_run(site, simt_ptx_table<Operand...>, sizeof...(Operand), words.word, SIMT_CALLER);
    return words;
}

template <typename... Operand> SIMT_INLINE void simt_ptx_plain(struct simt_ptx_site *site, Operand... operand)
{
    constexpr unsigned count = (0u + ... + (unsigned)Operand::slots);
    simt_ptx_words<count> words = {};
    unsigned at = 0;
    ((Operand::give(operand, words.word + at), at += Operand::slots), ...);
    words = simt_ptx_step<count, Operand...>(site, words);
    at = 0;
    ((Operand::take(operand, words.word + at), at += Operand::slots), ...);
}

SIMT_OUTLINE void simt_ptx_plain(struct simt_ptx_site *site)
{
    simt_ptx_run(site, nullptr, 0, nullptr, SIMT_CALLER);
}
SIMT_OUTLINE void simt_ptx_plain(struct simt_ptx_site *site, simt_ptx_clobber<true>)
{
    simt_ptx_run(site, &simt_ptx_clobber<true>::what, 1, nullptr, SIMT_CALLER);
}

template <unsigned WORDS, typename... Operand>
SIMT_OUTLINE void simt_ptx_late_step(struct simt_ptx_site *site, const uint64_t *word, void *const *place)
{
    simt_ptx_run_late(site, simt_ptx_table<Operand...>, sizeof...(Operand), word, place, SIMT_CALLER);
}

template <typename... Operand>
SIMT_INLINE void simtcc_ptx_at(struct simt_ptx_site_of<SIMT_PTX_LATE> *site, Operand... operand)
{
    static_assert((simt_ptx_is_operand<Operand> && ...), "asm: an operand of another type");
    constexpr unsigned count = (1u + ... + (unsigned)Operand::slots);
    uint64_t word[count];
    void *place[count];
    unsigned at = 0;
    ((Operand::give_late(operand, word + at, place + at), at += Operand::slots), ...);
    simt_ptx_late_step<count, Operand...>(&site->site, word, place);
}

template <typename... Operand>
SIMT_INLINE void simtcc_ptx_at(struct simt_ptx_site_of<SIMT_PTX_PLAIN> *site, Operand... operand)
{
    static_assert((simt_ptx_is_operand<Operand> && ...), "asm: an operand of another type");
    simt_ptx_plain(&site->site, operand...);
}

template <typename... Operand>
SIMT_INLINE void simtcc_ptx_at(struct simt_ptx_site_of<SIMT_PTX_BLANK> *, Operand... operand)
{
    static_assert((simt_ptx_is_operand<Operand> && ...), "asm: an operand of another type");
    (Operand::give_blank(operand), ...);
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define SIMT_PTX_ARCHITECTURE (__CUDA_ARCH__ + 1)
#else
#define SIMT_PTX_ARCHITECTURE __CUDA_ARCH__
#endif

#define SIMT_PTX_SITE(is_volatile, ...)                                                                      \
    (__extension__({                                                                                         \
        static struct simt_ptx_site_of<simt_ptx_manner_of(__VA_ARGS__)> simt_here = {                        \
            {{__FILE__, __LINE__, "asm", nullptr}, __VA_ARGS__, is_volatile, SIMT_PTX_ARCHITECTURE}};      \
        &simt_here;                                                                                          \
    }))

#endif
