// What scan and exscan share.
#pragma once

#include "schedule/builder.h"

namespace fanlight {

// In each step the rank's running value goes to rank r + d, for d = first, 2 first, 4 first ..., and what
// comes from rank r - d is combined with it from the left.  Before it the value of rank r covers d
// operands, those of rank r + d the d behind them, so that operands never overlap and rank order is kept.  Ranks below `lowest` take no part; rank `lowest` has nothing to receive.
// `value` is this rank's running value; wherever something is received it is output().
void double_prefixes(Builder&, const Problem&, int lowest, int first, Address value);

}  // namespace fanlight
