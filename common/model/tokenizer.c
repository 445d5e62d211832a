/**
 * @file tokenizer.c
 * @brief Reads tokenizer files, and converts text to tokens and back. words.c splits a text into words.
 */
#include "tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

enum { MOST_FILE = 256 << 20, MOST_TOKENS = 1 << 24, BYTES = 256 };

/** What a token stands for. */
struct piece {
    char *bytes; /* NULL: no such token */
    size_t length;
    int special;
};

/** Two tokens that merge into one; an entry of a hash table with open addressing. */
struct merge {
    int left, right; /* left -1: an empty place */
    int rank, merged;
};

/** A token by its bytes; an entry of the same kind of table. */
struct entry {
    int token; /* -1: empty */
};

struct tokenizer {
    enum word_pattern pattern;
    int size, of_byte[BYTES];
    struct piece *pieces; /* [size] */
    struct entry *entries;
    size_t entry_mask;
    struct merge *merges;
    size_t merge_mask;
    int *added; /* tokens that the text itself is searched for, longest first */
    int added_count;
};

static int refuse_tokenizer(char error[MODEL_ERROR], const char *path, const char *what)
{
    snprintf(error, MODEL_ERROR, "%.250s: %.250s", path, what);
    return -1;
}

/* ---- tables ----------------------------------------------------------------------------------------------- */

static uint64_t hash_bytes(const char *bytes, size_t length)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
    return hash;
}

/* A mask for a table at most half full. */
static size_t mask_for(size_t count)
{
    size_t size = 16;
    while (size < 2 * count) size *= 2;
    return size - 1;
}

/* The entry of the token with these bytes, or where it would go. */
static struct entry *entry_of(const struct tokenizer *t, const char *bytes, size_t length)
{
    size_t at = (size_t)hash_bytes(bytes, length) & t->entry_mask;
    for (;; at = (at + 1) & t->entry_mask) {
        struct entry *entry = &t->entries[at];
        if (entry->token < 0) return entry;
        const struct piece *piece = &t->pieces[entry->token];
        if (piece->length == length && memcmp(piece->bytes, bytes, length) == 0) return entry;
    }
}

static struct merge *merge_of(const struct tokenizer *t, int left, int right)
{
    uint64_t hash = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash >> 29) & t->merge_mask;
    while (t->merges[at].left >= 0 && (t->merges[at].left != left || t->merges[at].right != right))
        at = (at + 1) & t->merge_mask;
    return &t->merges[at];
}

/* ---- how bytes are spelled in the file -------------------------------------------------------------------- */

/* The file writes every byte as a printable character: a printable byte as itself, others as characters
 * from U+0100 on. */
static int byte_of_character(uint32_t character)
{
    static int made, of[0x200];
    if (!made) {
        for (int i = 0; i < 0x200; i++) of[i] = -1;
        for (int byte = 0, more = 0x100; byte < BYTES; byte++) {
            int printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
            of[printable ? byte : more++] = byte;
        }
        made = 1;
    }
    return character < 0x200 ? of[character] : -1;
}

/* The bytes that @p spelled means; NULL if it contains other characters. */
static char *bytes_of(const char *spelled, size_t length, size_t *bytes)
{
    char *to = must_allocate(length + 1);
    *bytes = 0;
    for (size_t at = 0; at < length;) {
        uint32_t character;
        at += next_character(spelled + at, length - at, &character);
        int byte = byte_of_character(character);
        if (byte < 0) {
            free(to);
            return NULL;
        }
        to[(*bytes)++] = (char)byte;
    }
    return to;
}

/* ---- reading the file ------------------------------------------------------------------------------------- */

static int is_token_number(const struct json_value *value)
{
    return value != NULL && value->kind == JSON_NUMBER && value->is_integer && value->integer >= 0 &&
           value->integer < MOST_TOKENS;
}

