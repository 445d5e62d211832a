/**
 * @file trace_format.h
 * @brief The file that SIMT_TRACE names: what the warps of some blocks did, event by event.
 *
 * The device writes it, common/trace reads it and makes a page of it. The file begins with TRACE_MAGIC. Behind that come
 * chunks: a letter, the number of bytes that follow, and those. Numbers are LEB128: seven bits a byte, the lowest first;
 * signed ones are zigzag-coded; a text is its length and its bytes. Launches follow each other: TRACE_SITE chunks of what is
 * new, one TRACE_LAUNCH, then TRACE_RANGE, TRACE_BLOCK and TRACE_FINDING chunks about it.
 */
#pragma once

#define TRACE_MAGIC "warpwise trace 1\n"
/** Kind of a TRACE_FINDING that is no finding: it names the last writer of the element of SIMT_TRACE_ELEMENT. */
#define TRACE_LAST_WRITE "last write"

enum {
    TRACE_COUNTED = 9,           /**< counters, in the order of SIMT_COUNTERS' columns */
    TRACE_BLOCK_BYTES = 5 << 20, /**< events of a block: what comes later is left out */
    TRACE_FILE_BYTES = 14 << 20, /**< events of all blocks: blocks that come later are left out */
    TRACE_FRAMES = 3,            /**< lines of a site: its own, and those of the calls that led there */
};

enum trace_chunk {
    /** its number; what is called there, or ""; lines: how many, and for each file and line */
    TRACE_SITE = 'S',
    /** kernel; grid and block, three each; bytes of dynamic shared memory; the launch's counters */
    TRACE_LAUNCH = 'L',
    /** enum trace_space; name; first address; bytes; bytes of an element, or 0; extents: how many, each */
    TRACE_RANGE = 'V',
    TRACE_BLOCK = 'B', /**< its index; enum trace_why; events left out; its counters; events */
    TRACE_FINDING =
        'F', /**< kind; text; how often; enum trace_space, address, bytes; two of: 1 + site, or 0 for nobody; block;
                              thread; enum trace_access */
};

/** @brief Where an address is. Addresses of shared memory count from the beginning of the block's. */
enum trace_space {
    TRACE_GLOBAL,
    TRACE_VARIABLE,
    TRACE_SHARED,
    TRACE_DYNAMIC,
    TRACE_NOWHERE,
    TRACE_TO_DYNAMIC = 8 /**< beside the space that a copy reads: it goes to dynamic shared memory */
};

/** @brief Why a block is in the file. */
enum trace_why { TRACE_FIRST, TRACE_CHOSEN, TRACE_FOUND, TRACE_WROTE };

/** @brief What lanes did at an address. */
enum trace_access {
    TRACE_READ = 1,
    TRACE_WRITE = 2,
    TRACE_ATOMIC = 4,
    TRACE_COPY = 8,    /**< an asynchronous copy began */
    TRACE_UNUSED = 16, /**< the block ended before SIMT_COUNTERS would have counted it */
};

/**
 * @brief Events of a block: a byte each, its lower four bits one of these, the others enum trace_flag.
 *
 * TRACE_LANES: site, what is new of it, the first lane's address as a difference from the site's last one; of a copy the
 * one in shared memory behind it. What is new, unless TRACE_SAME: enum trace_access, enum trace_space, bytes, mask of the lanes,
 * and for each address list pairs of a difference from lane to lane and how often it comes. What it costs, unless
 * TRACE_SAME_COST: a bit for each counter that rises, and by how much.
 */
enum trace_event {
    TRACE_WARP = 1, /**< the warp of the events that follow */
    TRACE_LANES,    /**< an access of lanes */
    TRACE_MARK,     /**< site, enum trace_mark, mask, the value of the first of the lanes */
    TRACE_MEET,     /**< site, enum trace_meet, mask: lanes met */
    TRACE_BARRIER,  /**< site, mask of the warps that go on */
    TRACE_NAMED,    /**< number of the barrier, mask of the warps that go on */
    TRACE_LANDED,   /**< a bulk copy has arrived: its number, bytes, enum trace_space, first address */
};
enum trace_flag { TRACE_SAME = 16, TRACE_SAME_COST = 32 };

/** @brief What lanes did that is no access. */
enum trace_mark {
    TRACE_COMMIT = 1,  /**< closed this group of copies */
    TRACE_WAIT,        /**< waited until groups below this one had arrived */
    TRACE_BULK,        /**< began the bulk copy of this number */
    TRACE_BULK_COMMIT, /**< the same for bulk stores */
    TRACE_BULK_WAIT,
    TRACE_ARRIVE, /**< arrived at the mbarrier at this address */
    TRACE_AWAIT,  /**< waits for it */
};

/** @brief What lanes met for. */
enum trace_meet {
    TRACE_COLLECTIVE, /**< shuffle, vote, reduction, matrix load */
    TRACE_PRODUCT,    /**< a product on tensor cores */
    TRACE_SYNCWARP,
    TRACE_PRODUCTS_WAIT, /**< for products in flight */
    TRACE_NAMED_ARRIVE,  /**< and more: came to the named barrier of as many more; counts as a barrier */
};
