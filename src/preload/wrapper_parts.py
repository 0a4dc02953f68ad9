"""What a wrapper does besides passing the call on, as lines of C++: the same for C's and Fortran's."""

# What comes before the MPI library's function.
FIRST = {"finalize": "fanlight::finalize();", "tested": "fanlight::progress_before_test();",
         "polled": "fanlight::requests::poll();", "freed": "fanlight::requests::freed(*request);",
         "window_gone": "fanlight::shared_windows::freed(*win);",
         "block_made": "if (fanlight::blocks_of_memory::allocate(size, info, baseptr)) return MPI_SUCCESS;",
         "block_gone": "if (fanlight::blocks_of_memory::release(base)) return MPI_SUCCESS;"}

# What is there while it runs, from C's handle.
DURING = {"comm_gone": "const fanlight::communicators::Freeing freeing(HANDLE);",
          "type_gone": "const fanlight::Dying<MPI_Datatype> dying(HANDLE);"}
# A null pointer is the MPI library's to judge.
NULLS = {"comm_gone": "MPI_COMM_NULL", "type_gone": "MPI_DATATYPE_NULL"}

# What comes after it, where it has succeeded.
AFTER = {"window_made": "fanlight::window_created();", "window_gone": "fanlight::window_freed();",
         "window_allocated": "fanlight::window_created(), fanlight::shared_windows::allocated(comm, *win);",
         **{f"{what}_made": f"fanlight::made_with_topology(*COMM, MPI_{topology});"
            for what, topology in (("group", "UNDEFINED"), ("cart", "CART"), ("graph", "GRAPH"), ("dist_graph", "DIST_GRAPH"))}}

# What completes in the library from the MPI library is asked for before that; COUNT and REQUESTS are the function's own.
HAND_OVER = "fanlight::requests::hand_over(COUNT, REQUESTS);"
IN_LIBRARY = {"Wait": "if (fanlight::requests::wait_in_library(*request, status)) return MPI_SUCCESS;",
         "Test": "if (fanlight::requests::test_in_library(*request, flag, status)) return MPI_SUCCESS;",
         "Request_get_status": "if (fanlight::requests::get_status(request, flag, status)) return MPI_SUCCESS;",
         "Request_get_status_all": "if (!fanlight::requests::finished_in_library(COUNT, REQUESTS)) return *flag = 0, MPI_SUCCESS;",
         "Waitall": "fanlight::requests::finish_in_library(COUNT, REQUESTS);",
         "Testall": """if (!fanlight::requests::finished_in_library(COUNT, REQUESTS)) return *flag = 0, MPI_SUCCESS;
        fanlight::requests::progress();
        const int error = next.get()(COUNT, REQUESTS, flag, array_of_statuses);
        if (error == MPI_SUCCESS && *flag) fanlight::requests::end_in_library(COUNT, REQUESTS);
        return error;"""}

# Handles, which are integers in Fortran: MPI_<...>_f2c makes C's of them.
HANDLES = {"MPI_Comm": "Comm", "MPI_Datatype": "Type", "MPI_Op": "Op", "MPI_Info": "Info", "MPI_Request": "Request", "MPI_Win": "Win"}


def to_c(handle, integer):
    return f'fanlight::fortran::to_c<{handle}>("{HANDLES[handle]}", {integer})'


def from_c(handle, value):
    return f'fanlight::fortran::from_c("{HANDLES[handle]}", {value})'


def bytes_expression(f):
    """What the MPI library has moved on this rank, for the report."""

    def side(buffer, count, datatype):
        if not f.has(buffer) or not f.has(datatype):
            return None
        if f.has(count):
            return buffer, f"fanlight::bytes_of({buffer}, {count}, {datatype})"
        if f.has(count + "s"):
            # Arrays are significant where the buffer is: not on every rank of scatterv, gatherv.
            if f.neighbors:
                places = f"fanlight::places_of_neighbors(comm).{'targets' if count == 'sendcount' else 'sources'}"
                return buffer, f"fanlight::bytes_of_list({places}, {buffer}, {count}s, {datatype})"
            return None if f.has("root") else (buffer, f"fanlight::bytes_of_all(comm, {buffer}, {count}s, {datatype})")
        return None

    if f.has("buffer"):
        return "fanlight::bytes_of(buffer, count, datatype)"
    if f.has("op"):
        if f.has("recvcounts"):
            return "fanlight::bytes_of_all(comm, recvbuf, recvcounts, datatype)"
        count = "recvcount" if f.has("recvcount") else "count"
        return f"fanlight::bytes_of(nullptr, {count}, datatype)"
    sides = [side("sendbuf", "sendcount", "sendtype"), side("recvbuf", "recvcount", "recvtype")]
    if "catter" in f.name and "Reduce" not in f.name:
        sides.reverse()
    sides = [s for s in sides if s]
    if not sides:
        return "std::size_t{0}"
    if len(sides) == 1:
        return sides[0][1]
    return f"{sides[0][0]} == MPI_IN_PLACE ? {sides[1][1]} : {sides[0][1]}"


def served_call(f, arguments):
    arguments = [a for a in arguments if a not in ("comm", "info", "request")]
    return f"fanlight::{f.blocking}({', '.join(['call'] + arguments)})"