/* The number of pieces is one more than the largest token number. */
static int count_tokens(struct tokenizer *t, const struct json *json, const struct json_value *vocab,
                        const struct json_value *added)
{
    for (const struct json_value *m = json_first(json, vocab); m != NULL; m = json_next(json, m)) {
        if (!is_token_number(m)) return -1;
        if (m->integer >= t->size) t->size = (int)m->integer + 1;
    }
    for (const struct json_value *m = json_first(json, added); m != NULL; m = json_next(json, m)) {
        const struct json_value *id = json_find(json, m, "id");
        if (!is_token_number(id)) return -1;
        if (id->integer >= t->size) t->size = (int)id->integer + 1;
    }
    return 0;
}

static const char *read_vocab(struct tokenizer *t, const struct json *json, const struct json_value *vocab)
{
    t->entry_mask = mask_for(vocab->count);
    t->entries = must_allocate((t->entry_mask + 1) * sizeof *t->entries);
    for (size_t i = 0; i <= t->entry_mask; i++) t->entries[i].token = -1;
    for (const struct json_value *m = json_first(json, vocab); m != NULL; m = json_next(json, m)) {
        struct piece *piece = &t->pieces[m->integer];
        if (piece->bytes != NULL) return "two tokens have the same number";
        piece->bytes = bytes_of(m->key, m->key_length, &piece->length);
        if (piece->bytes ==
            NULL) { /* an added token that is in the vocabulary, too: it is spelled literally */
            piece->bytes = copy_string(m->key);
            piece->length = m->key_length;
            continue;
        }
        struct entry *entry = entry_of(t, piece->bytes, piece->length);
        if (entry->token >= 0) return "two tokens have the same text";
        entry->token = (int)m->integer;
    }
    for (int byte = 0; byte < BYTES; byte++) {
        char one = (char)byte;
        t->of_byte[byte] = entry_of(t, &one, 1)->token;
        if (t->of_byte[byte] < 0) return "a byte has no token: this is no byte-level vocabulary";
    }
    return NULL;
}

/* Reads the two tokens of a merge: ["a", "b"], or "a b" in older files. -1 if one of them is not a token. */
static int read_pair(const struct tokenizer *t, const struct json *json, const struct json_value *value,
                     int pair[2])
{
    const char *spelled[2];
    size_t length[2];
    const struct json_value *first = json_first(json, value);
    if (value->kind == JSON_ARRAY && value->count == 2) {
        const struct json_value *second = json_next(json, first);
        if (first->kind != JSON_STRING || second->kind != JSON_STRING) return -1;
        spelled[0] = first->text, length[0] = first->length;
        spelled[1] = second->text, length[1] = second->length;
    } else {
        const char *space = value->kind == JSON_STRING ? memchr(value->text, ' ', value->length) : NULL;
        if (space == NULL) return -1;
        spelled[0] = value->text, length[0] = (size_t)(space - value->text);
        spelled[1] = space + 1, length[1] = value->length - length[0] - 1;
    }
    for (int i = 0; i < 2; i++) {
        size_t bytes;
        char *text = bytes_of(spelled[i], length[i], &bytes);
        pair[i] = text != NULL ? entry_of(t, text, bytes)->token : -1;
        free(text);
        if (pair[i] < 0) return -1;
    }
    return 0;
}

static const char *read_merges(struct tokenizer *t, const struct json *json, const struct json_value *merges)
{
    int rank = 0;
    t->merge_mask = mask_for(merges->count);
    t->merges = must_allocate((t->merge_mask + 1) * sizeof *t->merges);
    for (size_t i = 0; i <= t->merge_mask; i++) t->merges[i].left = -1;
    for (const struct json_value *m = json_first(json, merges); m != NULL; m = json_next(json, m), rank++) {
        struct text both = {0};
        int pair[2];
        if (read_pair(t, json, m, pair) != 0) return "a merge is not of two tokens";
        for (int i = 0; i < 2; i++) text_append(&both, t->pieces[pair[i]].bytes, t->pieces[pair[i]].length);
        int merged = entry_of(t, both.data, both.length)->token;
        text_free(&both);
        if (merged < 0) return "a merge gives no token";
        struct merge *merge = merge_of(t, pair[0], pair[1]);
        if (merge->left < 0) *merge = (struct merge){pair[0], pair[1], rank, merged};
    }
    return NULL;
}

