// Every check of the verifier must be able to fail: correct schedules are broken one step
// at a time, and the message must name the rank, the round and the fault.
#include <gtest/gtest.h>

#include <algorithm>

#include "samples.h"
#include "schedule/all_ranks.h"
#include "schedule/builder.h"
#include "schedule/verify.h"

namespace fanlight {
namespace {

using samples::find;
using samples::Sample;

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    return text;
}

// One of the faults must contain all of these words.
void expect_fault(const Sample& sample, std::initializer_list<std::string> words,
                  const VerifyOptions& options = {}) {
    const auto faults = verify(sample.ranks, sample.problem, options);
    const bool found = std::any_of(faults.begin(), faults.end(), [&](const std::string& fault) {
        return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
            return fault.find(word) != std::string::npos;
        });
    });
    EXPECT_TRUE(found) << "the faults found are:\n" << joined(faults);
}

TEST(verify_red, dropped_put) {
    auto s = samples::chain_broadcast(4, 8);
    samples::erase(s.ranks[1], find(s.ranks[1], StepKind::put));
    expect_fault(s, {"rank 2, round 0", "arrive from rank 1", "never made"});
}

TEST(verify_red, dropped_arrive_leaves_a_put_over) {
    auto s = samples::chain_broadcast(4, 8);
    samples::erase(s.ranks[2], find(s.ranks[2], StepKind::arrive));
    expect_fault(s, {"rank 1, round 1", "put to rank 2", "left over"});
}

TEST(verify_red, a_block_at_a_wrong_place_that_the_target_alone_knows) {
    auto s = samples::direct_alltoallv(3);
    auto& steps = s.ranks[2].steps;
    Step& arrive = steps[find(s.ranks[2], StepKind::arrive, 1)];
    arrive.to.offset -= 8;
    expect_fault(s, {"rank 2", "arrive from rank 1"});
    auto t = samples::direct_alltoallv(3);
    t.ranks[0].steps[find(t.ranks[0], StepKind::put)].from = input(t.problem.sends[2].offset);
    expect_fault(t, {"rank 1", "input[12,28) of rank 0 should be there"});
}

TEST(verify_red, blocks_whose_two_ends_have_different_lengths) {
    auto s = samples::direct_alltoallv(3);
    s.problem.sends[1].bytes += 8;
    expect_fault(s, {"rank 0 has 24 bytes for rank 1, which expects 16"});
    s.problem.sends.pop_back();
    expect_fault(s, {"8 blocks for 3 ranks"});
}

TEST(verify_red, edges_that_are_swapped_or_lead_to_nobody) {
    Problem p = samples::problem_of(Operation::neighbor_alltoall, 2, 0);
    set_edges(p, {{.from = 0, .to = 1, .bytes = 8}, {.from = 0, .to = 1, .bytes = 8}});
    Builder from(p), to(p);
    for (std::size_t i : {0, 8}) from.put(1, input(8 - i), unknown(), 8);
    for (std::size_t i : {0, 8}) to.arrive(0, output(i), 8);
    expect_fault({p, {from.finish(), to.finish()}}, {"rank 1", "input[0,8) of rank 0 should be there"});
    p.edges[1].to = 2;
    expect_fault({p, {Schedule{}, Schedule{}}}, {"an edge from rank 0 to rank 2 for 2 ranks"});
}

TEST(verify_red, an_unknown_place_is_for_puts_alone) {
    auto s = samples::direct_alltoallv(3);
    s.ranks[0].steps[find(s.ranks[0], StepKind::put)].from = unknown();
    expect_fault(s, {"rank 0, round 0", "put to rank 1", "reads outside of the unknown place"});
    auto t = samples::direct_alltoallv(3);
    t.ranks[0].steps[find(t.ranks[0], StepKind::arrive)].to = unknown();
    expect_fault(t, {"rank 0, round 0", "arrive from rank 1", "writes outside of the unknown place"});
}

