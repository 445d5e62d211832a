/**
 * @file watched.h
 * @brief Waiting for a file to be saved.
 */
#pragma once

/** @brief One watched file, in a folder in which files may be renamed. */
struct watched {
    char *path;
    int notify;  /**< inotify, or -1: then the file is checked a few times per second */
    int wait_ms; /**< after this time the file is checked in any case; -1: never */
    char stamp[80], sum[65];
};

/** @brief Begins. @p way: "poll" leaves inotify out, "notify" trusts it alone, NULL takes both. */
void watched_open(struct watched *watched, const char *path, const char *way);
/** @brief 1 if the content has changed since the last call that said so; never waits. */
int watched_changed(struct watched *watched);
/** @brief Waits until the content may have changed, a key is pressed, or a signal comes. */
void watched_wait(const struct watched *watched, int keys);
void watched_close(struct watched *watched);
