/**
 * @file devices.h
 * @brief Several devices: what the machine's own parts ask.
 */
#ifndef WARPWISE_SIMT_DEVICES_H
#define WARPWISE_SIMT_DEVICES_H

/** @brief Which device carries out the operation that is under way. */
int simt_working_device(void);

#endif