TEST(verify_red, a_bit_of_a_register_on_one_side_alone) {
    auto s = samples::signal_barrier(3);
    s.ranks[0].steps[find(s.ranks[0], StepKind::put)].bit = true;
    expect_fault(s, {"rank 1, round 0", "arrive from rank 0", "not both a bit"});
}

TEST(verify_red, a_bit_that_is_set_twice_or_has_bytes) {
    const auto one_way = [](int times) {
        Sample s{samples::problem_of(Operation::barrier, 2, 0), {}};
        Builder from(s.problem), to(s.problem);
        for (int i = 0; i < times; ++i) {
            from.set_bit(1);
            to.await_bit(0);
        }
        s.ranks = {from.finish(), to.finish()};
        return s;
    };
    expect_fault(one_way(2), {"rank 0, round 0", "sets a bit that was set before"});
    auto s = one_way(1);
    s.ranks[0].steps[0].bytes = s.ranks[1].steps[0].bytes = 8;
    expect_fault(s, {"rank 0, round 0", "has bytes"});
}

TEST(verify_red, dropped_get_leaves_an_offer_over) {
    auto s = samples::offered_allgather(3, 8);
    samples::erase(s.ranks[2], find(s.ranks[2], StepKind::get));
    expect_fault(s, {"rank 0, round 0", "offer 0", "reader rank 2", "never gets"});
}

TEST(verify_red, dropped_offer) {
    auto s = samples::offered_allgather(3, 8);
    samples::erase(s.ranks[1], find(s.ranks[1], StepKind::offer));
    s.ranks[1].offers = 0;
    expect_fault(s, {"rank 0, round 1", "get from rank 1", "does not make"});
}

TEST(verify_red, wrong_number_of_offers) {
    auto s = samples::offered_allgather(3, 8);
    s.ranks[1].offers = 2;
    expect_fault(s, {"rank 1", "says 2 offers", "make 1"});
    s.ranks[1].offers = 1;
    s.ranks[1].steps[find(s.ranks[1], StepKind::offer)].offer = 1;
    expect_fault(s, {"rank 1, round 0", "should have the number 0"});
}

TEST(verify_red, rounds_that_do_not_hold_all_steps) {
    auto s = samples::chain_broadcast(3, 8);
    s.ranks[1].round_ends.pop_back();
    expect_fault(s, {"rank 1", "rounds hold 1 steps", "has 2"});
}

TEST(verify_red, peer_that_does_not_exist) {
    auto s = samples::chain_broadcast(3, 8);
    s.ranks[1].steps[find(s.ranks[1], StepKind::put)].peer = 3;
    expect_fault(s, {"rank 1, round 1", "does not exist"});
    s.ranks[1].steps[find(s.ranks[1], StepKind::put)].peer = 1;
    expect_fault(s, {"rank 1, round 1", "its own rank"});
}

TEST(verify_red, wrong_length) {
    auto s = samples::chain_broadcast(3, 8);
    s.ranks[0].steps[find(s.ranks[0], StepKind::put)].bytes = 4;
    expect_fault(s, {"rank 1, round 0", "does not fit the put", "rank 0, round 1"});
    s.ranks[1].steps[find(s.ranks[1], StepKind::arrive)].bytes = 4;
    expect_fault(s, {"rank 1, round 1", "reads byte 4 of the output", "nobody has written"});
}

TEST(verify_red, put_and_arrive_of_different_places) {
    auto s = samples::direct_alltoall(3, 8);
    s.ranks[0].steps[find(s.ranks[0], StepKind::put)].to = output(16);
    expect_fault(s, {"rank 1, round 0", "arrive from rank 0", "does not fit the put"});
}

TEST(verify_red, swapped_blocks) {
    auto s = samples::direct_alltoall(3, 8);
    auto& steps = s.ranks[0].steps;
    std::swap(steps[find(s.ranks[0], StepKind::put, 0)].from,
              steps[find(s.ranks[0], StepKind::put, 1)].from);
    expect_fault(s, {"rank 1", "output[0,8) holds input[16,24) of rank 0",
                     "input[8,16) of rank 0 should be there", "written in round 0"});
    auto g = samples::offered_allgather(4, 8);
    std::swap(g.ranks[3].steps[find(g.ranks[3], StepKind::get, 0)].to,
              g.ranks[3].steps[find(g.ranks[3], StepKind::get, 1)].to);
    expect_fault(g, {"rank 3", "output[0,8) holds input[0,8) of rank 1", "of rank 0 should be there",
                     "written in round 1 by get from rank 1"});
}

