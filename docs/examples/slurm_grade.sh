#!/bin/bash
# A class graded as a Slurm job array, one part an array task:
#
#   printf 'some long random text' >seed.txt
#   sbatch --array=1-4 docs/examples/slurm_grade.sh SUBMISSIONS seed.txt 01,04-06
#   sbatch --dependency=afterany:JOBID --wrap 'build/bin/warpwise grade --merge parts/* --out OUT'
#
# Submit it from the top of the course's tree, already built, on a file system that the nodes share. A task that was
# killed or requeued goes on where it stopped: it is the same command. For kernels on a GPU add --gres=gpu:1.
# Isolation: needs bubblewrap on the nodes. Where it is not there or users may make no namespaces, grade refuses; see
# docs/security.md before you put --without-isolation into GRADE_OPTIONS.
#SBATCH --job-name=warpwise
#SBATCH --cpus-per-task=2
#SBATCH --output=parts-%A_%a.log
#SBATCH --requeue
set -euo pipefail
mkdir -p parts
exec build/bin/warpwise grade "$1" --secret-seed-file "$2" --out "parts/part$SLURM_ARRAY_TASK_ID" \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_MAX" --jobs "${SLURM_CPUS_PER_TASK:-1}" ${3:+--lessons "$3"} ${GRADE_OPTIONS:-}
