// Fanlight's variables among the MPI library's, as a tool sees them by MPI_T: from before MPI_Init on, and on rank 0 more of
// them than on the others, since nothing that is counted for a tool may be agreed on.
#include "../bad_cases/case.h"

#define OK(call) REQUIRE((call) == MPI_SUCCESS)

static int controls(void) {
    int n = 0;
    OK(MPI_T_cvar_get_num(&n));
    return n;
}
static int performances(void) {
    int n = 0;
    OK(MPI_T_pvar_get_num(&n));
    return n;
}
static int control(const char *name) {
    int i = -1;
    OK(MPI_T_cvar_get_index(name, &i));
    return i;
}
static int control_name(int i, char name[256], MPI_Datatype *type, int *scope) {
    int length = 256, verbosity, bind, description_length = 0;
    return MPI_T_cvar_get_info(i, name, &length, &verbosity, type, NULL, NULL, &description_length, &bind, scope);
}
static int performance_name(int i, char name[256], int *class, MPI_Datatype *type) {
    int length = 256, verbosity, description_length = 0, bind, readonly, continuous, atomic;
    return MPI_T_pvar_get_info(i, name, &length, &verbosity, class, type, NULL, NULL, &description_length, &bind, &readonly, &continuous, &atomic);
}

// By a handle that lives no longer.
static int write_control(const char *name, const void *value) {
    MPI_T_cvar_handle handle;
    int count;
    OK(MPI_T_cvar_handle_alloc(control(name), NULL, &handle, &count));
    const int error = MPI_T_cvar_write(handle, value);
    OK(MPI_T_cvar_handle_free(&handle));
    REQUIRE(handle == MPI_T_CVAR_HANDLE_NULL);
    return error;
}
static void read_control(const char *name, void *value, int expected_count) {
    MPI_T_cvar_handle handle;
    int count = 0;
    OK(MPI_T_cvar_handle_alloc(control(name), NULL, &handle, &count));
    REQUIRE(count == expected_count);
    OK(MPI_T_cvar_read(handle, value));
    OK(MPI_T_cvar_handle_free(&handle));
}

// One of the library's, here and by the library's own functions and number.
static void compare_with_the_library(const char *name, int number) {
    int theirs = -1, count = 0, their_count = 0;
    OK(PMPI_T_cvar_get_index(name, &theirs));
    MPI_T_cvar_handle handle, their_handle;
    const int error = MPI_T_cvar_handle_alloc(number, NULL, &handle, &count);
    REQUIRE(PMPI_T_cvar_handle_alloc(theirs, NULL, &their_handle, &their_count) == error && count == their_count);
    if (error != MPI_SUCCESS) return;
    static char value[1 << 16], their_value[1 << 16];
    if (count < 1 << 12) {
        memset(value, 0, sizeof value), memset(their_value, 0, sizeof their_value);
        REQUIRE(MPI_T_cvar_read(handle, value) == PMPI_T_cvar_read(their_handle, their_value));
        REQUIRE(memcmp(value, their_value, sizeof value) == 0);
    }
    OK(MPI_T_cvar_handle_free(&handle));
    OK(PMPI_T_cvar_handle_free(&their_handle));
}

// Every variable that has a name is found by it, at its own number.
static void look_at_all(void) {
    char name[256], again[256];
    int number, class, scope, ours = 0;
    MPI_Datatype type;
    for (int i = 0; i < controls(); ++i) {
        if (control_name(i, name, &type, &scope) != MPI_SUCCESS || MPI_T_cvar_get_index(name, &number) != MPI_SUCCESS) continue;
        OK(control_name(number, again, &type, &scope));
        REQUIRE(strcmp(name, again) == 0);
        if (strncmp(name, "FANLIGHT", 8) == 0) {
            REQUIRE(number == i);
            ++ours;
        } else
            compare_with_the_library(name, number);
    }
    REQUIRE(ours >= 20);
    ours = 0;
    for (int i = 0; i < performances(); ++i) {
        if (performance_name(i, name, &class, &type) != MPI_SUCCESS || MPI_T_pvar_get_index(name, class, &number) != MPI_SUCCESS) continue;
        OK(performance_name(number, again, &class, &type));
        REQUIRE(strcmp(name, again) == 0);
        if (strncmp(name, "fanlight_", 9) == 0) {
            REQUIRE(number == i);
            ++ours;
        }
    }
    REQUIRE(ours > 100);
    REQUIRE(MPI_T_cvar_get_index("FANLIGHT_NO_SUCH", &number) != MPI_SUCCESS);
}

