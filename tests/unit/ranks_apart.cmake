# Lesson 19's solution, called by a thread per rank.
#   SIMTCC SOURCE WORKDIR
cmake_minimum_required(VERSION 3.25)
file(MAKE_DIRECTORY ${WORKDIR})
execute_process(COMMAND ${SIMTCC} -O1 -I ${SOURCE}/lessons/19_several_gpus -I ${SOURCE}/common/contracts
                        ${SOURCE}/tests/unit/ranks_apart.cu ${SOURCE}/solutions/19_several_gpus/several_gpus.cu -lnccl
                        -o ${WORKDIR}/ranks_apart
                COMMAND_ERROR_IS_FATAL ANY)
set(ENV{SIMT_DEVICES} 4)
execute_process(COMMAND ${WORKDIR}/ranks_apart COMMAND_ERROR_IS_FATAL ANY)
