// Nothing that this library holds is ever destroyed.
//
// Programs call MPI, MPI_Finalize above all, from their own static destructors and atexit
// handlers, which may run after ours.  The compiler registers static destructors by this
// function; the linker binds it inside this library alone (see the version script).
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
