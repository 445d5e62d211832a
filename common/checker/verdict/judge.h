/**
 * @file judge.h
 * @brief From what a runner left to a verdict.
 */
#pragma once

#include "session.h"

/** @brief Judges item @p index after all runners are gone, and merges the result into the verdict of its case. */
void judge_item(struct session *session, int index);
