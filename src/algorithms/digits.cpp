#include "algorithms/digits.h"

namespace fanlight {

Digits::Digits(const Problem& problem) : size_(problem.size) {
    const int degree = degree_of(problem);
    for (const int power : powers(problem)) {
        std::vector<Message>& round = rounds_.emplace_back();
        for (const int distance : multiples(problem, power)) {
            Message& m = round.emplace_back(Message{power, distance, {}});
            for (int i = distance; i < size_; ++i)
                if (i / power % degree == distance / power) m.blocks.push_back(i);
        }
    }
}

}  // namespace fanlight
