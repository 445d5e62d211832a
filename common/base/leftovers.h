/**
 * @file leftovers.h
 * @brief Temporary files and folders of programs that were killed: whoever comes next removes them.
 *
 * Their maker holds a lock on each, which goes with the process however that ends. So what nobody holds is nobody's, also
 * where process ids say nothing: in another container with the same folder, or after they have come round.
 */
#pragma once

/** @brief Holds @p path, a file or folder of ours, until the descriptor that is returned is closed; -1 if it cannot. */
int leftovers_hold(const char *path);

/**
 * @brief Removes each file and folder in @p folder that begins with @p prefix, ends in @p ending, is ours and is held by nobody.
 *        An ending "#" stands for a dot and digits. What is a few seconds old is left alone: its maker may be about to hold it.
 */
void leftovers_remove(const char *folder, const char *prefix, const char *ending);
