// A plan: the schedule of one problem, bound to the cells of a group.
//
// Binding turns every step into numbers that the executor only has to add to a base: which cell, which place in the
// staging, which flag.  A message that does not fit the staging runs piece by piece: the same bound schedule again and
// again.  Each piece is an operation with a number of its own, so pieces follow each other through the slots as calls do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/registry.h"
#include "execute/exchange.h"
#include "execute/faster_way.h"
#include "execute/reach.h"
#include "schedule/problem.h"
#include "schedule/schedule.h"
#include "transport/shared.h"

namespace fanlight {

// The steps of the language, and what the transports add.
enum class BoundKind : std::uint8_t {
    post,    // tell the writer of a long put where it may write
    put, arrive, offer, get, copy, combine,
    set_bit, await_bit,  // a put and an arrive that are a bit of a register
    settle,  // end of a round with long puts: wait until the reader has taken it, if it was not staged
    // To and from ranks that share no memory with this one (transport/remote.h): a round posts its receives first, then
    // does its work on the node, and ends when all its messages are complete.
    begin, receive, send, end_round, end,
    gather,  // load the flags of the steps that follow, before any is waited for
};

struct BoundStep {
    BoundKind kind;
    Order order;
    Buffer from_buffer;
    Buffer to_buffer;
    // get: the combine that follows it, fused: to = got (+) operand or operand (+) got.
    Order fused;
    Buffer operand_buffer;
    Place place;            // put, arrive, offer: by length
    bool acknowledged;      // put: its cell was used in this operation; arrive: the writer must know
    bool lendable;          // better read where it lies, if it lies in an arena (peer_memory.h)
    std::int32_t peer;
    std::uint32_t message;  // its number; set_bit, await_bit: whose bit; receive, send: which of `messages`; gather: how many steps;
                            // end_round, end: behind how many fences
    std::uint32_t tag;     // of the message in the flag
    std::uint32_t first_reader, readers;
    std::size_t from, to, operand, bytes;
    std::size_t cell;       // from the slot's start; set_bit, await_bit: the register's word
    std::size_t staging;    // put, offer: from the start of this rank's area
    std::size_t channel;    // put, settle: the peer's; post, arrive: this rank's; from the slot's start
};

// What is short is over before anything is gained; a copy that is longer would keep the message's reader waiting.
constexpr std::size_t shortest_along = 32 * 1024;
inline bool is_copied_along(const BoundStep& message, const BoundStep& next) {
    return message.bytes >= shortest_along && next.kind == BoundKind::copy && next.bytes <= message.bytes;
}

struct BoundSchedule {
    std::vector<BoundStep> steps;
    std::vector<int> readers;
    std::vector<RemoteMessage> messages;
    std::size_t scratch_bytes = 0;
    std::size_t element = 1;
    std::size_t staged = 0;  // bytes, of this rank
    bool in_many_areas = false;     // some rank may stage more than one area holds
    bool stages_at_reader = false;
    bool reuses_cells = false;      // for more puts to one rank than there are cells
    bool has_long_results = false;  // what it gets goes past the caches
    bool readers_copy = false;      // as in BindOptions
    bool is_followed = false;       // what is long is read while it is still being staged
    bool has_direct_offers = false;
    bool may_lend_scratch = false;  // offers of it are direct or lendable
    bool results_are_read = false;  // direct or lendable messages come from the output or from scratch
    std::size_t ahead = 0;  // so many steps, messages, come before any that uses the slot
    // The steps up to the last one that another member may wait for, and whether this member waits for none before it.
    // (A message that is copied once keeps others waiting until it has been read.)
    std::size_t sends_end = 0;
    bool sends_complete_first = false;
};

struct BindOptions {
    std::size_t inlined = 112;  // messages of so many bytes are in their cell
    bool single_copy = false;
    std::size_t single_copy_from = 0;  // messages of so many bytes are copied once
    std::size_t lent_from = SIZE_MAX;  // of so many bytes are lendable
    bool lends_offers = true;          // not only puts
    bool lends_sums = false;           // also offers of what was just combined
    // Puts are staged in the area of their reader, from this byte on: in the operation only one rank puts to it, and that
    // rank puts to many.
    bool stage_at_reader = false;
    std::size_t staged_from = 0;
    // Puts that are copied once are read, all at the same time, not written one after the other.
    bool readers_copy = false;
    // Puts that are staged go in pieces of so many bytes; 0: whole.
    std::size_t piece = 0;
    Reach reach{};
};

// What one run of a schedule needs of the transport.
struct Needs {
    std::size_t staged = 0;     // bytes, of this rank
    std::size_t longest = 0;    // message that is staged
    std::size_t scratch = 0;    // bytes, of this rank
    int offers = 0;             // of this rank, to others near it
    RemoteRoom window{};        // of this rank's
};
Needs needs_of(const Schedule&, int rank, const SharedSlots&, const BindOptions&);
// `called`: what the operation is (called.h); `element`: as in Problem; `bound`: may be an older one, whose memory is reused;
// `exchange`: this rank's, null if no messages are needed.  Throws std::logic_error if the group's cells or staging do not
// suffice.
void bind(const Schedule&, int rank, std::uint64_t called, std::size_t element, const SharedSlots&, const BindOptions&,
          BoundSchedule& bound, const Exchange* exchange = nullptr);

// Finds the cells and channels of a bound schedule, for this member of the group.
void connect(BoundSchedule&, int rank, const SharedSlots&);
// Where a rank waits for many in a row, their flags are on their way together, some at a time.  Not for few: that costs more
// than it saves.
void gather_flags(BoundSchedule&);
// Up to where its steps tell others something (BoundSchedule::sends_end).
void find_told(BoundSchedule&);

// A plan belongs to the group that made it (Planner::plan) and must not outlive it.
class Plan {
public:
    const Algorithm* algorithm = nullptr;
    std::string name;             // "allreduce (all-read-all)", for reports
    std::uint64_t called = 0;     // the whole call, of which these may be pieces (called.h)
    std::size_t piece_bytes = 0;  // distance from one piece to the next, within each block
    // Pieces that look alike share a schedule: `repeat` pieces in a row.
    struct Part {
        BoundSchedule schedule;
        std::size_t repeat = 1;
    };
    std::vector<Part> parts;
    RemoteTransport* remote = nullptr;  // what reaches the ranks of other nodes
    std::uint64_t placed = 0;  // when the group's memory was given to this plan (Group::connect)
    // So many pieces are in flight at a time: while one's messages are in flight, another one moves inside the node.
    std::size_t in_flight = 1;
    // Null: there is only one way.
    std::unique_ptr<FasterWay> ways;
    enum class SecondWay : std::uint8_t {
        few_places,    // what stages more than a cache holds does so not in many places in turn
        copies_along,  // what is staged and followed by a copy goes past the caches, both at the same time
    } second_way = SecondWay::few_places;
    bool whole = false;  // a single piece, whose lengths do not travel first
    // A single piece that gives the others what they need before this member waits for anything: once it has begun, nobody
    // needs this member until the next operation.
    bool sends_complete_first = false;
    // Blocks of other lengths, none longer than this, need no new plan (Planner::rebind_counts), only the steps below with
    // their own lengths; 0: they need one.
    std::size_t rebinds_counts_to = 0;
    BoundSchedule moves;
    bool rebound = false;
    // If lengths travel first (algorithms/lengths.h): the first of two parts brings them, and the second is bound when they
    // have arrived (Planner::bind_blocks).
    struct Lengths {
        Problem problem;                         // with the lengths that this rank knows
        BindOptions options;
        std::vector<std::uint64_t> told, heard;  // the first part's buffers
        std::vector<int> tells;                  // told_lengths
        std::vector<std::pair<std::size_t, std::size_t>> awaited;  // the place of each, and what it is in Problem::passing, or blocks
        BoundSchedule blocks;
        bool bound = false;                      // with these lengths
    };
    std::unique_ptr<Lengths> lengths;
};

// Which lines this member writes or reads, and how much it uses of its part.
SharedSlots::Lines lines_of(const Plan&);
SharedSlots::Extent extent_of(const Plan&);

// The problem of piece number `index` of a problem that is cut into pieces of `piece_bytes`.
Problem piece_of(const Problem&, std::size_t piece_bytes, std::size_t index);
// Pieces in a row that have the same schedule; all of a problem, of nothing one.
struct Pieces {
    std::size_t first, number;
};
std::vector<Pieces> pieces_of(const Problem&, std::size_t piece_bytes);
// The longest block or the vector: what is cut into pieces.
std::size_t length_of(const Problem&);
// The bytes of all blocks together, or of the vector; equal on all ranks but for gatherv,
// scatterv, alltoallv and neighborhoods (what this rank receives).
std::size_t total_bytes(const Problem&);
// What rules know as the length, as far as all ranks know it (length_is_known), else 0: of the vector, of one block, or the
// mean of blocks of different lengths.
std::size_t known_bytes(const Problem&);

}  // namespace fanlight
