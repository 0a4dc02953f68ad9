# The names by which DASH includes DART's interface, for <fanlight/dart.h>: DASH is then built with
# these in front of its own dart-if, and linked to libdart-fanlight-<abi> for its dart-mpi.
set(FANLIGHT_DASH_INCLUDE ${PROJECT_BINARY_DIR}/dash-include)
foreach(part IN ITEMS dart dart_communication dart_config dart_globmem dart_initialization dart_locality
                      dart_synchronization dart_team_group dart_types dart_util)
  file(CONFIGURE OUTPUT ${FANLIGHT_DASH_INCLUDE}/dash/dart/if/${part}.h @ONLY
       CONTENT "/* Fanlight's, under the name that DASH includes. */\n#include <fanlight/dart.h>\n")
endforeach()