static void look_at_the_category(void) {
    int category = -1, n = 0, has_controls = 0, has_performances = 0, inner = -1, *indices;
    char name[256];
    int length = 5, description_length = 0, scope;
    MPI_Datatype type;
    OK(MPI_T_category_get_num(&n));
    OK(MPI_T_category_get_index("fanlight", &category));
    REQUIRE(category >= 0 && category < n);
    OK(MPI_T_category_get_info(category, name, &length, NULL, &description_length, &has_controls, &has_performances, &inner));
    REQUIRE(strcmp(name, "fanl") == 0 && length == 9 && description_length > 20);  // cut, and how long it is
    REQUIRE(has_controls >= 20 && has_performances > 100 && inner == 0);
    indices = malloc((size_t)(has_controls + has_performances) * sizeof(int));
    OK(MPI_T_category_get_cvars(category, has_controls, indices));
    for (int i = 0; i < has_controls; ++i) {
        OK(control_name(indices[i], name, &type, &scope));
        REQUIRE(strncmp(name, "FANLIGHT", 8) == 0);
    }
    OK(MPI_T_category_get_pvars(category, has_performances, indices));
    REQUIRE(indices[has_performances - 1] == indices[0] + has_performances - 1);
    free(indices);
    // What is in the library's own is not ours.
    for (int c = 0; c < n; ++c) {
        length = 256, description_length = 0;
        if (c == category || MPI_T_category_get_info(c, name, &length, NULL, &description_length, &has_controls, &has_performances, &inner) != MPI_SUCCESS)
            continue;
        indices = malloc((size_t)(has_controls + 1) * sizeof(int));
        OK(MPI_T_category_get_cvars(c, has_controls, indices));
        for (int i = 0; i < has_controls; ++i)
            if (control_name(indices[i], name, &type, &scope) == MPI_SUCCESS) REQUIRE(strncmp(name, "FANLIGHT", 8) != 0);
        free(indices);
    }
}

struct Variable {
    MPI_T_pvar_handle handle;
    int class;
};
static struct Variable performance(MPI_T_pvar_session session, const char *name, int class) {
    struct Variable v = {MPI_T_PVAR_HANDLE_NULL, class};
    int i = -1, count = 0;
    OK(MPI_T_pvar_get_index(name, class, &i));
    OK(MPI_T_pvar_handle_alloc(session, i, NULL, &v.handle, &count));
    REQUIRE(count == 1);
    return v;
}
static double value(MPI_T_pvar_session session, struct Variable v) {
    union { unsigned long long number; double seconds; } read = {0};
    OK(MPI_T_pvar_read(session, v.handle, &read));
    return v.class == MPI_T_PVAR_CLASS_TIMER ? read.seconds : (double)read.number;
}
// Of MPICH 5.0.2 the library with the standard ABI takes that ABI's MPI_T_PVAR_ALL_HANDLES for a handle, and crashes.
#if defined(MPI_ABI)
enum { takes_all_handles = 0 };
#else
enum { takes_all_handles = 1 };
#endif
static void each(int (*what)(MPI_T_pvar_session, MPI_T_pvar_handle), MPI_T_pvar_session session, const struct Variable *variables, int n) {
    if (takes_all_handles) OK(what(session, MPI_T_PVAR_ALL_HANDLES));
    else
        for (int i = 0; i < n; ++i) OK(what(session, variables[i].handle));
}
static void calls(int n) {
    for (int i = 0; i < n; ++i) checked_allreduce(MPI_COMM_WORLD, i, 2);
}

