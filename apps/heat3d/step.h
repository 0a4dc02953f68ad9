// One explicit step by vectors, and the copy that it is compared with: step.c is compiled once for
// each level of processors (x86-64's v3 and v4, and any), by which the functions' names end.
#ifndef HEAT3D_STEP_H
#define HEAT3D_STEP_H

typedef struct Extent {
    long x, y, z;                     // cells
    long to_next_row, to_next_plane;  // doubles
} Extent;

typedef struct Factors {
    double x, y, z;    // of the neighbors' phi
    double center;     // of its own: less than 0
    double half_beta;  // phi(u) = u + half_beta u^2
} Factors;

// u and next: the first cells, behind their halos.
typedef void Step(const double *u, double *next, Extent, Factors, int past_cache);
typedef void Copy(const double *from, double *to, long n, int past_cache);
extern Step step_plain, step_v3, step_v4;
extern Copy copy_plain, copy_v3, copy_v4;

#endif
