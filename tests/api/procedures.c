// Gives the Fortran procedures their handles, as a program does whose main part is C.
#include "case.h"

void test_procedures(int comm, int integer, int real8, int sum, int info, int persistent);

void require(int condition, int line) {
    if (!condition) fprintf(stderr, "procedures.f90:%d\n", line);
    REQUIRE(condition);
}

void run(int *handle, int how) {
    MPI_Request request = MPI_Request_f2c(*handle);
    if (how == 2) {
        MPI_Request_free(&request);
        return;
    }
    if (how == 1) MPI_Start(&request);
    REQUIRE(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3; ++i)
        test_procedures(MPI_Comm_c2f(MPI_COMM_WORLD), MPI_Type_c2f(MPI_INT), MPI_Type_c2f(MPI_DOUBLE), MPI_Op_c2f(MPI_SUM),
                        MPI_Info_c2f(MPI_INFO_NULL), MPI_VERSION >= 4);
    return done();
}
