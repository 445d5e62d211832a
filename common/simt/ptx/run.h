/**
 * @file run.h
 * @brief How large a statement's register file may be.
 */
#ifndef WARPWISE_SIMT_PTX_RUN_H
#define WARPWISE_SIMT_PTX_RUN_H

enum { PTX_REGISTERS = 1024 }; /* 8 KB of the thread's stack at most */

#endif
