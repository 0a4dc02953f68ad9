"""The points of a cube and their neighbors: `matrix` prints a system of equations for MUMPS, `graph` a graph for PT-Scotch."""

import itertools
import sys

SIDE = 18
points = list(itertools.product(range(SIDE), repeat=3))
number = {point: i for i, point in enumerate(points)}
neighbors = [[number[near] for near in ((i - 1, j, k), (i, j - 1, k), (i, j, k - 1), (i + 1, j, k), (i, j + 1, k), (i, j, k + 1)) if near in number]
             for i, j, k in points]
edges = sum(map(len, neighbors))
if sys.argv[1] == "matrix":
    print(f"{len(points)} :N\n{len(points) + edges} :NZ")
    for i, near in enumerate(neighbors):
        print(i + 1, i + 1, 6.5)
        for j in near:
            print(i + 1, j + 1, -1.0)
    for i, near in enumerate(neighbors):  # the right-hand side whose solution is 1 to 7, again and again
        print(6.5 * (i % 7 + 1) - sum(j % 7 + 1 for j in near))
else:
    print(f"0\n{len(points)} {edges}\n0 000")
    for near in neighbors:
        print(len(near), *near)
