/**
 * @file simt_only.h
 * @brief What only the software device has: NULL in a runner for a GPU. simt/machine.h says what each does.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

extern void simt_static_device_bytes(size_t *variables, size_t *constants) __attribute__((weak));
extern void simt_heap_limit(size_t bytes) __attribute__((weak));
extern void simt_heap_close(void) __attribute__((weak));
extern void simt_report_all(void) __attribute__((weak));
extern void simt_trust_allocations(void) __attribute__((weak));
extern uint64_t simt_left_by_atomics(void) __attribute__((weak));
extern int simt_finding_count(void) __attribute__((weak));
extern void simt_record_sink(void (*take)(const struct record *record)) __attribute__((weak));
extern void simt_promise(unsigned promises, void *stream) __attribute__((weak));
extern void simt_promise_also(void *stream) __attribute__((weak));
extern void simt_promise_broken_off(int refused) __attribute__((weak));
extern void simt_promise_returned(void) __attribute__((weak));
extern void simt_collective_bytes(int device, unsigned long long *sent, unsigned long long *received)
    __attribute__((weak));
extern void simt_pretend_multiprocessors(int count) __attribute__((weak));
extern void simt_pretend_capability(int capability) __attribute__((weak));
extern void simt_pretend_devices(int count) __attribute__((weak));
extern void simt_launch_only(int only) __attribute__((weak));
extern void simt_refuse_graphs(int refuse) __attribute__((weak));
extern void simt_run_share(uint64_t total, uint64_t step, uint64_t each, const void *workspace, size_t bytes)
    __attribute__((weak));
extern int simt_share_left(void) __attribute__((weak));
extern void simt_share_output(unsigned index, const void *start, size_t bytes) __attribute__((weak));
extern unsigned simt_share_ended(void) __attribute__((weak));
extern void simt_caller_runs(void *stream) __attribute__((weak));
extern unsigned simt_left_running(void) __attribute__((weak));
extern void simt_watch_streams(int watch) __attribute__((weak));
extern void simt_name_next_allocation(const char *text, const char *file, int line) __attribute__((weak));
extern void simt_device_keep(void *pointer, size_t bytes, unsigned kept) __attribute__((weak));
extern void simt_keep_variables(int keep) __attribute__((weak));
extern void simt_device_forget(void *pointer, size_t bytes) __attribute__((weak));
extern void simt_reuse_addresses(size_t room) __attribute__((weak));
extern void simt_lead_next_allocation(size_t bytes) __attribute__((weak));
extern void simt_shape_next_allocation(size_t element_bytes, int rank, const size_t *extent, size_t row_bytes)
    __attribute__((weak));
extern void simt_turn_order(int turned) __attribute__((weak));
extern unsigned long simt_objects_made(void) __attribute__((weak));
extern void simt_report_left_since(unsigned long mark) __attribute__((weak));
extern void simt_forbid_copies_to_host(int forbid) __attribute__((weak));
extern void simt_refused_launch(char *text, size_t size) __attribute__((weak));
extern void simt_calls(unsigned long *launches, unsigned long *graph_launches) __attribute__((weak));
