// Files of the whole field, x running fastest.
#ifndef HEAT3D_OUTPUT_H
#define HEAT3D_OUTPUT_H

// For ParaView: VTK's legacy format, binary.
int output_vtk(const char *path, const double *field, const int cells[3]);
// The slice in the middle of x, y along and z down the picture, from blue (low) to red (high).
int output_png(const char *path, const double *field, const int cells[3]);
// The same slice by characters, at most 72 by 24 of them.
void output_text(const double *field, const int cells[3]);

#endif
