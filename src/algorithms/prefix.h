// What scan and exscan share.
#pragma once

#include "schedule/builder.h"

namespace fanlight {

// In step k the rank's running value goes to rank r + 2^k, for k = first_step, ..., and what
// comes from rank r - 2^k is combined with it from the left.  Before step k the value of rank
// r covers the 2^k operands up to its own, so that operands never overlap and rank order is
// kept.  Ranks below `lowest` take no part; rank `lowest` has nothing to receive.
// `value` is this rank's running value; wherever something is received it is output().
void double_prefixes(Builder&, const Problem&, int lowest, int first_step, Address value);

// Through the levels of the topology: domains' sums go up to their first ranks, and what lies before each
// domain comes down, where it is combined with what lies before each part of the domain inside.
Schedule prefixes_by_levels(const Problem&);

}  // namespace fanlight
