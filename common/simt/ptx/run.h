/**
 * @file run.h
 * @brief How large a statement's register file may be.
 */
#pragma once

enum { PTX_REGISTERS = 1024 }; /* 8 KB of the thread's stack at most */
