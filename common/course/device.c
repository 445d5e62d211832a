/**
 * @file device.c
 * @brief Which devices are here. What the GPU is and can do is asked of the program `device_limits`, so that this
 *        one needs no CUDA and cannot be brought down by a broken driver.
 */
#include "device.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/terminal.h"
#include "base/text.h"
#include "places.h"

enum { PROBE_SECONDS = 60, MEASURE_SECONDS = 180 };

static int was_built_for(enum device device)
{
    const char *list = places.devices;
    int found = 0;
    for (char *word; (word = next_word(&list, ';')) != NULL; free(word)) {
        found = found || strcmp(word, device_name(device)) == 0;
    }
    return found;
}

/* "f32/len_4096,cuBLAS unfused attention,70.1". */
static void read_peer(const char *line, struct device_facts *facts)
{
    const size_t test_case = strcspn(line, ",");
    const char *library = line + test_case + (line[test_case] != '\0');
    const size_t length = strcspn(library, ",");
    if (library[length] == '\0' || facts->peer_count == MAX_LIMITS) return;
    facts->peer[facts->peer_count++] =
        (struct device_peer){format_string("%.*s", (int)test_case, line),
                             format_string("%.*s", (int)length, library), atof(library + length + 1)};
}

/* Each line is "name,value"; a value may itself hold commas, as a peer's does. */
static void read_facts(const char *lines, struct device_facts *facts)
{
    for (char *line; facts->count < MAX_LIMITS && (line = next_word(&lines, '\n')) != NULL; free(line)) {
        char *comma = strchr(line, ',');
        if (comma == NULL) continue;
        *comma = '\0';
        if (strcmp(line, "peer") == 0) {
            read_peer(comma + 1, facts);
            continue;
        }
        facts->name[facts->count] = copy_string(line);
        facts->value[facts->count++] = copy_string(comma + 1);
        if (strcmp(line, "reason") == 0) facts->reason = copy_string(comma + 1);
        if (strcmp(line, "device") == 0) facts->model = copy_string(comma + 1);
        if (strcmp(line, "arch") == 0) facts->arch = atoi(comma + 1);
    }
}

static int run_device_limits(const char *const *options, int seconds, struct device_facts *facts)
{
    struct process_end end;
    struct argument_list arguments = {0};
    char *program = format_string("%s/bin/device_limits", places.binary_dir);
    argument_add(&arguments, program);
    for (; options != NULL && *options != NULL; options++) argument_add(&arguments, *options);
    process_run(&(struct process){.arguments = arguments.items, .seconds = seconds}, &end);
    read_facts(end.output.data, facts);
    if (facts->reason == NULL && end.start_error) {
        /* Linux, WSL2 */
        const int here = access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
        facts->reason = here ? format_string("%s is missing: run cmake --build %s --target gpu", program,
                                             places.binary_dir)
                             : copy_string("no NVIDIA GPU is here");
    } else if (facts->reason == NULL && end.timed_out) {
        facts->reason = format_string("the GPU did not answer within %d s", seconds);
    } else if (facts->reason == NULL && end.exit_code != EXIT_PASS) {
        facts->reason = format_string("%s ended with code %d", program, end.exit_code);
    }
    text_free(&end.output);
    free(arguments.items);
    free(program);
    return end.exit_code == EXIT_PASS && facts->reason == NULL;
}

const struct device_facts *device_probe(enum device device)
{
    static struct device_facts answer[DEVICE_COUNT];
    static int asked[DEVICE_COUNT];
    struct device_facts *facts = &answer[device];
    if (asked[device]) return facts;
    asked[device] = 1;
    if (!was_built_for(device)) {
        int asked_for_others = *places.devices_asked && strcmp(places.devices_asked, "auto") != 0;
        facts->reason =
            asked_for_others
                ? format_string("this build has no %s: it was configured with WARPWISE_DEVICES=%s",
                                device_name(device), places.devices_asked)
                : copy_string("this build has no gpu: no CUDA Toolkit was found when it was configured");
    } else if (device == DEVICE_SIMT) {
        facts->usable = 1;
    } else {
        facts->usable = run_device_limits((const char *const[]){"--probe", NULL}, PROBE_SECONDS, facts);
    }
    return facts;
}

static struct argument_list compared; /* of which cases peers are measured; none: of all */

void device_measure_peers_of(const char *test_case)
{
    argument_add(&compared, test_case);
}

const struct device_facts *device_measure(void)
{
    static struct device_facts facts;
    static int asked;
    if (asked) return &facts;
    asked = 1;
    show_progress("measuring the limits of the GPU …");
    if (!run_device_limits(compared.items, MEASURE_SECONDS, &facts)) {
        complain(
            "the limits of this GPU could not be measured (%s); times are shown without a share of them.",
            facts.reason != NULL ? facts.reason : "no reason given");
        facts.count = 0;
    }
    show_progress(NULL);
    return &facts;
}

double device_fact(const struct device_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->count; i++) {
        if (strcmp(facts->name[i], name) == 0) return atof(facts->value[i]);
    }
    return 0;
}

int device_choose(const char *word, struct device_choice *choice)
{
    *choice = (struct device_choice){.explicitly = word != NULL && strcmp(word, "both") != 0};
    int both = !choice->explicitly;
    choice->wanted[DEVICE_SIMT] = both || strcmp(word, "simt") == 0;
    choice->wanted[DEVICE_GPU] = both || strcmp(word, "gpu") == 0;
    if (choice->wanted[DEVICE_SIMT] || choice->wanted[DEVICE_GPU]) return EXIT_PASS;
    return complain("there is no device \"%s\"; --device takes gpu, simt or both.", word);
}
