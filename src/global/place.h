// Where this process runs, as the system tells it.
#pragma once

#include "global/runtime.h"

namespace fanlight::global {

// All but the node's number.
Place own_place();

}  // namespace fanlight::global