TEST(verify_red, shifted_block) {
    auto s = samples::direct_alltoall(3, 8);
    s.ranks[0].steps[find(s.ranks[0], StepKind::put)].from = input(9);
    expect_fault(s, {"rank 1", "output[0,8) holds input[9,17) of rank 0"});
}

TEST(verify_red, reordered_combine) {
    auto s = samples::linear_reduce(4, 8, 8);
    std::swap(s.ranks[0].steps[find(s.ranks[0], StepKind::arrive, 0)].peer,
              s.ranks[0].steps[find(s.ranks[0], StepKind::arrive, 1)].peer);
    expect_fault(s, {"rank 0", "(((0+2)+1)+3)", "not in the order of the ranks", "round 3"});
}

TEST(verify_red, combine_before_instead_of_after) {
    auto s = samples::linear_reduce(3, 8, 8);
    s.ranks[0].steps[find(s.ranks[0], StepKind::arrive, 1)].order = Order::before;
    expect_fault(s, {"rank 0", "(2+(0+1))", "not in the order of the ranks"});
}

TEST(verify_red, missing_contribution) {
    auto s = samples::linear_reduce(3, 8, 8);
    samples::erase(s.ranks[0], find(s.ranks[0], StepKind::arrive, 0));
    samples::erase(s.ranks[1], find(s.ranks[1], StepKind::put));
    expect_fault(s, {"rank 0", "(0+2)", "contribution of rank 1 is missing"});
}

TEST(verify_red, contribution_counted_twice) {
    Sample s{samples::problem_of(Operation::reduce, 2, 8, 8), {}};
    s.problem.commutative = true;
    Builder root(s.problem), other(s.problem);
    root.copy(input(), output(), 8);
    root.next_round();
    root.arrive(1, output(), 8, Order::after);
    root.next_round();
    root.combine(input(), output(), 8, Order::after);
    other.put(0, input(), output(), 8);
    s.ranks = {root.finish(), other.finish()};
    expect_fault(s, {"rank 0", "((0+1)+0)", "contribution of rank 0 is there 2 times", "round 2"});
}

TEST(verify_red, term_that_doubles_itself) {
    Sample s{samples::problem_of(Operation::allreduce, 1, 8, 8), {}};
    Builder b(s.problem);
    const Address a = b.reserve(8);
    b.copy(input(), output(), 8);
    b.copy(input(), a, 8);
    b.next_round();
    for (int i = 0; i < 60; ++i) {
        b.combine(output(), a, 8, Order::after);
        b.next_round();
        b.combine(a, output(), 8, Order::after);
        b.next_round();
    }
    s.ranks = {b.finish()};
    expect_fault(s, {"rank 0", "input[0,8) of rank 0 should be there"});
}

TEST(verify_red, combine_of_different_positions) {
    auto s = samples::linear_reduce(2, 16, 8);
    auto& put = s.ranks[1].steps[find(s.ranks[1], StepKind::put)];
    auto& arrive = s.ranks[0].steps[find(s.ranks[0], StepKind::arrive)];
    put.bytes = arrive.bytes = 8;
    put.from = input(8);
    expect_fault(s, {"rank 0", "output[0,8) holds (0+1)", "different positions"});
}

TEST(verify_red, combine_of_half_an_element) {
    auto s = samples::linear_reduce(2, 16, 8);
    auto& put = s.ranks[1].steps[find(s.ranks[1], StepKind::put)];
    auto& arrive = s.ranks[0].steps[find(s.ranks[0], StepKind::arrive)];
    put.bytes = arrive.bytes = 12;
    expect_fault(s, {"rank 0, round 1", "not a multiple of an element (8 bytes)"});
    put.bytes = arrive.bytes = 8;
    put.to = arrive.to = output(4);
    put.from = input(4);
    expect_fault(s, {"rank 0, round 1", "in the middle of an element"});
}

