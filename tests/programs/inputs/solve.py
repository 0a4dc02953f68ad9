"""Solvers of PETSc, and by it of hypre, MUMPS and SuperLU: a Poisson equation on a cube."""

import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402

SIDE = 24
grid = PETSc.DMDA().create([SIDE] * 3, stencil_width=1)
matrix = grid.createMatrix()
row, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
(x0, x1), (y0, y1), (z0, z1) = grid.getRanges()
for i in range(x0, x1):
    for j in range(y0, y1):
        for k in range(z0, z1):
            here = row.index = (i, j, k)
            for near in (here, (i - 1, j, k), (i + 1, j, k), (i, j - 1, k), (i, j + 1, k), (i, j, k - 1), (i, j, k + 1)):
                if all(0 <= at < SIDE for at in near):
                    column.index = near
                    matrix.setValueStencil(row, column, 6.2 if near == here else -1)
matrix.assemble()
b, x = grid.createGlobalVec(), grid.createGlobalVec()
b.set(1)
for method, preconditioner, package in (("cg", "gamg", ""), ("gmres", "bjacobi", ""), ("bcgs", "asm", ""), ("pipecg", "jacobi", ""),
                                        ("fgmres", "hypre", ""), ("preonly", "lu", "mumps"), ("preonly", "lu", "superlu_dist")):
    solver = PETSc.KSP().create()
    solver.setOperators(matrix)
    solver.setType(method)
    solver.getPC().setType(preconditioner)
    if package:
        solver.getPC().setFactorSolverType(package)
    solver.setTolerances(1e-8)
    solver.solve(b, x)
    PETSc.Sys.Print(method, preconditioner, package, f"{x.norm():.6f} {x.sum():.4f}")
