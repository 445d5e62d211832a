/**
 * @file points.c
 * @brief What the verdicts add up to: points of a case, and the state of a part.
 */
#include <math.h>

#include "check.h"

int check_left_out(const struct check *check, int index)
{
    return !(check->cases[index].devices & (1u << check->options.device)) || check->verdicts[index].not_told;
}

/* The sum of the weights of a part's cases on this device, either of those that must be refused or of all
 * others. */
static double weights_of(const struct check *check, int part, int refusals)
{
    double sum = 0.0;
    for (int i = 0; i < check->case_count; i++) {
        const struct lesson_case *item = &check->cases[i];
        if (item->part == part && !check_left_out(check, i) && (item->expected != KERNEL_OK) == refusals)
            sum += item->weight;
    }
    return sum;
}

/* Points do not depend on which cases were chosen: the weights of all cases of a part on this device
 * count. There are many ways to call a kernel wrongly and few to call it right: however many refusals are
 * tested, most points of a part are for what it computes. */
double check_points_max(const struct check *check, int index)
{
    const double share_of_refusals = 0.1; /* share of a part's points, at most, if it has other cases */
    const struct lesson_case *item = &check->cases[index];
    if (check->witness[index] || check_left_out(check, index)) return 0.0;
    double refusals = weights_of(check, item->part, 1), others = weights_of(check, item->part, 0);
    if (refusals + others == 0.0) return 0.0;
    double share = refusals / (refusals + others);
    if (others > 0.0) share = fmin(share, share_of_refusals);
    double points = check->options.lesson->part[item->part].points;
    return points * item->weight * (item->expected != KERNEL_OK ? share / refusals : (1.0 - share) / others);
}

/* 1 if the case shows whether its part computes the right values. */
static int shows_values(const struct lesson_case *item)
{
    return item->expected == KERNEL_OK && item->weight > 0 && !(item->flags & CASE_LAUNCH_ONLY);
}

/* 1 once a part computes something: most of its basic cases pass, or, where none was chosen, any. Before that a case passes by
 * chance, as one with a single key may, or because the skeleton comes with the refusals; the next mistake that is mended may
 * end it. */
static int has_begun(const struct check *check, int part)
{
    int chosen[2] = {0, 0}, passed[2] = {0, 0};
    for (int i = 0; i < check->case_count; i++) {
        const struct lesson_case *item = &check->cases[i];
        if (!check->chosen[i] || item->part != part || !shows_values(item)) continue;
        const int basic = item->group == GROUP_BASIC && !check->witness[i];
        chosen[basic]++;
        passed[basic] += check->verdicts[i].state == STATE_PASS;
    }
    if (chosen[1] > 0) return 2 * passed[1] > chosen[1];
    return chosen[0] == 0 || passed[0] > 0;
}

/* A kernel that sees only the first 256 keys would pass nearly every case, and would still be useless. One that is wrong for
 * infinities alone is not. */
int check_values_wrong(const struct check *check, int part)
{
    for (int i = 0; i < check->case_count; i++) {
        if (!check->chosen[i] || check->cases[i].part != part || check->cases[i].expected != KERNEL_OK)
            continue;
        if (check->verdicts[i].state != STATE_PASS && !check->verdicts[i].special) return 1;
    }
    return 0;
}

double check_points(const struct check *check, int index)
{
    const double share_while_wrong = 0.5;
    const struct lesson_case *item = &check->cases[index];
    if (!check->chosen[index] || check->verdicts[index].state != STATE_PASS) return 0.0;
    const int basic = shows_values(item) && item->group == GROUP_BASIC;
    if (!basic && !has_begun(check, item->part)) return 0.0;
    return check_points_max(check, index) * (check_values_wrong(check, item->part) ? share_while_wrong : 1.0);
}

int check_counts(const struct check *check, int index)
{
    return check->verdicts[index].state == STATE_PASS &&
           (check_points(check, index) > 0.0 || check_points_max(check, index) <= 0.0);
}

static int is_of(const struct check *check, int index, int part)
{
    return check->chosen[index] && (part < 0 || check->cases[index].part == part);
}

/* Asked only where the states do not tell: it looks at every case for every case. */
static int any_counts(const struct check *check, int part)
{
    for (int i = 0; i < check->case_count; i++)
        if (is_of(check, i, part) && check_counts(check, i)) return 1;
    return 0;
}

enum state check_state(const struct check *check, int part)
{
    int count[STATE_COUNT] = {0}, all = 0;
    for (int i = 0; i < check->case_count; i++) {
        if (!is_of(check, i, part)) continue;
        count[check->verdicts[i].state]++;
        all++;
    }
    if (count[STATE_NOT_GRADED] > 0 || all == 0) return STATE_NOT_GRADED;
    if (count[STATE_PASS] == all) return STATE_PASS;
    if (count[STATE_NO_DEVICE] == all) return STATE_NO_DEVICE;
    if (count[STATE_NOT_STARTED] + count[STATE_PASS] == all)
        return any_counts(check, part) ? STATE_IN_PROGRESS : STATE_NOT_STARTED;
    if (count[STATE_CRASH] > 0 && count[STATE_CRASH] + count[STATE_NOT_STARTED] + count[STATE_PASS] == all)
        return STATE_CRASH;
    if (count[STATE_TIMEOUT] > 0 &&
        count[STATE_TIMEOUT] + count[STATE_NOT_STARTED] + count[STATE_PASS] == all)
        return STATE_TIMEOUT;
    return STATE_FAIL;
}