TEST(verify_red, combine_without_an_operator) {
    auto s = samples::chain_broadcast(2, 8);
    s.ranks[1].steps[find(s.ranks[1], StepKind::arrive)].order = Order::after;
    expect_fault(s, {"rank 1, round 0", "no operator"});
}

TEST(verify_red, combine_and_copy_with_a_wrong_order) {
    auto s = samples::linear_reduce(2, 8, 8);
    s.ranks[0].steps[find(s.ranks[0], StepKind::copy)].order = Order::after;
    expect_fault(s, {"rank 0, round 0", "a copy overwrites"});
    s.ranks[0].steps[find(s.ranks[0], StepKind::copy)].kind = StepKind::combine;
    s.ranks[0].steps[find(s.ranks[0], StepKind::combine)].order = Order::overwrite;
    expect_fault(s, {"rank 0, round 0", "has no order"});
}

TEST(verify_red, different_bits_at_two_ranks) {
    // Both ranks add what the other sends to the right of their own.
    Sample s{samples::problem_of(Operation::allreduce, 2, 8, 8), {}};
    s.problem.commutative = true;
    for (int r = 0; r < 2; ++r) {
        Builder b(s.problem);
        b.copy(input(), output(), 8);
        b.next_round();
        b.put(1 - r, input(), output(), 8);
        b.arrive(1 - r, output(), 8, Order::after);
        s.ranks.push_back(b.finish());
    }
    expect_fault(s, {"rank 1", "(1+0)", "at rank 0 as (0+1)", "not the same bits", "round 1"});
}

TEST(verify_red, result_not_complete) {
    auto s = samples::offered_allgather(3, 8);
    samples::erase(s.ranks[2], find(s.ranks[2], StepKind::copy));
    expect_fault(s, {"rank 2", "output[16,24) is not complete", "byte 16"});
}

TEST(verify_red, output_that_receives_no_result) {
    auto s = samples::linear_reduce(2, 8, 8);
    Step step{};
    step.kind = StepKind::copy;
    step.from = input();
    step.to = output();
    step.bytes = 8;
    s.ranks[1].steps.push_back(step);
    s.ranks[1].round_ends.push_back(2);
    expect_fault(s, {"rank 1, round 1", "writes outside of the output's part that receives a result"});
}

TEST(verify_red, gap_between_blocks) {
    auto s = samples::offered_allgather(2, 8);
    s.problem.stride = 16;
    expect_fault(s, {"rank 1, round 0", "copy", "writes outside of the output"});
}

TEST(verify_red, exscan_leaves_rank_0_alone) {
    Sample s{samples::problem_of(Operation::exscan, 2, 8, 8), {}};
    Builder zero(s.problem), one(s.problem);
    zero.put(1, input(), output(), 8);
    one.arrive(0, output(), 8);
    s.ranks = {zero.finish(), one.finish()};
    EXPECT_EQ(joined(verify(s.ranks, s.problem)), "");
    Builder writes(s.problem);
    writes.put(1, input(), output(), 8);
    writes.copy(input(), output(), 8);
    s.ranks[0] = writes.finish();
    expect_fault(s, {"rank 0, round 0", "copy", "writes outside of the output"});
}

TEST(verify_red, scan_with_a_contribution_too_many) {
    Sample s{samples::problem_of(Operation::scan, 2, 8, 8), {}};
    for (int r = 0; r < 2; ++r) {
        Builder b(s.problem);
        b.copy(input(), output(), 8);
        b.next_round();
        b.put(1 - r, input(), output(), 8);
        b.arrive(1 - r, output(), 8, r == 1 ? Order::before : Order::after);
        s.ranks.push_back(b.finish());
    }
    expect_fault(s, {"rank 0", "holds (0+1)", "of rank 0 should be there"});
}

