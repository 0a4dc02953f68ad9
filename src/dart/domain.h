// Trees of locality domains.  They are C's: arrays by malloc, which C programs may look at.
#pragma once

#include <string>
#include <vector>

#include "fanlight/dart.h"

namespace fanlight::dart {

using Domain = dart_domain_locality_t;

Domain* new_domain(dart_locality_scope_t scope = DART_LOCALITY_SCOPE_UNDEFINED);
void clear(Domain&);  // its subtree and arrays, not itself
void destroy(Domain*);
void insert(Domain& parent, Domain* child, int index);
void set_units(Domain&, const std::vector<dart_unit_t>&);

// After a change: levels and indices follow from the places, and the units, nodes and cores of a
// domain with children from theirs.
void recount(Domain& root);
// So do the tags.
void renew(Domain& root);

// Whether it is the whole of a team's (locality.cpp).
bool is_of_team(const Domain*);
void forget_localities();

Domain* find(Domain& root, const std::string& tag);
std::vector<Domain*> at_scope(Domain& root, dart_locality_scope_t);

}  // namespace fanlight::dart
