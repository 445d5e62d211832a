/**
 * @file grade_seed.c
 * @brief The secret seed: given, or drawn once, and kept beside the results so that one student can be graded
 *        again with the very same inputs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/terminal.h"
#include "base/text.h"
#include "grade_class.h"

enum { SEED_BYTES = 32 };

static int write_secret(const char *path, const struct text *seed)
{
    mode_t before = umask(0077); /* readable by the instructor only */
    int error = write_file(path, seed->data, seed->length);
    umask(before);
    return error ? complain("%s cannot be written: %s.", path, strerror(error)) : EXIT_PASS;
}

static int draw(struct text *seed)
{
    unsigned char bytes[SEED_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
        return complain("no random numbers are to be had: %s.", strerror(errno));
    }
    for (size_t i = 0; i < sizeof bytes; i++) text_print(seed, "%02x", bytes[i]);
    text_print(seed, "\n");
    return EXIT_PASS;
}

int grade_seed_settle(struct grade_class *class)
{
    struct text seed = {0}, kept = {0};
    struct sha256 hash;
    char digits[65];
    class->plan.seed_file = format_string("%s/secret_seed", class->plan.out);
    int known = read_file(class->plan.seed_file, &kept) == 0 && kept.length > 0;
    if (class->seed_given != NULL) {
        int error = read_file(class->seed_given, &seed);
        if (error) return complain("%s cannot be read: %s.", class->seed_given, strerror(error));
        if (seed.length == 0) return complain("%s is empty: that is no secret.", class->seed_given);
    } else if (known) {
        text_append(&seed, kept.data, kept.length);
    } else if (draw(&seed) != EXIT_PASS) {
        return EXIT_TROUBLE;
    }
    int same = known && kept.length == seed.length && memcmp(kept.data, seed.data, seed.length) == 0;
    if (!same && write_secret(class->plan.seed_file, &seed) != EXIT_PASS) return EXIT_TROUBLE;
    sha256_begin(&hash);
    sha256_add(&hash, seed.data, seed.length);
    sha256_end(&hash, digits);
    class->book.seed = copy_string(digits);
    text_free(&seed);
    text_free(&kept);
    return EXIT_PASS;
}