TEST(verify_red, input_is_written) {
    auto s = samples::direct_alltoall(2, 8);
    s.ranks[1].steps[find(s.ranks[1], StepKind::copy)].to = input();
    expect_fault(s, {"rank 1, round 0", "writes the input"});
}

TEST(verify_red, root_of_a_broadcast_has_one_memory) {
    auto s = samples::chain_broadcast(2, 8);
    Builder root(s.problem), other(s.problem);
    root.put(1, input(), output(), 8);
    root.next_round();
    root.arrive(1, output(), 8);
    other.arrive(0, output(), 8);
    other.next_round();
    other.put(0, output(), output(), 8);
    s.ranks = {root.finish(), other.finish()};
    expect_fault(s, {"rank 0, round 1", "root's output, which is its input"});
}

TEST(verify_red, scratch_too_small) {
    auto s = samples::slot_broadcast(8);
    s.ranks[1].scratch_bytes = 7;
    expect_fault(s, {"rank 1, round 0", "writes outside of the scratch"});
    expect_fault(s, {"rank 1, round 1", "reads outside of the scratch"});
}

TEST(verify_red, read_too_soon) {
    // The copy runs beside the arrive that brings its bytes.
    auto s = samples::slot_broadcast(8);
    samples::join_rounds(s.ranks[1], 0);
    expect_fault(s, {"rank 1, round 0", "arrive from rank 0", "in the same round", "copy"});
}

TEST(verify_red, forwarded_too_soon) {
    auto s = samples::chain_broadcast(3, 8);
    samples::join_rounds(s.ranks[1], 0);
    expect_fault(s, {"rank 1, round 0", "reads byte 0 of the output", "nobody has written"});
}

TEST(verify_red, offered_before_it_is_there) {
    // Rank 0 offers the result in the round that still combines the last contribution.
    auto s = samples::linear_allreduce(3, 8, 8);
    samples::join_rounds(s.ranks[0], 2);
    expect_fault(s, {"rank 0, round 2", "arrive from rank 2", "offered since round 2"});
}

TEST(verify_red, offered_range_written_later) {
    auto s = samples::offered_allgather(2, 8);
    auto& steps = s.ranks[0].steps;
    // Offers its output block, not its input, and then gets the other block over it.
    steps[find(s.ranks[0], StepKind::offer)].from = output();
    s.ranks[1].steps[find(s.ranks[1], StepKind::get)].from = output();
    expect_fault(s, {"rank 0, round 0", "offered since round 0", "copy"});
    steps[find(s.ranks[0], StepKind::get)].to = output();
    expect_fault(s, {"rank 0, round 1", "get from rank 1", "offered since round 0"});
}

TEST(verify_red, put_over_an_offered_range) {
    Sample s{samples::problem_of(Operation::alltoall, 2, 8), {}};
    for (int r = 0; r < 2; ++r) {
        const auto block = [](int i) { return 8 * static_cast<std::size_t>(i); };
        Builder b(s.problem);
        const Address a = b.reserve(8);
        b.copy(input(block(1 - r)), a, 8);
        b.copy(input(block(r)), output(block(r)), 8);
        b.next_round();
        b.offer_to(1 - r, a, 8);
        b.next_round();
        b.get(1 - r, 0, a, output(block(1 - r)), 8);
        b.next_round();
        b.put(1 - r, input(), a, 8);
        b.arrive(1 - r, a, 8);
        s.ranks.push_back(b.finish());
    }
    expect_fault(s, {"rank 1, round 3", "arrive from rank 0", "offered since round 1",
                     "rank 0 puts them in its round 3"});
}

TEST(verify_red, put_over_a_range_in_use) {
    // The second half is put without waiting for the signal that the slot is free.
    auto s = samples::slot_broadcast(8);
    auto& zero = s.ranks[0];
    // Rank 0 waits for the signal beside its second put instead of before it.
    samples::join_rounds(zero, 1);
    expect_fault(s, {"rank 1, round 1", "copy", "arrive from rank 0",
                     "rank 0 puts them in its round 1, which does not wait"});
    // And two puts may not be in flight to one place.
    expect_fault(s, {"rank 1, round 0", "arrive from rank 0 (scratch[0,8)) and in round 3 arrive"});
}

