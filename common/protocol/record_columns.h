/**
 * @file record_columns.h
 * @brief The columns of the rows that `--csv` writes, for the two programs that write such rows: the checker, a row
 *        for each case, and warpwise, the one row of a kernel file that never came to run.
 */
#ifndef WARPWISE_CHECKER_RECORD_COLUMNS_H
#define WARPWISE_CHECKER_RECORD_COLUMNS_H

#define RECORD_COLUMNS                                                                                       \
    "lesson,part,case,group,shape,device,state,points,points_max,budget_share,median_us,p10_us,p90_us,flop," \
    "min_bytes,workspace_bytes,launches,blocks_per_sm,occupancy,load_requests,load_sectors,store_requests,"  \
    "store_sectors,shared_load_wavefronts,shared_store_wavefronts,bank_conflicts,atomics,barriers,"          \
    "host_seconds,seed,finding,time_refused,headline,pattern"

#endif