/* Sorts by length, longest first, so that no token hides a longer one that begins with it. */
static void sort_added(struct tokenizer *t)
{
    for (int i = 1; i < t->added_count; i++)
        for (int k = i; k > 0 && t->pieces[t->added[k]].length > t->pieces[t->added[k - 1]].length; k--) {
            int other = t->added[k];
            t->added[k] = t->added[k - 1];
            t->added[k - 1] = other;
        }
}

static const char *read_added(struct tokenizer *t, const struct json *json, const struct json_value *added)
{
    if (added == NULL) return NULL;
    t->added = must_allocate((added->count + 1) * sizeof *t->added);
    for (const struct json_value *m = json_first(json, added); m != NULL; m = json_next(json, m)) {
        const struct json_value *content = json_find(json, m, "content"),
                                *special = json_find(json, m, "special");
        if (content == NULL || content->kind != JSON_STRING || content->length == 0)
            return "an added token has no text";
        static const char *const unknown[] = {"single_word", "lstrip", "rstrip"};
        for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
            const struct json_value *flag = json_find(json, m, unknown[i]);
            if (flag != NULL && flag->kind == JSON_TRUE)
                return "an added token asks for single_word, lstrip or rstrip, which are not supported";
        }
        int token = (int)json_find(json, m, "id")->integer;
        struct piece *piece = &t->pieces[token];
        free(piece->bytes);
        piece->bytes = copy_string(content->text);
        piece->length = content->length;
        piece->special = special != NULL && special->kind == JSON_TRUE;
        t->added[t->added_count++] = token;
    }
    sort_added(t);
    return NULL;
}

/* Refuses settings in the model's part of the file that would give other tokens than this implementation. */
static const char *check_model(const struct json *json, const struct json_value *model)
{
    static const char *const off[] = {"byte_fallback", "ignore_merges", "fuse_unk"};
    static const char *const empty[] = {"continuing_subword_prefix", "end_of_word_suffix", "dropout"};
    if (!json_is(json_find(json, model, "type"), "BPE")) return "its model is not of type BPE";
    for (size_t i = 0; i < 3; i++) {
        const struct json_value *value = json_find(json, model, off[i]);
        if (value != NULL && value->kind == JSON_TRUE)
            return "it asks for byte_fallback, ignore_merges or fuse_unk, which are not supported";
        value = json_find(json, model, empty[i]);
        if (value != NULL && value->kind != JSON_NULL && !json_is(value, ""))
            return "it asks for a prefix, a suffix or dropout, which are not supported";
    }
    return NULL;
}

/* The pattern that a pre-tokenizer, or one of a sequence of them, asks for. */
static const char *take_pattern(struct tokenizer *t, const struct json *json, const struct json_value *value)
{
    const struct json_value *type = json_find(json, value, "type"), *flag;
    if (json_is(type, "ByteLevel")) {
        flag = json_find(json, value, "add_prefix_space");
        if (flag == NULL || flag->kind == JSON_TRUE)
            return "it asks for add_prefix_space, which is not supported";
        flag = json_find(json, value, "use_regex");
        if (flag == NULL || flag->kind == JSON_TRUE) t->pattern = WORDS_GPT2;
        return NULL;
    }
    const struct json_value *pattern = json_find(json, json_find(json, value, "pattern"), "Regex");
    if (!json_is(type, "Split") || !json_is(json_find(json, value, "behavior"), "Isolated") ||
        pattern == NULL || pattern->kind != JSON_STRING)
        return "its pre-tokenizer is neither ByteLevel nor an isolating Split";
    t->pattern = word_pattern_named(pattern->text);
    return t->pattern == WORDS_UNKNOWN
               ? "it cuts words by a pattern that is none of GPT-2's, Qwen's and Llama 3's"
               : NULL;
}

