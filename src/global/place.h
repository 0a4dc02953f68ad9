// Where this process runs, according to the system.
#pragma once

#include "global/runtime.h"

namespace fanlight::global {

// All but the node's number.
Place own_place();

}  // namespace fanlight::global
