/**
 * @file devices.h
 * @brief Several devices: what the machine's own parts ask.
 */
#pragma once

/** @brief Which device carries out the operation that is under way. */
int simt_working_device(void);
