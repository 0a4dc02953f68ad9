"""Eigenvalues of a tridiagonal matrix by SLEPc's solvers."""

import sys

import slepc4py

slepc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402
from slepc4py import SLEPc  # noqa: E402

SIZE = 900
matrix = PETSc.Mat().createAIJ([SIZE, SIZE], nnz=3)
for i in range(*matrix.getOwnershipRange()):
    for j in (i - 1, i, i + 1):
        if 0 <= j < SIZE:
            matrix[i, j] = 2 + i % 5 * 0.1 if i == j else -1
matrix.assemble()
for method in ("krylovschur", "lobpcg", "jd", "scalapack"):
    solver = SLEPc.EPS().create()
    solver.setOperators(matrix)
    solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
    solver.setType(method)
    if method == "lobpcg":
        solver.setWhichEigenpairs(SLEPc.EPS.Which.SMALLEST_REAL)
    solver.setDimensions(4)
    solver.setTolerances(1e-7, 400)
    solver.solve()
    PETSc.Sys.Print(method, *(f"{solver.getEigenvalue(i).real:.6f}" for i in range(min(4, solver.getConverged()))))
