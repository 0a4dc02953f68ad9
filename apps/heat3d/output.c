#include "output.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void big_endian(unsigned char *to, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(v >> (24 - 8 * i));
}

int output_vtk(const char *path, const double *field, const int cells[3])
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return 0;
    size_t n = (size_t)cells[0] * (size_t)cells[1] * (size_t)cells[2];
    fprintf(f,
            "# vtk DataFile Version 3.0\nheat3d\nBINARY\nDATASET STRUCTURED_POINTS\nDIMENSIONS %d %d %d\n"
            "ORIGIN %.9g %.9g %.9g\nSPACING %.9g %.9g %.9g\nPOINT_DATA %zu\nSCALARS temperature float 1\n"
            "LOOKUP_TABLE default\n",
            cells[0], cells[1], cells[2], 1.0 / (cells[0] + 1), 1.0 / (cells[1] + 1), 1.0 / (cells[2] + 1),
            1.0 / (cells[0] + 1), 1.0 / (cells[1] + 1), 1.0 / (cells[2] + 1), n);
    for (size_t i = 0; i < n; i++) {
        float value = (float)field[i];
        uint32_t bits;
        unsigned char bytes[4];
        memcpy(&bits, &value, sizeof bits);
        big_endian(bytes, bits);
        fwrite(bytes, 1, 4, f);
    }
    return fclose(f) == 0;
}

static uint32_t crc(const unsigned char *data, size_t n)
{
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        c ^= data[i];
        for (int k = 0; k < 8; k++)
            c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    }
    return ~c;
}

// length, type, data, checksum; `data` has room for the type before it.
static void chunk(FILE *f, const char *type, unsigned char *with_type, size_t n)
{
    unsigned char number[4];
    memcpy(with_type, type, 4);
    big_endian(number, (uint32_t)n);
    fwrite(number, 1, 4, f);
    fwrite(with_type, 1, n + 4, f);
    big_endian(number, crc(with_type, n + 4));
    fwrite(number, 1, 4, f);
}

int output_png(const char *path, const double *field, const int cells[3])
{
    int scale = cells[1] < 256 && cells[2] < 256 ? 256 / (cells[1] > cells[2] ? cells[1] : cells[2]) : 1;
    size_t width = (size_t)(cells[1] * scale), height = (size_t)(cells[2] * scale), line = 1 + 3 * width;
    // Stored blocks of zlib: one for each line, at most 65535 bytes.
    size_t room = 4 + 2 + height * (5 + line) + 4, n = 4;
    FILE *f = fopen(path, "wb");
    unsigned char *data = f && line < 65536 ? malloc(room) : NULL;
    if (!data) {
        if (f)
            fclose(f);
        return 0;
    }
    double low = 1e300, high = -1e300;
    for (int z = 0; z < cells[2]; z++)
        for (int y = 0; y < cells[1]; y++) {
            double v = field[((size_t)z * (size_t)cells[1] + (size_t)y) * (size_t)cells[0] + (size_t)cells[0] / 2];
            low = v < low ? v : low;
            high = v > high ? v : high;
        }
    data[n++] = 0x78;
    data[n++] = 0x01;
    uint32_t a = 1, b = 0;
    for (size_t row = 0; row < height; row++) {
        data[n++] = row + 1 == height;
        data[n++] = (unsigned char)line;
        data[n++] = (unsigned char)(line >> 8);
        data[n++] = (unsigned char)~line;
        data[n++] = (unsigned char)(~line >> 8);
        size_t start = n;
        data[n++] = 0;
        for (size_t column = 0; column < width; column++) {
            size_t y = column / (size_t)scale, z = row / (size_t)scale;
            double v = field[(z * (size_t)cells[1] + y) * (size_t)cells[0] + (size_t)cells[0] / 2];
            double s = high > low ? (v - low) / (high - low) : 0;
            data[n++] = (unsigned char)(255 * (s < 0.5 ? 2 * s : 1));
            data[n++] = (unsigned char)(255 * (s < 0.5 ? 2 * s : 2 - 2 * s));
            data[n++] = (unsigned char)(255 * (s < 0.5 ? 1 : 2 - 2 * s));
        }
        for (size_t i = start; i < n; i++) {
            a = (a + data[i]) % 65521;
            b = (b + a) % 65521;
        }
    }
    big_endian(data + n, b << 16 | a);
    n += 4;
    unsigned char header[4 + 13] = {0}, none[4];
    big_endian(header + 4, (uint32_t)width);
    big_endian(header + 8, (uint32_t)height);
    header[12] = 8;
    header[13] = 2;
    fwrite("\x89PNG\r\n\x1a\n", 1, 8, f);
    chunk(f, "IHDR", header, 13);
    chunk(f, "IDAT", data, n - 4);
    chunk(f, "IEND", none, 0);
    free(data);
    return fclose(f) == 0;
}

void output_text(const double *field, const int cells[3])
{
    static const char shades[] = " .:-=+*#%@";
    int width = cells[1] < 72 ? cells[1] : 72, height = cells[2] < 24 ? cells[2] : 24;
    double high = 0;
    for (size_t i = 0, n = (size_t)cells[0] * (size_t)cells[1] * (size_t)cells[2]; i < n; i++)
        high = field[i] > high ? field[i] : high;
    for (int row = 0; row < height; row++) {
        for (int column = 0; column < width; column++) {
            size_t y = (size_t)(column * cells[1] / width), z = (size_t)(row * cells[2] / height);
            double v = field[(z * (size_t)cells[1] + y) * (size_t)cells[0] + (size_t)cells[0] / 2];
            putchar(shades[high > 0 ? (int)(v / high * (sizeof shades - 2) + 0.5) : 0]);
        }
        putchar('\n');
    }
}