int main(int argc, char **argv) {
    int provided, number, flag;
    char text[4096];
    REQUIRE(MPI_T_pvar_get_num(&number) != MPI_SUCCESS);  // MPI_T is not initialized
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    const int before = controls(), start_after = control("FANLIGHT_START_AFTER");
    look_at_all();

    // Settings are written before they are read.
    const MPI_Count three = 3;
    MPI_Count read = -1;
    unsigned long bytes = 0;
    double seconds = 0;
    OK(write_control("FANLIGHT_START_AFTER", &three));
    read_control("FANLIGHT_START_AFTER", &read, 1);
    REQUIRE(read == 3);
    read_control("FANLIGHT_SINGLE_COPY_FROM", &bytes, 1);
    REQUIRE(bytes == 0);
    bytes = 40000, seconds = 2.5, flag = 0;
    OK(write_control("FANLIGHT_SINGLE_COPY_FROM", &bytes));
    OK(write_control("FANLIGHT_WAITING_REPORT", &seconds));
    OK(write_control("FANLIGHT_VERBOSE", &flag));
    REQUIRE(write_control("FANLIGHT_WAIT", "standing") == MPI_T_ERR_INVALID);
    read_control("FANLIGHT_WAIT", text, sizeof text);
    REQUIRE(strcmp(text, "auto") == 0);
    OK(write_control("FANLIGHT_WAIT", "yield"));
    // But for those that were read as the program was started.
    MPI_Datatype type;
    int scope = -1;
    OK(control_name(control("FANLIGHT_HEAP"), text, &type, &scope));
    REQUIRE(scope == MPI_T_SCOPE_CONSTANT && write_control("FANLIGHT_HEAP", "off") == MPI_T_ERR_CVAR_SET_NEVER);
    REQUIRE(write_control("FANLIGHT_HEAP_FROM", &bytes) == MPI_T_ERR_CVAR_SET_NEVER);
    REQUIRE(write_control("FANLIGHT_LIB_DIR", "/") == MPI_T_ERR_CVAR_SET_NEVER);

    begin(&argc, &argv);
    REQUIRE(controls() >= before && control("FANLIGHT_START_AFTER") == start_after);
    look_at_all();
    look_at_the_category();

    MPI_T_pvar_session session, other;
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_session_create(&other));
    const struct Variable served = performance(session, "fanlight_served_calls_allreduce", MPI_T_PVAR_CLASS_COUNTER),
                          passed = performance(session, "fanlight_passed_calls", MPI_T_PVAR_CLASS_COUNTER),
                          first = performance(session, "fanlight_passed_calls_reason_few_calls", MPI_T_PVAR_CLASS_COUNTER),
                          moved = performance(session, "fanlight_served_bytes", MPI_T_PVAR_CLASS_AGGREGATE),
                          took = performance(session, "fanlight_served_time_allreduce", MPI_T_PVAR_CLASS_TIMER),
                          all[] = {served, passed, first, moved, took}, elsewhere = performance(other, "fanlight_served_calls", MPI_T_PVAR_CLASS_COUNTER);
    int index;
    OK(MPI_T_pvar_get_index("fanlight_served_calls", MPI_T_PVAR_CLASS_COUNTER, &index));
    REQUIRE(MPI_T_pvar_get_index("fanlight_served_calls", MPI_T_PVAR_CLASS_TIMER, &number) != MPI_SUCCESS);
    REQUIRE(MPI_T_pvar_read(other, served.handle, text) != MPI_SUCCESS);
    const int counts = rank == 0 || argc < 2;  // the others count for the report alone, if at all
    if (counts) each(MPI_T_pvar_start, session, all, 5);
    calls(10);
    REQUIRE(value(session, served) == counts * 7);
    REQUIRE(value(session, passed) == counts * 3 && value(session, first) == counts * 3);
    REQUIRE(value(session, moved) == counts * 7 * 8);
    REQUIRE(counts ? value(session, took) > 0 && value(session, took) < 10 : value(session, took) == 0);
    REQUIRE(value(other, elsewhere) == 0);  // nobody has started it

    if (counts) OK(MPI_T_pvar_stop(session, served.handle));
    calls(5);
    REQUIRE(value(session, served) == counts * 7 && value(session, moved) == counts * 12 * 8);
    if (counts) {
        unsigned long long some = 100;
        OK(MPI_T_pvar_start(session, served.handle));
        OK(MPI_T_pvar_write(session, served.handle, &some));
    }
    calls(2);
    REQUIRE(value(session, served) == counts * 102);
    unsigned long long last = 1;
    OK(MPI_T_pvar_readreset(session, served.handle, &last));
    REQUIRE(last == (unsigned long long)(counts * 102) && value(session, served) == 0);
    calls(1);
    each(MPI_T_pvar_reset, session, all, 5);
    calls(1);
    REQUIRE(value(session, served) == counts && value(session, moved) == counts * 8);

    // Too late; the first call has read it.
    REQUIRE(write_control("FANLIGHT_START_AFTER", &three) == MPI_T_ERR_CVAR_SET_NEVER);
    read_control("FANLIGHT_WAITING_REPORT", &seconds, 1);
    REQUIRE(seconds == 2.5);

    struct Variable gone = served;
    OK(MPI_T_pvar_handle_free(session, &gone.handle));
    REQUIRE(gone.handle == MPI_T_PVAR_HANDLE_NULL);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_pvar_session_free(&other));
    calls(1);
    OK(MPI_T_finalize());
    return done();
}
