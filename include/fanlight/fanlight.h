// Fanlight's own interface.
#ifndef FANLIGHT_FANLIGHT_H
#define FANLIGHT_FANLIGHT_H

#include "fanlight/global.h"

#endif
