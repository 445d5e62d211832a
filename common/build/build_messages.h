/**
 * @file build_messages.h
 * @brief Which of a compiler's messages about an untrusted file may be shown: those that quote that file
 *        only.
 */
#pragma once

/**
 * @brief Removes from @p text what quotes any file but the kernel file.
 *
 * A compiler shows lines of every file it complains about, and could be made to complain about any. A quoted line stays
 * if it is one of @p source; a message stays if it is about a file below @p folders, or names no path.
 * @param folders  ended by NULL
 */
void build_keep_own_lines(const char *source, const char *const *folders, char *text);
