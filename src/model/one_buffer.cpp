#include "model/one_buffer.h"

namespace fanlight {

std::vector<Schedule> in_one_buffer(std::vector<Schedule> schedules) {
    for (Schedule& schedule : schedules)
        for (Step& s : schedule.steps)
            for (Address* const a : {&s.from, &s.to})
                if (a->buffer == Buffer::input) a->buffer = Buffer::output;
    return schedules;
}

}  // namespace fanlight
