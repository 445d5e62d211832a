/**
 * @file described.h
 * @brief What lesson.def says of a lesson, as fields of its struct lesson: the first line inside of that initialiser.
 */
/* clang-format off */
#define LESSON(number_, topic_, title_) .number = number_, .topic = #topic_, .title = title_,
#define NCCL() .network = 1,
#define ARCHITECTURE(least, last) .least_architecture = least, .last_architecture = last,
#include "description/lesson_def.h"
.part_count = 0
#define PART(id, name, points) + 1
#include "description/lesson_def.h"
, .part = {
#define PART(id, name, points) {name, points},
#include "description/lesson_def.h"
},
.described = (const struct described[]){
#define PART(id, name_, points) {.kind = DESCRIBED_PART, .name = name_},
#define POINTER(name_, role, dtype, alignment, null, ...) {.kind = DESCRIBED_POINTER, .name = name_, .words = #null, .extents = #__VA_ARGS__},
#define ARGS(at_) {.kind = DESCRIBED_ARGS, .at = at_},
#define EXTENT(name_, at_, least) {.kind = DESCRIBED_EXTENT, .name = name_, .at = at_, .first = least},
#define STRIDE(name_, at_, multiple) {.kind = DESCRIBED_STRIDE, .name = name_, .at = at_, .first = multiple},
#define OPTION(name_, at_, first_, last_) {.kind = DESCRIBED_OPTION, .name = name_, .at = at_, .first = first_, .last = last_},
#define STORAGE(name_, at_) {.kind = DESCRIBED_DTYPE, .name = name_, .at = at_},
#define SCALAR(name_, at_) {.kind = DESCRIBED_SCALAR, .name = name_, .at = at_},
#define SANITIZED(...) {.kind = DESCRIBED_PATHS, .words = #__VA_ARGS__},
#define LEAST_CHIP(least) {.kind = DESCRIBED_CHIP, .at = least},
#define STATUS_WORD(at_, fault) {.kind = DESCRIBED_STATUS, .at = at_, .first = fault},
#define SHOWN(promise, cases) {.kind = DESCRIBED_SHOWN, .name = promise, .words = cases},
#define NOT_HELD(promise, reason) {.kind = DESCRIBED_NOT_HELD, .name = promise, .words = reason},
#define LIKE(promise, test_case) {.kind = DESCRIBED_LIKE, .name = promise, .words = test_case},
#include "description/lesson_def.h"
{.kind = DESCRIBED_END}},