static const char *read_pattern(struct tokenizer *t, const struct json *json, const struct json_value *root)
{
    const struct json_value *pre = json_find(json, root, "pre_tokenizer"),
                            *normalizer = json_find(json, root, "normalizer");
    if (normalizer != NULL && normalizer->kind != JSON_NULL &&
        !json_is(json_find(json, normalizer, "type"), "NFC"))
        return "its normalizer is not NFC";
    if (!json_is(json_find(json, pre, "type"), "Sequence")) {
        const char *what = take_pattern(t, json, pre);
        return what != NULL ? what : t->pattern == WORDS_UNKNOWN ? "nothing says how it cuts words" : NULL;
    }
    const struct json_value *list = json_find(json, pre, "pretokenizers");
    for (const struct json_value *m = json_first(json, list); m != NULL; m = json_next(json, m)) {
        enum word_pattern before = t->pattern;
        const char *what = take_pattern(t, json, m);
        if (what != NULL) return what;
        if (before != WORDS_UNKNOWN && t->pattern != before)
            return "it cuts words twice, which is not supported";
    }
    return t->pattern == WORDS_UNKNOWN ? "nothing says how it cuts words" : NULL;
}

static const char *take_file(struct tokenizer *t, const struct json *json)
{
    const struct json_value *root = json_root(json), *model = json_find(json, root, "model");
    const struct json_value *vocab = json_find(json, model, "vocab"),
                            *merges = json_find(json, model, "merges");
    const struct json_value *added = json_find(json, root, "added_tokens");
    if (vocab == NULL || vocab->kind != JSON_OBJECT || merges == NULL || merges->kind != JSON_ARRAY)
        return "it has no vocabulary or no merges";
    if (added != NULL && added->kind != JSON_ARRAY) return "its added tokens are no list";
    const char *what = check_model(json, model);
    if (what == NULL) what = read_pattern(t, json, root);
    if (what == NULL && count_tokens(t, json, vocab, added) != 0) what = "the number of a token is none";
    if (what != NULL) return what;
    t->pieces = calloc((size_t)t->size + 1, sizeof *t->pieces);
    if (t->pieces == NULL) return "there is not enough memory for its tokens";
    what = read_vocab(t, json, vocab);
    if (what == NULL) what = read_merges(t, json, merges);
    return what != NULL ? what : read_added(t, json, added);
}

struct tokenizer *tokenizer_open(const char *path, char error[MODEL_ERROR])
{
    struct json json;
    struct tokenizer *t = calloc(1, sizeof *t);
    int failed = json_read(&json, path, MOST_FILE, error);
    if (t == NULL) abort();
    if (!failed) {
        const char *what = take_file(t, &json);
        if (what != NULL) failed = refuse_tokenizer(error, path, what);
    }
    json_free(&json);
    if (!failed) return t;
    tokenizer_close(t);
    return NULL;
}

void tokenizer_close(struct tokenizer *t)
{
    if (t == NULL) return;
    for (int i = 0; t->pieces != NULL && i < t->size; i++) free(t->pieces[i].bytes);
    free(t->pieces);
    free(t->entries);
    free(t->merges);
    free(t->added);
    free(t);
}

int tokenizer_size(const struct tokenizer *t)
{
    return t->size;
}

/* ---- merging the bytes of a word -------------------------------------------------------------------------- */

/** A pair that may be merged; an entry of the heap, ordered by rank, then from left to right. */
struct candidate {
    int rank, at; /* the left one of the pair */
    /* the symbols when the pair was added: if they have changed since, the pair is out of date */
    int left, right, merged;
};

/** A word during merging: a linked list of symbols, and the heap. */
struct word {
    const struct tokenizer *t;
    int *symbol, *before, *after; /* [length]; symbol -1: merged into the one before it */
    struct candidate *heap;
    size_t heap_count;
};

