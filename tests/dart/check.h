// What the tests of global memory check with: a failure says where and ends the job.
#ifndef FANLIGHT_TESTS_DART_CHECK_H
#define FANLIGHT_TESTS_DART_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_unit = -1;

#define CHECK(condition)                                                                        \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            fprintf(stderr, "%s:%d: unit %d: %s\n", __FILE__, __LINE__, check_unit, #condition); \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                       \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

// A call that must succeed; its message is said when it does not.
#define DO(call)                                                                                \
    do {                                                                                        \
        if ((call) != FANLIGHT_OK) {                                                            \
            fprintf(stderr, "%s:%d: unit %d: %s: %s\n", __FILE__, __LINE__, check_unit, #call,  \
                    fanlight_message());                                                        \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                       \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

// A misuse: this code, and a sentence.
#define WRONG(code, call)                                                                       \
    do {                                                                                        \
        CHECK((call) == (code));                                                                \
        CHECK(strlen(fanlight_message()) > 10);                                                 \
    } while (0)

#endif
