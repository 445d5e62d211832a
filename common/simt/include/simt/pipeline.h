/**
 * @file pipeline.h
 * @brief cuda::pipeline: stages of asynchronous copies, of one thread by groups of copies, of a block by mbarriers.
 */
#pragma once

#pragma GCC system_header

#include "barrier.h"

namespace cuda
{

enum class pipeline_role { producer, consumer };

/** @brief Of each stage: filled by the producers, and free again. */
template <thread_scope Scope, ::std::uint8_t Stages> class pipeline_shared_state
{
  public:
    pipeline_shared_state() = default;
    pipeline_shared_state(const pipeline_shared_state &) = delete;
    struct simt_stage {
        alignas(8) uint64_t filled, free;
    } simt_stages[Stages];
};

template <thread_scope Scope> class pipeline
{
  public:
    pipeline(const pipeline &) = delete;
    pipeline(pipeline &&) = default;
    /** @brief Until the stage that will be filled next is free. The first round waits for nobody. */
    void producer_acquire(SIMT_WHERE)
    {
        details::barrier_wait(at.of("cuda::pipeline::producer_acquire"), stage(head) + 1, parity(head) ^ 1,
                              SIMT_MBARRIER_PARITY);
    }
    void producer_commit(SIMT_WHERE)
    {
#if __CUDA_ARCH__ >= 800
        details::copies_arrive(at.of("cuda::pipeline::producer_commit"), stage(head), 1);
#else
        (void)details::barrier_arrive(at.of("cuda::pipeline::producer_commit"), stage(head), 1, 0, 0);
#endif
        head++;
    }
    void consumer_wait(SIMT_WHERE)
    {
        details::barrier_wait(at.of("cuda::pipeline::consumer_wait"), stage(tail), parity(tail), SIMT_MBARRIER_PARITY);
    }
    void consumer_release(SIMT_WHERE)
    {
        (void)details::barrier_arrive(at.of("cuda::pipeline::consumer_release"), stage(tail) + 1, 1, 0, 0);
        tail++;
    }
    bool quit() { return true; }

    /** @brief make_pipeline() only. */
    pipeline(uint64_t *words, unsigned int stages) : word(words), count(stages) {}

  private:
    uint64_t *stage(unsigned int n) const { return word + 2 * (n % count); }
    unsigned int parity(unsigned int n) const { return n / count % 2; }
    uint64_t *word; /* two of each stage */
    unsigned int count, head = 0, tail = 0;
};

/** @brief Of one thread: what it commits is a group of its copies, and consumer_wait() waits for the oldest. */
template <> class pipeline<thread_scope_thread>
{
  public:
    pipeline() = default;
    pipeline(const pipeline &) = delete;
    pipeline(pipeline &&) = default;
    void producer_acquire() {}
    void producer_commit()
    {
        __pipeline_commit();
        committed++;
    }
    void consumer_wait()
    {
        if (committed > released) __pipeline_wait_prior(committed - released - 1);
    }
    void consumer_release() { released++; }
    bool quit() { return true; }

  private:
    size_t committed = 0, released = 0;
};

SIMT_INLINE pipeline<thread_scope_thread> make_pipeline() { return pipeline<thread_scope_thread>(); }

namespace details
{
template <typename Group, thread_scope Scope, ::std::uint8_t Stages>
SIMT_INLINE pipeline<Scope> begin_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state,
                                           unsigned int producers, unsigned int consumers, place at)
{
    if (group.thread_rank() == 0)
        for (unsigned int i = 0; i < Stages; i++) {
            barrier_init(at.of("cuda::make_pipeline"), &state->simt_stages[i].filled, producers);
            barrier_init(at.of("cuda::make_pipeline"), &state->simt_stages[i].free, consumers);
        }
    group.sync(at);
    return pipeline<Scope>(&state->simt_stages[0].filled, Stages);
}
} // namespace details

/** @brief Every thread of the group fills and empties. */
template <typename Group, thread_scope Scope, ::std::uint8_t Stages>
SIMT_INLINE pipeline<Scope> make_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state, SIMT_WHERE)
{
    const unsigned int all = (unsigned int)group.size();
    return details::begin_pipeline(group, state, all, all, at);
}
template <typename Group, thread_scope Scope, ::std::uint8_t Stages>
SIMT_INLINE pipeline<Scope> make_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state,
                                          size_t producers, SIMT_WHERE)
{
    const unsigned int all = (unsigned int)group.size();
    return details::begin_pipeline(group, state, (unsigned int)producers, all - (unsigned int)producers, at);
}
template <typename Group, thread_scope Scope, ::std::uint8_t Stages>
SIMT_INLINE pipeline<Scope> make_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state,
                                          pipeline_role role, SIMT_WHERE)
{
    const unsigned int producers = (unsigned int)__syncthreads_count(role == pipeline_role::producer);
    return details::begin_pipeline(group, state, producers, (unsigned int)group.size() - producers, at);
}

template <typename Size, thread_scope Scope>
SIMT_INLINE void memcpy_async(void *to, const void *from, Size bytes, pipeline<Scope> &)
{
    details::copy_pieces(details::one_thread(), to, from, (size_t)bytes);
}
template <typename Group, typename Size, thread_scope Scope>
SIMT_INLINE void memcpy_async(const Group &group, void *to, const void *from, Size bytes, pipeline<Scope> &)
{
    details::copy_pieces(group, to, from, (size_t)bytes);
}

/** @brief Until all stages but the last @p Prior that the thread committed are there. */
template < ::std::uint8_t Prior> SIMT_INLINE void pipeline_consumer_wait_prior(pipeline<thread_scope_thread> &)
{
    __pipeline_wait_prior(Prior);
}
template <thread_scope Scope> SIMT_INLINE void pipeline_producer_commit(pipeline<thread_scope_thread> &, barrier<Scope> &b, SIMT_WHERE)
{
    details::finish_copies(b.simt_word(), at.of("cuda::pipeline_producer_commit"));
}

} // namespace cuda
