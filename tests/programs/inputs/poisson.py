"""Poisson's equation by FEniCSx, and refined meshes, whose cells are spread anew over the ranks."""

import numpy
import ufl
from dolfinx import fem, mesh
from dolfinx.fem.petsc import LinearProblem
from mpi4py import MPI
from petsc4py.PETSc import ScalarType

comm = MPI.COMM_WORLD
for ghosts in (mesh.GhostMode.shared_facet, mesh.GhostMode.none):
    cube = mesh.create_unit_cube(comm, 8, 8, 8, ghost_mode=ghosts)
    space = fem.FunctionSpace(cube, ("Lagrange", 2))
    facets = mesh.locate_entities_boundary(cube, 2, lambda x: numpy.isclose(x[0], 0))
    fixed = fem.dirichletbc(ScalarType(0), fem.locate_dofs_topological(space, 2, facets), space)
    u, v, x = ufl.TrialFunction(space), ufl.TestFunction(space), ufl.SpatialCoordinate(cube)
    force = 10 * ufl.exp(-((x[0] - 0.5) ** 2 + (x[1] - 0.5) ** 2) / 0.02)
    solution = LinearProblem(ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx, ufl.inner(force, v) * ufl.dx, bcs=[fixed],
                             petsc_options={"ksp_type": "cg", "pc_type": "gamg", "ksp_rtol": 1e-10}).solve()
    square = comm.allreduce(fem.assemble_scalar(fem.form(solution * solution * ufl.dx)))
    if comm.rank == 0:
        print(f"{square:.8f}", space.dofmap.index_map.size_global)
for _ in range(3):
    cube.topology.create_entities(1)
    fine = mesh.refine(cube, redistribute=True).topology.index_map(0)
    owned = comm.allreduce(fine.size_local)
    if comm.rank == 0:
        print(fine.size_global, owned)
