// A single collective call: the ranks never agree on settings.
#include "case.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    return done();
}
