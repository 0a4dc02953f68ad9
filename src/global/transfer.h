// Moving bytes between this process's memory and a segment.
#pragma once

#include "global/error.h"
#include "global/layout.h"
#include "global/segment.h"

namespace fanlight::global {

enum class Direction { put, get };
enum class Completion { blocking, flushed_later, handle };

// `local` is read by a put and written by a get.  handle: only with Completion::handle.
fanlight_code transfer(Direction, Completion, fanlight_pointer, const Layout& remote, void* local,
                       const Layout& local_layout, fanlight_handle* handle = nullptr);

}  // namespace fanlight::global
