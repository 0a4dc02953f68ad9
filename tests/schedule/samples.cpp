#include "samples.h"

#include <stdexcept>

#include "schedule/all_ranks.h"
#include "schedule/builder.h"

namespace fanlight::samples {
namespace {

template <class Write>
Sample sample(Problem problem, Write write) {
    Sample result{problem, {}};
    for (int r = 0; r < problem.size; ++r) {
        problem.rank = r;
        Builder b(problem);
        write(b, r);
        result.ranks.push_back(b.finish());
    }
    return result;
}

void write_linear_reduce(Builder& b, int rank, const Problem& p) {
    if (rank > 0) {
        b.put(0, input(), scratch(), p.bytes);
        b.next_round();
        return;
    }
    b.copy(input(), output(), p.bytes);
    b.reserve(p.bytes);
    b.next_round();
    for (int r = 1; r < p.size; ++r) {
        b.arrive(r, output(), p.bytes, Order::after);
        b.next_round();
    }
}

// A put that is combined names the place that it is combined into.
void aim_at_output(Sample& sample) {
    for (Schedule& s : sample.ranks)
        for (Step& step : s.steps)
            if (step.kind == StepKind::put) step.to = output();
}

}  // namespace

Problem problem_of(Operation operation, int size, std::size_t bytes, std::size_t element) {
    Problem p;
    p.operation = operation;
    p.size = size;
    p.bytes = bytes;
    p.element = element;
    p.commutative = false;
    return p;
}

Sample chain_broadcast(int size, std::size_t bytes) {
    return sample(problem_of(Operation::bcast, size, bytes), [&](Builder& b, int r) {
        if (r == 0)
            b.copy(input(), output(), bytes);
        else
            b.arrive(r - 1, output(), bytes);
        b.next_round();
        if (r + 1 < size) b.put(r + 1, r == 0 ? input() : output(), output(), bytes);
    });
}

Sample slot_broadcast(std::size_t half) {
    return sample(problem_of(Operation::bcast, 2, 2 * half), [&](Builder& b, int r) {
        if (r == 0) {
            b.copy(input(), output(), 2 * half);
            b.put(1, input(), scratch(), half);
            b.next_round();
            b.arrive(1, {}, 0);
            b.next_round();
            b.put(1, input(half), scratch(), half);
        } else {
            const Address slot = b.reserve(half);
            b.arrive(0, slot, half);
            b.next_round();
            b.copy(slot, output(), half);
            b.next_round();
            b.put(0, {}, {}, 0);
            b.next_round();
            b.arrive(0, slot, half);
            b.next_round();
            b.copy(slot, output(half), half);
        }
    });
}

Sample offered_allgather(int size, std::size_t bytes) {
    return sample(problem_of(Operation::allgather, size, bytes), [&](Builder& b, int r) {
        b.offer_to_all_others(input(), bytes);
        b.copy(input(), output(static_cast<std::size_t>(r) * bytes), bytes);
        b.next_round();
        for (int p = 0; p < size; ++p)
            if (p != r) b.get(p, 0, input(), output(static_cast<std::size_t>(p) * bytes), bytes);
    });
}

Sample linear_reduce(int size, std::size_t bytes, std::size_t element) {
    const Problem p = problem_of(Operation::reduce, size, bytes, element);
    Sample result = sample(p, [&](Builder& b, int r) { write_linear_reduce(b, r, p); });
    aim_at_output(result);
    return result;
}

Sample linear_allreduce(int size, std::size_t bytes, std::size_t element) {
    const Problem p = problem_of(Operation::allreduce, size, bytes, element);
    Sample result = sample(p, [&](Builder& b, int r) {
        write_linear_reduce(b, r, p);
        if (r == 0)
            b.offer_to_all_others(output(), bytes);
        else
            b.get(0, 0, output(), output(), bytes);
    });
    aim_at_output(result);
    return result;
}

Sample direct_alltoall(int size, std::size_t bytes) {
    return sample(problem_of(Operation::alltoall, size, bytes), [&](Builder& b, int r) {
        const auto block = [&](int i) { return static_cast<std::size_t>(i) * bytes; };
        b.copy(input(block(r)), output(block(r)), bytes);
        for (int p = 0; p < size; ++p)
            if (p != r) b.put(p, input(block(p)), output(block(r)), bytes);
        for (int p = 0; p < size; ++p)
            if (p != r) b.arrive(p, output(block(p)), bytes);
    });
}

Sample direct_alltoallv(int size) {
    Problem whole = problem_of(Operation::alltoallv, size, 0);
    std::vector<std::size_t> lengths;
    for (int i = 0; i < size * size; ++i) lengths.push_back(8 * static_cast<std::size_t>(1 + i % 3));
    set_exchange(whole, lengths, 4);
    return sample(whole, [&](Builder& b, int r) {
        const Problem own = problem_at(whole, r);
        for (int p = 0; p < size; ++p) {
            const Block out = own.send(p);
            const Block in = own.block(p);
            if (p == r) {
                b.copy(input(out.offset), output(in.offset), out.bytes);
            } else {
                b.put(p, input(out.offset), unknown(), out.bytes);
                b.arrive(p, output(in.offset), in.bytes);
            }
        }
    });
}

Sample signal_barrier(int size) {
    return sample(problem_of(Operation::barrier, size, 0), [&](Builder& b, int r) {
        for (int p = 0; p < size; ++p)
            if (p != r) b.put(p, {}, {}, 0);
        for (int p = 0; p < size; ++p)
            if (p != r) b.arrive(p, {}, 0);
    });
}

std::size_t find(const Schedule& s, StepKind kind, int n) {
    for (std::size_t i = 0; i < s.steps.size(); ++i)
        if (s.steps[i].kind == kind && n-- == 0) return i;
    throw std::out_of_range("this sample has not so many steps of that kind");
}

void erase(Schedule& s, std::size_t step) {
    s.steps.erase(s.steps.begin() + static_cast<std::ptrdiff_t>(step));
    for (auto& end : s.round_ends)
        if (end > step) --end;
}

void join_rounds(Schedule& s, std::size_t first) {
    s.round_ends.erase(s.round_ends.begin() + static_cast<std::ptrdiff_t>(first));
}

}  // namespace fanlight::samples