TEST(verify_red, two_combines_into_one_range_in_one_round) {
    auto s = samples::linear_reduce(3, 8, 8);
    samples::join_rounds(s.ranks[0], 1);
    expect_fault(s, {"rank 0, round 1", "arrive from rank 1", "in the same round",
                     "arrive from rank 2", "bytes [0,8)"});
}

TEST(verify_red, copy_onto_itself) {
    auto s = samples::slot_broadcast(8);
    auto& copy = s.ranks[1].steps[find(s.ranks[1], StepKind::copy, 1)];
    s.ranks[1].scratch_bytes = 16;
    copy.to = scratch(4);
    expect_fault(s, {"rank 1, round 4", "copy", "reads and writes the same bytes"});
}

TEST(verify_red, scratch_read_before_it_is_written) {
    auto s = samples::slot_broadcast(8);
    s.ranks[1].scratch_bytes = 64;
    s.ranks[1].steps[find(s.ranks[1], StepKind::copy)].from = scratch(32);
    expect_fault(s, {"rank 1, round 1", "reads byte 32 of the scratch", "nobody has written"});
}

TEST(verify_red, get_outside_of_the_offer) {
    auto s = samples::offered_allgather(3, 8);
    s.ranks[0].steps[find(s.ranks[0], StepKind::offer)].bytes = 4;
    expect_fault(s, {"rank 1, round 1", "get from rank 0", "outside of the offer", "rank 0, round 0"});
    auto other_buffer = samples::offered_allgather(3, 8);
    other_buffer.ranks[1].steps[find(other_buffer.ranks[1], StepKind::get)].from = output();
    expect_fault(other_buffer, {"rank 1, round 1", "outside of the offer"});
}

TEST(verify_red, get_by_a_rank_that_is_no_reader) {
    auto s = samples::offered_allgather(3, 8);
    s.ranks[0].steps[find(s.ranks[0], StepKind::offer)].readers = 1;
    expect_fault(s, {"rank 2, round 1", "get from rank 0", "not among the readers"});
}

TEST(verify_red, reader_named_twice) {
    auto s = samples::offered_allgather(3, 8);
    s.ranks[0].readers[1] = s.ranks[0].readers[0];
    expect_fault(s, {"rank 0, round 0", "named twice"});
}

TEST(verify_red, reader_that_is_no_other_rank) {
    for (const int reader : {0, 3, -1}) {
        auto s = samples::offered_allgather(3, 8);
        s.ranks[0].readers.push_back(reader);
        s.ranks[0].steps[find(s.ranks[0], StepKind::offer)].readers = 3;
        expect_fault(s, {"rank 0, round 0", "names rank " + std::to_string(reader) + " as a reader"});
    }
}

TEST(verify_red, deadlock_by_crossed_waiting) {
    Sample s{samples::problem_of(Operation::barrier, 3, 0), {}};
    for (int r = 0; r < 3; ++r) {
        Builder b(s.problem);
        b.arrive((r + 2) % 3, {}, 0);
        b.next_round();
        b.put((r + 1) % 3, {}, {}, 0);
        s.ranks.push_back(b.finish());
    }
    expect_fault(s, {"deadlock", "rank 0, round 0", "arrive from rank 2",
                     "waits for the put in round 1 of rank 2"});
    EXPECT_EQ(verify(s.ranks, s.problem).size(), 3u);  // the circle, and nobody else
}

TEST(verify_red, deadlock_beside_a_put_that_is_over) {
    // Not the put, which nobody has taken: what waits is the arrive behind it.
    Sample s{samples::problem_of(Operation::barrier, 3, 0), {}};
    for (int r = 0; r < 3; ++r) {
        Builder b(s.problem);
        const int next = (r + 1) % 3, before = (r + 2) % 3;
        b.put(next, {}, {}, 0);
        b.arrive(next, {}, 0);
        b.next_round();
        b.put(before, {}, {}, 0);
        b.arrive(before, {}, 0);
        s.ranks.push_back(b.finish());
    }
    expect_fault(s, {"deadlock", "rank 0, round 0", "arrive from rank 1", "waits for the put in round 1 of rank 1"},
                 {.puts = Puts::one_ahead});
}