def call_object(f, request):
    more = {"started": f", {request}", "initialized": f", info, {request}"}.get(f.kind, "")
    return f'    fanlight::Call call("{f.operation}", comm{more});'


def significant(f, name):
    """Whether MPI looks at this argument, as an expression."""
    if name == "datatype":
        return "true"
    if (f.name.startswith("Gather") and name in ("recvtype", "recvcounts", "displs")) or \
       (f.name.startswith("Scatter") and name in ("sendtype", "sendcounts", "displs")):
        return "persistent.is_rank(root)"
    if name in ("recvcounts", "rdispls", "displs", "recvtypes"):
        return "true"
    return ("sendbuf" if name.startswith("s") else "recvbuf") + " != MPI_IN_PLACE"


def caught(lines, leave):
    """What is Fanlight's own in a wrapper: the caller may be C, or Fortran, which no exception may reach."""
    return ["    try {", *("    " + line for line in lines), "    } catch (const std::exception& e) {",
            *("        " + line for line in leave), "    }"] if lines else []


def is_served(f, leave):
    """Tries Fanlight, and leaves the wrapper where it has served the call."""
    lines = [f"    if (const fanlight::Decision* d = {served_call(f, [p.name for p in f.parameters])}) {{"]
    if f.kind == "initialized":
        kept = "".join(f", {p.name} = persistent.copy({p.name}, {significant(f, p.name)})" for p in f.parameters
                       if p.type == "MPI_Datatype")
        # Programs give back arrays after the initialization.
        arrays = [p.name for p in f.parameters if p.array]
        for p in (p for p in f.parameters if p.array):
            which = str(p.name[0] == "s").lower() if f.neighbors else significant(f, p.name)
            of = "of_neighbors" if f.neighbors else "of_each"
            if p.type == "const MPI_Datatype":
                kept += f", {p.name} = persistent.copy_{of}({p.name}, {p.name.replace('types', 'counts')}, {which})"
            else:
                kept += f", {p.name} = persistent.copy_{of}({p.name}, {which})"
        again = served_call(f, [p.name + (".data()" if p.name in arrays else "") for p in f.parameters])
        lines += ["        fanlight::Persistent& persistent = call.persistent();",
                  f"        persistent.again = [={kept}](fanlight::Call& call) {{ {again}; }};"]
    lines = [*lines, *("        " + line for line in leave), "    }"]
    return caught(lines, [line.replace("call.served(*d)", "call.raised(e)") for line in leave])


def waits_by_test(f, function, names, arguments, call, leave):
    """MPI_Waitxxx while an operation of ours is in flight: MPI_Testxxx again and again.

    `function` is its type; `call` and `leave` are how it is called with arguments, and how the
    wrapper ends after that.  MPI_Test has one argument more than MPI_Wait, the flag before the
    statuses; MPI_Testsome has not.
    """
    if f.name == "Waitsome":
        done = f"*{arguments[2]} != 0"
    else:
        place = next(i for i, p in enumerate(f.parameters) if "status" in p.name)
        arguments = arguments[:place] + ["&flag"] + arguments[place:]
        done = "flag != 0"
    return ["    if (fanlight::requests::any()) [[unlikely]] {",
            f"        static constinit fanlight::Next<{function}> test({names});",
            "        [[maybe_unused]] int flag = 0;",
            "        int error = MPI_SUCCESS;",
            f"        const auto tested = [&] {{ {call(arguments)} return error != MPI_SUCCESS || {done}; }};",
            f"        if (fanlight::requests::wait(std::ref(tested))) {leave}",
            "    }"]


def in_library(f, c=True):
    """What the wrapper does first while a persistent operation completes in the library."""
    if f.kind not in ("waited", "polled", "freed") or not any("Request" in p.type for p in f.parameters):
        return []
    where = next(p for p in f.parameters if "Request" in p.type)
    if where.array:
        count, requests = f.parameters[0].name, where.name
    else:
        count, requests = "1", "&request" if where.type == "MPI_Request" else "request"
    if c:
        text = IN_LIBRARY.get(f.name, HAND_OVER).replace("COUNT", count).replace("REQUESTS", requests)
    else:
        what = "finish_in_library" if f.name in ("Wait", "Waitall") else "hand_over"
        text = f"fanlight::fortran::each(fanlight::requests::{what}, {'*f_' + count if where.array else '1'}, f_{where.name});"
    any_one = "any_persistent" if "get_status(" in text else "any_in_library"
    return [f"    if (fanlight::requests::{any_one}()) [[unlikely]] {{", f"        {text}", "    }"]


def after(f, fortran=False):
    made = f.parameters[-1].name  # a communicator, where one is
    text = AFTER[f.kind].replace("*COMM", to_c("MPI_Comm", f"*f_{made}") if fortran else f"*{made}")
    return text.replace("(comm, *win)", f"({to_c('MPI_Comm', '*f_comm')}, {to_c('MPI_Win', '*f_win')})") if fortran else text


def stands_in(f):
    """Whether the library stands in for the function in this program."""
    return f"fanlight::takes_{'collectives' if f.is_collective else 'waits'}()"
