// Nothing in this library is ever destroyed.
//
// Programs call MPI, MPI_Finalize above all, from their own static destructors and atexit handlers, which may run after
// the library's.  The compiler registers static destructors by this function; the linker binds it only inside this
// library (see the version script).
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