TEST(verify_red, deadlock_by_a_get_before_the_own_offer) {
    auto s = samples::offered_allgather(2, 8);
    for (Schedule& schedule : s.ranks) {
        const Step get = schedule.steps.back();
        schedule.steps.pop_back();
        schedule.steps.insert(schedule.steps.begin(), get);
        schedule.round_ends = {1, 3};
    }
    expect_fault(s, {"deadlock", "rank 0, round 0", "waits for the offer in round 1 of rank 1"});
}

TEST(verify_red, deadlock_by_signals_for_which_there_is_no_cell) {
    // Rank 1 takes none of them before rank 2 tells it to, to whom rank 0 comes last: with four cells the
    // fifth signal waits for the first to be taken, and what follows waits behind it.
    Sample s{samples::problem_of(Operation::barrier, 3, 0), {}};
    Builder zero(s.problem), one(s.problem), two(s.problem);
    zero.put(1, {}, {}, 0);
    zero.next_round();
    for (int i = 0; i < 4; ++i) zero.put(1, {}, {}, 0);
    zero.put(2, {}, {}, 0);
    one.arrive(2, {}, 0);
    one.next_round();
    for (int i = 0; i < 5; ++i) one.arrive(0, {}, 0);
    two.arrive(0, {}, 0);
    two.next_round();
    two.put(1, {}, {}, 0);
    s.ranks = {zero.finish(), one.finish(), two.finish()};
    expect_fault(s, {"deadlock", "rank 0, round 0", "waits for the arrive in round 1 of rank 1"});
}

TEST(verify_red, deadlock_by_a_put_that_needs_the_one_before_taken) {
    // Rank 0 puts twice before it signals, rank 1 takes the first after the signal.
    Sample s{samples::problem_of(Operation::barrier, 2, 0), {}};
    Builder zero(s.problem), one(s.problem);
    zero.put(1, {}, {}, 0);
    zero.next_round();
    zero.put(1, {}, {}, 0);
    zero.next_round();
    zero.offer_to(1, {}, 0);
    zero.next_round();
    zero.arrive(1, {}, 0);
    one.get(0, 0, {}, {}, 0);
    one.next_round();
    one.arrive(0, {}, 0);
    one.next_round();
    one.arrive(0, {}, 0);
    one.put(0, {}, {}, 0);
    s.ranks = {zero.finish(), one.finish()};
    expect_fault(s, {"deadlock", "rank 0, round 1", "waits for the arrive before it, in round 1"},
                 {.puts = Puts::one_ahead});
}

TEST(verify_red, barrier_that_one_rank_leaves_too_soon) {
    auto s = samples::signal_barrier(3);
    samples::erase(s.ranks[0], find(s.ranks[0], StepKind::arrive, 1));
    samples::erase(s.ranks[2], find(s.ranks[2], StepKind::put, 0));
    expect_fault(s, {"rank 0", "after round 1", "without knowing that rank 2"});
}

TEST(verify_red, data_of_the_call_before) {
    // Rank 1 delivers what the scratch holds before it has arrived: from the second call on
    // that is the data of the call before.  Found in the first call already.
    auto s = samples::slot_broadcast(8);
    auto& one = s.ranks[1];
    std::swap(one.steps[find(one, StepKind::arrive)], one.steps[find(one, StepKind::copy)]);
    expect_fault(s, {"rank 1, round 0", "copy", "reads byte 0 of the scratch"}, {.calls = 3});
}

TEST(verify_red, long_lists_are_cut) {
    auto s = samples::signal_barrier(10);
    for (Schedule& r : s.ranks) samples::erase(r, find(r, StepKind::put));
    const auto faults = verify(s.ranks, s.problem, {.most = 3});
    ASSERT_EQ(faults.size(), 4u);
    EXPECT_EQ(faults[3], "... and 7 more");
}

}  // namespace
}  // namespace fanlight
