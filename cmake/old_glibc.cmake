# fanlight_for_old_glibc(<target>): the library loads on glibc 2.28 and newer, also where it is built with one of 2.34
# and newer (src/preload/old_glibc.py and old_glibc.cpp say what it takes).
find_package(Python3 REQUIRED COMPONENTS Interpreter)
include(CheckSymbolExists)
check_symbol_exists(gnu_get_libc_version gnu/libc-version.h FANLIGHT_GLIBC)

set(FANLIGHT_OLD_GLIBC ${PROJECT_SOURCE_DIR}/src/preload/old_glibc)
set(FANLIGHT_OLD_GLIBC_FILES)
foreach(file IN ITEMS libpthread.so.0 libdl.so.2 librt.so.1 libm.so.6)
  list(APPEND FANLIGHT_OLD_GLIBC_FILES ${PROJECT_BINARY_DIR}/old-glibc/${file})
endforeach()
add_custom_command(
  OUTPUT ${FANLIGHT_OLD_GLIBC_FILES}
  COMMAND Python3::Interpreter ${FANLIGHT_OLD_GLIBC}.py ${CMAKE_C_COMPILER} ${CMAKE_READELF} ${PROJECT_BINARY_DIR}/old-glibc
  DEPENDS ${FANLIGHT_OLD_GLIBC}.py
  VERBATIM)
add_custom_target(fanlight_old_glibc DEPENDS ${FANLIGHT_OLD_GLIBC_FILES})

function(fanlight_for_old_glibc target)
  if(NOT FANLIGHT_GLIBC OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
    return()
  endif()
  add_dependencies(${target} fanlight_old_glibc)
  target_sources(${target} PRIVATE ${FANLIGHT_OLD_GLIBC}.cpp)
  list(JOIN FANLIGHT_OLD_GLIBC_FILES "," files)
  target_link_libraries(${target} PRIVATE -Wl,--push-state,--no-as-needed,${files},--pop-state)
endfunction()
