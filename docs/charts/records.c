/* Reads docs/results/<device>.csv. */
#include "records.h"

#include <stdlib.h>
#include <string.h>

#include "writing.h"

enum { COLUMNS = 10 };

int cut_line(char *line, char **fields, int most)
{
    int count = 0;
    for (char *from = line; count < most;) {
        char *to = from;
        int quoted = *from == '"';
        fields[count++] = to;
        from += quoted;
        while (*from != '\0' && (quoted || *from != ',')) {
            if (quoted && *from == '"') {
                if (from[1] == '"')
                    from++;
                else {
                    quoted = 0;
                    from++;
                    continue;
                }
            }
            *to++ = *from++;
        }
        int last = *from == '\0';
        *to = '\0';
        if (last) return count;
        from++;
    }
    return most + 1;
}

struct records read_records(const char *path)
{
    struct records records = {.content = read_whole(path)};
    if (records.content == NULL) fail("%s: cannot be read", path);
    size_t lines = 1;
    for (const char *at = records.content; *at != '\0'; at++) lines += *at == '\n';
    records.at = calloc(lines, sizeof *records.at);
    if (records.at == NULL) fail("out of memory");
    int number = 0;
    for (char *line = records.content; *line != '\0';) {
        char *fields[COLUMNS];
        size_t length = strcspn(line, "\n");
        char *next = line + length + (line[length] == '\n');
        line[length] = '\0';
        number++;
        if (number > 1 && length > 0) {
            if (cut_line(line, fields, COLUMNS) != COLUMNS)
                fail("%s:%d: not %d columns", path, number, COLUMNS);
            records.at[records.count++] =
                (struct record){fields[0], fields[1], fields[2], fields[3], fields[4],
                                fields[5], fields[6], fields[8], fields[9], strtod(fields[7], NULL)};
        }
        line = next;
    }
    return records;
}

void free_records(struct records *records)
{
    free(records->at);
    free(records->content);
    *records = (struct records){0};
}

const struct record *find_record(const struct records *records, const char *lesson, const char *kernel,
                                 const char *case_name, const char *metric)
{
    for (size_t i = 0; i < records->count; i++) {
        const struct record *record = &records->at[i];
        if (strcmp(record->lesson, lesson) == 0 && strcmp(record->kernel, kernel) == 0 &&
            strcmp(record->case_name, case_name) == 0 && strcmp(record->metric, metric) == 0)
            return record;
    }
    return NULL;
}

int same_run(const struct record *a, const struct record *b)
{
    return strcmp(a->command, b->command) == 0 && strcmp(a->date, b->date) == 0;
}