static int comes_first(const struct candidate *a, const struct candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void swap(struct candidate *a, struct candidate *b)
{
    struct candidate other = *a;
    *a = *b;
    *b = other;
}

/* Adds the pair that begins at symbol @p at, if there is a merge for it. */
static void push_pair(struct word *w, int at)
{
    int next = at < 0 ? -1 : w->after[at];
    if (next < 0) return;
    const struct merge *merge = merge_of(w->t, w->symbol[at], w->symbol[next]);
    if (merge->left < 0) return;
    size_t i = w->heap_count++;
    w->heap[i] = (struct candidate){merge->rank, at, merge->left, merge->right, merge->merged};
    for (; i > 0 && comes_first(&w->heap[i], &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&w->heap[i], &w->heap[(i - 1) / 2]);
}

static struct candidate pop_pair(struct word *w)
{
    struct candidate best = w->heap[0];
    w->heap[0] = w->heap[--w->heap_count];
    for (size_t i = 0;;) {
        size_t child = 2 * i + 1;
        if (child >= w->heap_count) return best;
        if (child + 1 < w->heap_count && comes_first(&w->heap[child + 1], &w->heap[child])) child++;
        if (!comes_first(&w->heap[child], &w->heap[i])) return best;
        swap(&w->heap[i], &w->heap[child]);
        i = child;
    }
}

static void merge_pairs(struct word *w)
{
    while (w->heap_count > 0) {
        struct candidate pair = pop_pair(w);
        int right = w->symbol[pair.at] == pair.left ? w->after[pair.at] : -1;
        /* one of the symbols has been merged meanwhile */
        if (right < 0 || w->symbol[right] != pair.right) continue;
        w->symbol[pair.at] = pair.merged;
        w->symbol[right] = -1;
        w->after[pair.at] = w->after[right];
        if (w->after[right] >= 0) w->before[w->after[right]] = pair.at;
        push_pair(w, w->before[pair.at]);
        push_pair(w, pair.at);
    }
}

/** Tokens so far. */
struct tokens {
    int *data;
    size_t count, capacity;
};

static void add_token(struct tokens *tokens, int token)
{
    if (tokens->count == tokens->capacity) {
        tokens->capacity = tokens->capacity ? 2 * tokens->capacity : 64;
        tokens->data = realloc(tokens->data, tokens->capacity * sizeof *tokens->data);
        if (tokens->data == NULL) abort();
    }
    tokens->data[tokens->count++] = token;
}

static void encode_word(const struct tokenizer *t, const char *bytes, size_t length, struct tokens *tokens)
{
    int *lists = must_allocate(3 * length * sizeof *lists);
    struct word w = {t, lists, lists + length, lists + 2 * length, NULL, 0};
    /* one pair per symbol, and two more after each merge */
    w.heap = must_allocate(3 * length * sizeof *w.heap);
    for (int i = 0; i < (int)length; i++) {
        w.symbol[i] = t->of_byte[(unsigned char)bytes[i]];
        w.before[i] = i - 1;
        w.after[i] = i + 1 < (int)length ? i + 1 : -1;
    }
    for (int i = 0; i < (int)length; i++) push_pair(&w, i);
    merge_pairs(&w);
    for (size_t i = 0; i < length; i++)
        if (w.symbol[i] >= 0) add_token(tokens, w.symbol[i]);
    free(w.heap);
    free(lists);
}

/* ---- text and tokens -------------------------------------------------------------------------------------- */

/* The added token that the text begins with, or -1. */
static int added_at(const struct tokenizer *t, const char *text, size_t length)
{
    for (int i = 0; i < t->added_count; i++) {
        const struct piece *piece = &t->pieces[t->added[i]];
        if (piece->length <= length && memcmp(piece->bytes, text, piece->length) == 0) return t->added[i];
    }
    return -1;
}

static void encode_plain(const struct tokenizer *t, const char *text, size_t length, struct tokens *tokens)
{
    enum { LONGEST_WORD = 1 << 28 }; /* indices of symbols are of type int */
    for (size_t at = 0; at < length;) {
        size_t word = word_length(t->pattern, text + at, length - at);
        if (word > LONGEST_WORD) word = LONGEST_WORD;
        encode_word(t, text + at, word, tokens);
        at += word;
    }
}

size_t tokenizer_encode(const struct tokenizer *t, const char *text, size_t length, int **result)
{
    struct tokens tokens = {0};
    size_t begin = 0;
    for (size_t at = 0; at < length;) {
        int token = added_at(t, text + at, length - at);
        if (token < 0) {
            at++;
            continue;
        }
        encode_plain(t, text + begin, at - begin, &tokens);
        add_token(&tokens, token);
        begin = at += t->pieces[token].length;
    }
    encode_plain(t, text + begin, length - begin, &tokens);
    *result = tokens.data;
    return tokens.count;
}

void tokenizer_decode(const struct tokenizer *t, int token, struct text *text)
{
    if (token < 0 || token >= t->size || t->pieces[token].bytes == NULL) return;
    text_append(text, t->pieces[token].bytes, t->pieces[token].length);
}
