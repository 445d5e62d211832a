/**
 * @file record_columns.h
 * @brief The columns of the rows that `--csv` writes, for the two programs that write such rows: the checker, a row
 *        for each case, and warpwise, the one row of a kernel file that never came to run.
 */
#pragma once

/* A field is text, a number or empty. A line end within a field is written as \n, a backslash as \\. `kind` to `seen` are the
 * fields of the verdict's record (record/record.h): `cause` is a name, `guess` the number of the lesson's guess, `index`
 * the first wrong element, `at` lines "FILE:LINE;FILE:LINE", innermost call first, `other_...` the other half of a race.
 * `part_state` is the state of all cases of the part that ran; `left_out` is how many cases of the lesson this device does
 * not run. `shown` numbers the cases that the report shows in full, `text` is what it shows; both, `headline` and `pattern` are for
 * people. */
#define RECORD_COLUMNS                                                                                       \
    "lesson,part,case,group,shape,device,state,points,points_max,budget_share,median_us,p10_us,p90_us,flop," \
    "min_bytes,workspace_bytes,launches,blocks_per_sm,occupancy,load_requests,load_sectors,store_requests,"  \
    "store_sectors,shared_load_wavefronts,shared_store_wavefronts,bank_conflicts,atomics,barriers,"          \
    "host_seconds,seed,finding,time_refused,part_state,left_out,kind,certainty,cause,guess,buffer,index,"    \
    "expected,got,share,wrong,compared,function,at,block,thread,other_at,other_block,other_thread,seen,"     \
    "headline,pattern,found,shown,text"
